"""DynamicResources: results for pods without claims, and rejection of pods with claims."""

from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.plugin import PreFilterResult
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.plugins.dynamic_resources import DynamicResources
from tests.plugins.building import FakeHandle, make_node, make_pod, make_table

PLUGIN = DynamicResources({}, FakeHandle())
TABLE = make_table([make_node("a"), make_node("b")])


def test_a_pod_with_claims_is_held_back() -> None:
    pod = make_pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])
    assert PLUGIN.pre_enqueue(pod).code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert PLUGIN.pre_enqueue(make_pod()) == SUCCESS


def test_it_skips_and_still_scores_nothing_for_every_node() -> None:
    state, pod = CycleState(), make_pod()
    assert PLUGIN.pre_filter(state, pod, TABLE) == PreFilterResult(Status(Code.SKIP))
    scores = PLUGIN.score(state, pod, TABLE, TABLE.order())
    assert not isinstance(scores, Status)
    assert PLUGIN.normalize(state, pod, scores).tolist() == [0, 0]  # type: ignore[union-attr]


def test_there_is_nothing_to_deallocate() -> None:
    state, pod = CycleState(), make_pod()
    PLUGIN.pre_filter(state, pod, TABLE)
    found = PLUGIN.post_filter(state, pod, TABLE, {})
    assert (found.status, found.nominated_node) == (Status(Code.UNSCHEDULABLE, "no new claims to deallocate"), None)


def test_it_finds_nothing_where_prefilter_ended_before_its_turn() -> None:
    assert PLUGIN.post_filter(CycleState(), make_pod(), TABLE, {}).status == Status(Code.ERROR, "not found")


def test_there_is_nothing_to_reserve_or_to_prepare() -> None:
    state, pod = CycleState(), make_pod()
    assert PLUGIN.filter(state, pod, TABLE, TABLE.order()) is None
    assert PLUGIN.reserve(state, pod, "a") == PLUGIN.pre_bind(state, pod, "a") == SUCCESS
    PLUGIN.unreserve(state, pod, "a")
