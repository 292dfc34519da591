"""Selectors of workloads: the errors of the API server."""

from typing import Any

import pytest

from kubewasp.k8s.errors import ManifestError
from kubewasp.simulation.workloads import WORKLOADS
from tests.simulation.simulating import added, workload


def error_of(kind: str, **spec: Any) -> str:
    body = workload(kind, "web")
    body["spec"] |= spec
    with pytest.raises(ManifestError) as caught:
        added(body)
    return str(caught.value)


@pytest.mark.parametrize("kind", WORKLOADS)
def test_a_selector_that_does_not_match_the_template_is_an_error(kind: str) -> None:
    selector = {"app": "x"} if kind == "ReplicationController" else {"matchLabels": {"app": "x"}}
    assert error_of(kind, selector=selector) == (
        'object 0: spec.template.metadata.labels: Invalid value: {"app":"web"}: '
        "`selector` does not match template `labels`"
    )


def test_labels_are_shown_as_the_api_server_shows_them() -> None:
    template = {"metadata": {"labels": {"b": "2", "a": "1"}}}
    assert 'Invalid value: {"a":"1","b":"2"}: ' in error_of("Deployment", template=template)
    assert "Invalid value: null: " in error_of("Deployment", template={})


def test_expressions_of_a_selector_count() -> None:
    expression = {"key": "app", "operator": "NotIn", "values": ["web"]}
    assert "does not match" in error_of("Deployment", selector={"matchExpressions": [expression]})
    invalid = {"key": "app", "operator": "Inn", "values": ["web"]}
    assert error_of("Deployment", selector={"matchExpressions": [invalid]}) == (
        "object 0: spec.selector: invalid label selector: app: unknown operator 'Inn'"
    )


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"])
def test_a_selector_is_required(kind: str) -> None:
    assert error_of(kind, selector=None) == "object 0: spec.selector: Required value"
    word = {"StatefulSet": "statefulset", "DaemonSet": "daemonset"}.get(kind, "deployment")
    assert error_of(kind, selector={}) == (
        f"object 0: spec.selector: Invalid value: {{}}: empty selector is invalid for {word}"
    )


@pytest.mark.parametrize("kind", ["Job", "ReplicationController"])
def test_a_selector_with_a_default_is_optional(kind: str) -> None:
    body = workload(kind, "web")
    body["spec"].pop("selector", None)
    assert added(body).workloads == [body]
