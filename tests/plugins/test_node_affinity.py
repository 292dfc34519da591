"""NodeAffinity: node selectors, required and preferred terms, and added affinity of the configuration."""

from typing import Any

import pytest

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.plugin import PreFilterResult
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.plugins.node_affinity import NodeAffinity
from tests.plugins.building import FakeHandle, filtered, make_node, make_pod, make_table, scored, wakes

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SKIP = Status(Code.SKIP)
ENFORCED = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match scheduler-enforced node affinity")
OWN = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match Pod's node affinity/selector")
TABLE = make_table([make_node("a", {"disk": "ssd", "cores": "8"}), make_node("b", {"disk": "hdd"}), make_node("c")])
SSD, HDD = {"disk": "ssd"}, {"disk": "hdd"}


def has(**labels: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": [text]} for key, text in labels.items()]}


def named(*names: str, **more: Any) -> dict[str, Any]:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]
    return {"matchFields": fields, **more}


def needs(*terms: dict[str, Any], **spec: Any) -> Any:
    return make_pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}, **spec)


def likes(*terms: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    return {PREFERRED: [{"weight": weight, "preference": term} for weight, term in terms]}


def wants(*terms: tuple[int, dict[str, Any]]) -> Any:
    return make_pod(affinity={"nodeAffinity": likes(*terms)})


def make_plugin(**added: Any) -> NodeAffinity:
    return NodeAffinity({"addedAffinity": added} if added else {}, FakeHandle())


def verdicts(pod: Any, plugin: NodeAffinity | None = None) -> list[Status]:
    return list(filtered(plugin or make_plugin(), CycleState(), pod, TABLE).values())


# ---------------------------------------------------------------------- PreFilter


def test_a_pod_that_asks_for_nothing_skips() -> None:
    assert make_plugin().pre_filter(CycleState(), make_pod(), TABLE) == PreFilterResult(SKIP)
    assert make_plugin().pre_filter(CycleState(), wants((1, has(disk="ssd"))), TABLE) == PreFilterResult(SKIP)


@pytest.mark.parametrize("pod", [make_pod(nodeSelector={}), make_pod(nodeSelector=SSD), needs(has(disk="ssd"))])
def test_a_pod_that_asks_for_something_does_not_skip(pod: Any) -> None:
    assert make_plugin().pre_filter(CycleState(), pod, TABLE) == PreFilterResult()


def test_no_pod_skips_what_the_configuration_adds() -> None:
    plugin = make_plugin(**{REQUIRED: {"nodeSelectorTerms": [has(disk="ssd")]}})
    assert plugin.pre_filter(CycleState(), make_pod(), TABLE) == PreFilterResult()


@pytest.mark.parametrize(
    ("terms", "nodes"),
    [
        ([named("a")], {"a"}),
        ([named("a", **has(disk="hdd"))], {"a"}),
        ([named("a"), named("nowhere")], {"a", "nowhere"}),
        ([named("a", "b"), named("c")], {"c"}),
        ([named("a"), has(disk="hdd")], None),
        ([{"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["a"]}]}], None),
    ],
)
def test_a_pod_whose_terms_all_name_nodes_is_tried_on_these_only(terms: Any, nodes: set[str] | None) -> None:
    found = make_plugin().pre_filter(CycleState(), needs(*terms), TABLE)
    assert found == PreFilterResult(nodes=None if nodes is None else frozenset(nodes))


def test_terms_that_leave_no_name_conflict() -> None:
    found = make_plugin().pre_filter(CycleState(), needs(named("a", "b")), TABLE)
    assert found.status == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "pod affinity terms conflict")


# ---------------------------------------------------------------------- Filter


@pytest.mark.parametrize(
    ("pod", "fits"),
    [
        (make_pod(nodeSelector=SSD), "a"),
        (make_pod(nodeSelector={}), "abc"),
        (make_pod(nodeSelector={"disk": "ssd", "cores": "4"}), ""),
        (needs(has(disk="ssd")), "a"),
        (needs(has(disk="ssd"), has(disk="hdd")), "ab"),
        (needs({"matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["ssd"]}]}), "bc"),
        (needs({"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["4"]}]}), "a"),
        (needs(named("b")), "b"),
        (needs(named("b", **has(disk="ssd"))), ""),
        (needs(has(disk="ssd"), nodeSelector=HDD), ""),
        (needs(has(disk="ssd"), nodeSelector={"cores": "8"}), "a"),
        # A term that is empty or cannot be parsed matches nothing, and does not disturb the others.
        (needs({}), ""),
        (needs(), ""),
        (needs({"matchExpressions": [{"key": "disk", "operator": "Nonsense"}]}), ""),
        (needs({"matchExpressions": [{"key": "disk", "operator": "In"}]}, has(disk="hdd")), "b"),
    ],
)
def test_selector_and_required_terms_must_match(pod: Any, fits: str) -> None:
    assert verdicts(pod) == [SUCCESS if name in fits else OWN for name in "abc"]


def test_what_the_configuration_adds_is_asked_for_first() -> None:
    plugin = make_plugin(**{REQUIRED: {"nodeSelectorTerms": [has(disk="ssd"), has(disk="hdd")]}})
    assert verdicts(make_pod(), plugin) == [SUCCESS, SUCCESS, ENFORCED]
    assert verdicts(make_pod(nodeSelector=HDD), plugin) == [OWN, SUCCESS, ENFORCED]


def test_a_node_that_changes_is_judged_again() -> None:
    table = make_table([make_node("a", SSD), make_node("b"), make_node("c")])
    plugin, pod = make_plugin(), make_pod(nodeSelector=SSD)
    assert [s.is_success for s in filtered(plugin, CycleState(), pod, table).values()] == [True, False, False]
    table.put_node(make_node("a"))
    table.put_node(make_node("b", SSD))
    assert [s.is_success for s in filtered(plugin, CycleState(), pod, table).values()] == [False, True, False]


# ---------------------------------------------------------------------- Score


def test_without_preferences_scoring_is_skipped() -> None:
    assert scored(make_plugin(), CycleState(), needs(has(disk="ssd")), TABLE) == SKIP


def test_the_weights_of_matching_terms_are_added_and_normalized() -> None:
    pod = wants((30, has(disk="ssd")), (50, has(cores="8")), (30, has(disk="hdd")), (0, has(disk="hdd")), (9, {}))
    assert scored(make_plugin(), CycleState(), pod, TABLE) == ({"a": 80, "b": 30, "c": 0}, {"a": 100, "b": 37, "c": 0})


def test_the_preferences_of_the_configuration_count_too() -> None:
    plugin = make_plugin(**likes((20, has(disk="hdd"))))
    assert scored(plugin, CycleState(), make_pod(), TABLE) == ({"a": 0, "b": 20, "c": 0}, {"a": 0, "b": 100, "c": 0})
    pod = wants((10, has(disk="hdd")), (15, has(disk="ssd")))
    assert scored(plugin, CycleState(), pod, TABLE) == ({"a": 15, "b": 30, "c": 0}, {"a": 50, "b": 100, "c": 0})


def test_where_no_preference_matches_all_nodes_have_nothing() -> None:
    found = scored(make_plugin(), CycleState(), wants((5, has(disk="none"))), TABLE)
    assert found == (dict.fromkeys("abc", 0), dict.fromkeys("abc", 0))


def test_a_preference_that_cannot_be_parsed_is_an_error_unless_it_has_no_weight() -> None:
    broken = {"matchExpressions": [{"key": "disk", "operator": "Nonsense"}]}
    found = scored(make_plugin(), CycleState(), wants((1, broken)), TABLE)
    assert isinstance(found, Status)
    assert found.code == Code.ERROR
    assert not isinstance(scored(make_plugin(), CycleState(), wants((0, broken)), TABLE), Status)


# ---------------------------------------------------------------------- events


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        (None, make_node("n", SSD), True),
        (None, make_node("n", HDD), False),
        (make_node("n", HDD), make_node("n", SSD), True),
        (make_node("n", SSD), make_node("n", HDD), False),
        (make_node("n", SSD), make_node("n", {**SSD, "x": "y"}), False),
    ],
)
def test_a_node_that_matches_now_helps(old: Any, new: Any, helps: bool) -> None:
    action = Action.ADD if old is None else Action.UPDATE_NODE_LABEL
    assert wakes(make_plugin(), "Node", action, make_pod(nodeSelector=SSD), old, new) is helps


def test_a_node_that_the_configuration_does_not_want_does_not_help() -> None:
    plugin = make_plugin(**{REQUIRED: {"nodeSelectorTerms": [has(zone="a")]}})
    pod, node = make_pod(nodeSelector=SSD), make_node("n", SSD)
    assert not wakes(plugin, "Node", Action.ADD, pod, None, node)
    assert wakes(plugin, "Node", Action.UPDATE_NODE_LABEL, pod, node, make_node("n", {**SSD, "zone": "a"}))
