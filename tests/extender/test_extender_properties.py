"""Properties of the extender: any JSON gives a result or an error, never a crash."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubewasp.extender.decider import PluginFailure
from kubewasp.extender.protocol import ProtocolError
from kubewasp.extender.service import ExtenderService
from tests.extender.extending import profile, service

FIELDS = (
    "metadata", "name", "uid", "resourceVersion", "labels", "closed", "points", "spec", "status", "containers",
    "resources", "requests", "limits", "cpu", "nodeName", "schedulerName", "affinity", "podAntiAffinity",
    "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "labelSelector", "matchExpressions",
    "tolerations", "volumes", "allocatable", "taints", "images", "conditions", "items", "Pod", "Pods", "UID", "Nodes",
    "NodeNames", "NodeNameToVictims", "NodeNameToMetaVictims", "NumPDBViolations", "annotations", "ownerReferences",
)  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(("", "a", "b", "1", "100m", "now", "In", "Exists")), st.text(max_size=5),
)  # fmt: skip
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=25,
)
OBJECTS = st.builds(
    lambda metadata, spec, status: {"metadata": metadata, "spec": spec, "status": status},
    st.builds(lambda more: {"name": "a", "uid": "u", **more}, st.dictionaries(st.sampled_from(FIELDS), ANYTHING)),
    ANYTHING,
    ANYTHING,
)
VICTIMS = st.builds(lambda pods: {"a": {"Pods": pods}}, st.lists(OBJECTS | ANYTHING, max_size=2))
BODIES = st.one_of(
    ANYTHING,
    st.builds(lambda pod, nodes: {"Pod": pod, "Nodes": {"items": nodes}}, OBJECTS, st.lists(OBJECTS, max_size=3)),
    st.builds(lambda pod, victims: {"Pod": pod, "NodeNameToVictims": victims}, OBJECTS, VICTIMS | ANYTHING),
)


@pytest.fixture(scope="module", params=[1, 2], ids=["one profile", "two profiles, managed resources"])
def found(request: pytest.FixtureRequest) -> ExtenderService:
    if request.param == 1:
        return service(profile("Zones"))
    return service(profile("Zones"), profile("Zones", name="b"), managed=["cpu"])


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=BODIES)
def test_a_body_is_answered_or_refused(found: ExtenderService, body: Any) -> None:
    for ask in (found.filter, found.prioritize, found.preempt):
        try:
            answer = ask(json.dumps(body).encode("utf-8", "surrogatepass"))
        except (ProtocolError, PluginFailure):
            continue
        assert isinstance(json.loads(answer), dict | list)
