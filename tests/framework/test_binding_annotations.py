"""Annotations of Reserve and PreBind: merged over the plugins of an attempt, with their conflicts."""

import pytest

from kubewasp.framework.binding_annotations import (
    MOST_ANNOTATIONS,
    NO_ANNOTATIONS,
    Annotation,
    AnnotationError,
    merged,
    values,
)
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.plugin import BindingResult
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.annotations import MOST_ANNOTATION_BYTES
from kubewasp.k8s.pods import annotated
from tests.framework.fakes import Scripted, make_framework
from tests.plugins.building import make_pod

POD = make_pod("web")


def test_annotations_of_several_plugins_are_joined() -> None:
    found = merged(merged(NO_ANNOTATIONS, {"gpu": "2"}, "A", POD), {"numa": "0", "gpu": "2"}, "B", POD)
    assert values(found) == {"gpu": "2", "numa": "0"}
    assert [item.plugin for item in found.values()] == ["A", "B"]


def test_a_plugin_may_change_its_own_annotation() -> None:
    assert values(merged(merged(NO_ANNOTATIONS, {"gpu": "2"}, "A", POD), {"gpu": "3"}, "A", POD)) == {"gpu": "3"}


def test_another_value_of_another_plugin_is_an_error_that_names_both() -> None:
    with pytest.raises(AnnotationError) as error:
        merged(merged(NO_ANNOTATIONS, {"gpu": "2"}, "A", POD), {"gpu": "3"}, "B", POD)
    assert str(error.value) == 'annotation "gpu": plugin "B" has the value "3", plugin "A" has "2"'


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ({"a b": "x"}, 'annotation "a b": name part must consist'),
        ({f"k{number}": "" for number in range(MOST_ANNOTATIONS + 1)}, "65 annotations are over the limit of 64"),
        ({"big": "x" * MOST_ANNOTATION_BYTES}, "is larger than limit 262144 (with 0 of the pod)"),
        ({"number": 1}, "annotation 'number': keys and values must be strings"),
    ],
)
def test_what_the_api_server_would_not_keep_is_an_error(sent: dict[str, str], text: str) -> None:
    with pytest.raises(AnnotationError) as error:
        merged(NO_ANNOTATIONS, sent, "A", POD)
    assert text in str(error.value)


def test_the_size_counts_the_annotations_of_the_pod_but_those_that_are_replaced() -> None:
    pod = annotated(POD, {"own": "x" * (MOST_ANNOTATION_BYTES - 10)})
    assert values(merged(NO_ANNOTATIONS, {"own": "y" * (MOST_ANNOTATION_BYTES - 10)}, "A", pod))
    with pytest.raises(AnnotationError):
        merged(NO_ANNOTATIONS, {"more": "x" * 10}, "A", pod)


# ---------------------------------------------------------------------- in the framework


def test_reserve_and_pre_bind_collect_annotations_of_successes() -> None:
    first = Scripted("A", reserve=BindingResult(annotations={"gpu": "2"}), pre_bind=BindingResult(Status(Code.WAIT)))
    second = Scripted("B", reserve=SUCCESS, pre_bind=BindingResult(annotations={"numa": "0"}))
    framework, state = make_framework(first, second), CycleState()
    assert framework.run_reserve(state, POD, "n").is_success
    assert framework.run_pre_bind(state, POD, "n").code == Code.WAIT
    assert values(state.annotations) == {"gpu": "2"}
    first.answers["pre_bind"] = BindingResult(Status(Code.SKIP), {"lost": "x"})
    assert framework.run_pre_bind(state, POD, "n").is_success
    assert dict(state.annotations) == {"gpu": Annotation("gpu", "2", "A"), "numa": Annotation("numa", "0", "B")}


def test_a_conflict_is_an_error_of_the_extension_point() -> None:
    plugins = [Scripted(name, reserve=BindingResult(annotations={"gpu": name})) for name in "AB"]
    state = CycleState()
    status = make_framework(*plugins).run_reserve(state, POD, "n")
    assert (status.code, status.plugin) == (Code.ERROR, "B")
    assert status.reason == (
        'running Reserve plugin "B": annotation "gpu": plugin "B" has the value "B", plugin "A" has "A"'
    )
    assert not state.annotations  # unreserved


def test_unreserve_drops_annotations() -> None:
    framework, state = make_framework(Scripted("A", reserve=BindingResult(annotations={"gpu": "2"}))), CycleState()
    framework.run_reserve(state, POD, "n")
    framework.run_unreserve(state, POD, "n")
    assert not state.annotations
