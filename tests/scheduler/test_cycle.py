"""One scheduling cycle: evaluated nodes, the chosen node, and reasons without one."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.decision_record import DecisionRecord, Sample
from kubewasp.framework.plugin import PostFilterResult, Verdicts
from kubewasp.framework.status import Status
from kubewasp.k8s.pods import Pod
from kubewasp.scheduler.cycle import Choice, SchedulingCycle, select
from kubewasp.scheduler.preemption import Nominator
from kubewasp.scheduler.sampling import Rotation
from kubewasp.state.node_table import NodeTable
from tests.framework.fakes import SKIP, Scripted, error, make_framework, unresolvable, unschedulable
from tests.plugins.building import make_node, make_pod, make_table

FITTING = ("preFilter", "filter", "postFilter", "preScore", "score")


class Bench:
    """A profile of those plugins over nodes n0, n1, …"""

    def __init__(self, *plugins: Any, nodes: int = 4, percentage: int | None = None, points: Any = FITTING) -> None:
        self.table = make_table(make_node(f"n{number}") for number in range(nodes))
        self.nominator = Nominator()
        self.rotation = Rotation()
        self.framework = make_framework(*plugins, points=points)
        self.cycle = SchedulingCycle(self.framework, self.table, self.nominator, self.rotation, percentage=percentage)

    def choose(self, pod: Pod | None = None, record: DecisionRecord | None = None) -> Choice:
        return self.cycle.choose(pod or make_pod("p"), record)


def only(*numbers: int, nodes: int = 4) -> dict[str, Status]:
    """A filter that lets those nodes pass."""
    return {f"n{number}": unschedulable("no") for number in range(nodes) if number not in numbers}


# ---------------------------------------------------------------------- selection


def heap_root(totals: Sequence[int]) -> int:
    """Index at the root of a binary max-heap that is built in place."""
    heap = list(range(len(totals)))

    def better(one: int, other: int) -> bool:
        return totals[heap[one]] > totals[heap[other]]

    for start in reversed(range(len(heap) // 2)):
        parent = start
        while (child := 2 * parent + 1) < len(heap):
            if child + 1 < len(heap) and better(child + 1, child):
                child += 1
            if not better(child, parent):
                break
            heap[parent], heap[child] = heap[child], heap[parent]
            parent = child
    return heap[0]


@pytest.mark.parametrize(
    ("totals", "place"),
    [([1, 3, 5, 5, 0], 3), ([5], 0), ([5, 5, 5], 0), ([0, 5, 5], 1), ([0, 1, 2, 3], 3), ([7, 7, 9], 2)],
)
def test_ties_are_decided_by_the_heap(totals: list[int], place: int) -> None:
    assert select(np.array(totals)) == place == heap_root(totals)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=200))
@example([0] * 62 + [1, 1])
def test_the_winner_is_the_root_of_the_heap(totals: list[int]) -> None:
    assert select(np.array(totals, np.int64)) == heap_root(totals)


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=40))
def test_the_winner_has_the_highest_total(totals: list[int]) -> None:
    assert totals[select(np.array(totals, np.int64))] == max(totals)


# ---------------------------------------------------------------------- the way of a cycle


def test_a_cluster_without_nodes_is_told_and_nobody_is_asked() -> None:
    plugin = Scripted()
    choice = Bench(plugin, nodes=0).choose()
    assert (choice.message, choice.is_error, choice.rejected_by) == (
        "no nodes available to schedule pods",
        False,
        set(),
    )
    assert choice.nominated_node == ""
    assert plugin.log == []


def test_the_node_with_the_highest_total_is_chosen() -> None:
    choice = Bench(Scripted(score={"n1": 5, "n2": 9})).choose()
    assert (choice.node, choice.feasible) == ("n2", 4)


def test_a_node_that_is_the_only_one_is_not_scored() -> None:
    plugin = Scripted(filter=only(2), score=error())
    choice = Bench(plugin).choose()
    assert (choice.node, choice.feasible) == ("n2", 1)
    assert [hook for _, hook in plugin.log] == ["pre_filter", "filter"]


def test_a_record_of_the_only_node_has_scores_and_they_decide_nothing() -> None:
    record = DecisionRecord()
    choice = Bench(Scripted(filter=only(2), score={"n2": 7})).choose(record=record)
    assert (choice.node, [item.raw.tolist() for item in record.scores]) == ("n2", [[7]])
    assert Bench(Scripted(filter=only(2), score=error())).choose(record=DecisionRecord()).node == "n2"


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"pre_filter": error()}, 'running PreFilter plugin "Fake": broken'),
        ({"filter": {"n0": error()}}, 'running "Fake" filter plugin: broken'),
        ({"pre_score": error()}, 'running PreScore plugin "Fake": broken'),
        ({"score": error()}, 'running Score plugins: plugin "Fake" failed with: broken'),
    ],
)
def test_errors_end_a_cycle_without_postfilter(answers: dict[str, Any], message: str) -> None:
    plugin = Scripted(**answers)
    choice = Bench(plugin).choose()
    assert (choice.node, choice.message, choice.is_error, choice.rejected_by) == ("", message, True, set())
    assert ("Fake", "post_filter") not in plugin.log


# ---------------------------------------------------------------------- no node


def test_where_no_node_passes_reasons_are_counted_and_their_plugins_blamed() -> None:
    one = Scripted("A", filter={"n0": unschedulable("x"), "n1": unresolvable("y")})
    other = Scripted("B", filter=dict.fromkeys(("n1", "n2", "n3"), unschedulable("x")))
    choice = Bench(one, other, Scripted("C")).choose()
    assert choice.message == "0/4 nodes are available: 1 y, 3 x."
    assert choice.rejected_by == {"A", "B"}
    assert {name: status.plugin for name, status in choice.statuses.items()} == {
        "n0": "A",
        "n1": "A",
        "n2": "B",
        "n3": "B",
    }


def test_postfilter_may_help_and_then_has_nothing_to_say() -> None:
    victim = make_pod("victim", node="n1")
    helped = PostFilterResult(Status(), "n1", (victim,))
    choice = Bench(Scripted(filter=only(), post_filter=helped)).choose()
    assert choice.message == "0/4 nodes are available: 4 no."
    assert (choice.node, choice.nominated_node, choice.victims) == ("", "n1", (victim,))


def test_what_postfilter_says_comes_last() -> None:
    choice = Bench(Scripted(filter=only(), post_filter=PostFilterResult(unschedulable("sorry"), ""))).choose()
    assert (choice.message, choice.nominated_node) == ("0/4 nodes are available: 4 no. sorry", "")


@pytest.mark.parametrize("status", [unschedulable("x"), unresolvable("x")])
def test_a_pod_that_prefilter_rejects_has_one_status_for_every_node(status: Status) -> None:
    plugin = Scripted(pre_filter=status, post_filter=unschedulable("sorry"))
    choice = Bench(plugin).choose()
    assert choice.message == "0/4 nodes are available: x. sorry"
    assert choice.rejected_by == {"Fake"}
    assert choice.statuses == dict.fromkeys(("n0", "n1", "n2", "n3"), status.of("Fake"))
    assert [hook for _, hook in plugin.log] == ["pre_filter", "post_filter"]


def test_all_plugins_that_narrowed_nodes_down_to_none_are_blamed() -> None:
    choice = Bench(Scripted("A", pre_filter={"n1"}), Scripted("B"), Scripted("C", pre_filter={"n2"})).choose()
    assert choice.message == "0/4 nodes are available: node(s) didn't satisfy plugin(s) [A C] simultaneously."
    assert choice.rejected_by == {"A", "C"}


# ---------------------------------------------------------------------- narrowed nodes


def test_only_nodes_that_are_named_and_exist_are_looked_at() -> None:
    choice = Bench(Scripted(pre_filter={"n1", "n3", "nowhere"}, score={"n0": 100, "n3": 5})).choose()
    assert (choice.node, choice.feasible) == ("n3", 2)


def test_nodes_that_are_not_named_are_told_of_together() -> None:
    bench = Bench(
        Scripted("B", pre_filter={"n1", "n3"}, filter=only()), Scripted("A", pre_filter={"n0", "n1", "n3"}), nodes=4
    )
    choice = bench.choose()
    assert choice.message == "0/4 nodes are available: 2 no, 2 node(s) didn't satisfy plugin(s) [A B]."
    assert choice.rejected_by == {"A", "B"}
    assert set(choice.statuses) == {"n1", "n3"}


def test_a_name_that_no_node_has_leaves_none() -> None:
    choice = Bench(Scripted(pre_filter={"nowhere"})).choose()
    assert choice.message == "0/4 nodes are available: 4 node(s) didn't satisfy plugin(s) [Fake]."


# ---------------------------------------------------------------------- nominated pods


def test_a_pod_that_is_nominated_goes_to_its_node_without_any_score() -> None:
    plugin = Scripted(score={"n0": 100})
    bench, pod = Bench(plugin), make_pod("p")
    bench.nominator.nominate(pod, "n2")
    assert bench.choose(pod).node == "n2"
    assert [hook for _, hook in plugin.log] == ["pre_filter", "filter"]


@pytest.mark.parametrize("node", ["n2", "nowhere"])
def test_where_its_node_does_not_pass_or_is_gone_a_nominated_pod_goes_on_as_any_other(node: str) -> None:
    bench, pod = Bench(Scripted(filter=only(0, 1), score={"n1": 5})), make_pod("p")
    bench.nominator.nominate(pod, node)
    assert bench.choose(pod).node == "n1"


def room(pod: Pod, table: NodeTable) -> dict[str, Status]:
    """One pod a node, but two on n3."""
    return {
        node.name: unschedulable(f"{len(table.pods_on[row])} there")
        for row, node in enumerate(table.nodes)
        if node is not None and len(table.pods_on[row]) >= (2 if node.name == "n3" else 1)
    }


@pytest.mark.parametrize(("priority", "feasible"), [(0, 3), (5, 3), (6, 4)])
def test_a_pod_gives_way_to_nominated_pods_of_at_least_its_priority(priority: int, feasible: int) -> None:
    bench = Bench(Scripted(filter=room))
    bench.nominator.nominate(make_pod("other", priority=5), "n1")
    bench.nominator.nominate(make_pod("third", priority=5), "n3")
    assert bench.choose(make_pod("p", priority=priority)).feasible == feasible
    assert all(not pods for pods in bench.table.pods_on)


def test_a_pod_must_also_fit_without_those_that_are_nominated() -> None:
    def company(pod: Pod, table: NodeTable) -> dict[str, Status]:
        return {f"n{row}": unschedulable("alone") for row, pods in enumerate(table.pods_on) if not pods}

    bench = Bench(Scripted(filter=company))
    bench.nominator.nominate(make_pod("other"), "n1")
    assert bench.choose().message == "0/4 nodes are available: 4 alone."


def test_what_fails_with_the_nominated_pods_there_is_what_is_told() -> None:
    def crowded(pod: Pod, table: NodeTable) -> dict[str, Status]:
        return {f"n{row}": unschedulable(f"{len(pods)} there") for row, pods in enumerate(table.pods_on)}

    one, other = Scripted("A", filter=crowded), Scripted("B")
    bench = Bench(one, other)
    bench.nominator.nominate(make_pod("other"), "n1")
    choice = bench.choose()
    assert choice.message == "0/4 nodes are available: 1 1 there, 3 0 there."
    assert choice.statuses["n1"] == unschedulable("1 there").of("A")


def test_plugins_hear_of_nominated_pods_on_a_state_of_their_own() -> None:
    plugin = Scripted()
    bench = Bench(plugin)
    bench.nominator.nominate(make_pod("other"), "n1")
    bench.choose()
    assert [hook for _, hook in plugin.log].count("add_pod") == 1
    failing = Bench(Scripted(add_pod=error("full")))
    failing.nominator.nominate(make_pod("other"), "n1")
    choice = failing.choose()
    assert (choice.is_error, choice.message) == (True, 'running AddPod on PreFilter plugin "Fake": full')
    assert all(not pods for pods in failing.table.pods_on)


def test_a_nominated_pod_does_not_stand_in_its_own_way() -> None:
    bench, pod = Bench(Scripted(filter=room)), make_pod("p")
    bench.nominator.nominate(pod, "n1")
    assert bench.choose(pod).node == "n1"


# ---------------------------------------------------------------------- sampling


def sampled(nodes: int, percentage: int | None, fits: Any = lambda number: True) -> Bench:
    failing = {f"n{number}": unschedulable() for number in range(nodes) if not fits(number)}
    return Bench(Scripted(filter=failing), nodes=nodes, percentage=percentage)


@pytest.mark.parametrize(
    ("nodes", "percentage", "feasible"),
    [
        (99, 1, 99),
        (100, 1, 100),
        (300, 1, 100),
        (300, 50, 150),
        (301, 50, 150),
        (300, 100, 300),
        (300, None, 300),
        (300, 0, 300),
    ],
)
def test_how_many_feasible_nodes_are_looked_for(nodes: int, percentage: int | None, feasible: int) -> None:
    assert sampled(nodes, percentage).choose().feasible == feasible


def test_the_next_search_begins_where_the_last_one_ended() -> None:
    bench = sampled(250, 40)
    chosen = [(bench.choose().node, bench.rotation.start) for _ in range(4)]
    assert chosen == [("n0", 100), ("n100", 200), ("n200", 50), ("n50", 150)]


def test_a_search_ends_with_the_first_feasible_node_too_many() -> None:
    """Every second node fits: the hundredth is n199, and n200 is the one too many."""
    bench = sampled(400, 25, lambda number: number % 2 == 1 if number < 300 else number % 10 == 9)
    assert bench.choose().feasible == 100
    assert bench.rotation.start == 201
    wide = sampled(400, 25, lambda number: number < 100 or number == 350)
    wide.choose()
    assert wide.rotation.start == 350


def test_a_search_of_all_nodes_leaves_the_next_one_where_it_was() -> None:
    for bench in (sampled(250, 40, lambda number: number < 50), sampled(50, 10), sampled(250, None)):
        bench.rotation.start = 7
        bench.choose()
        assert bench.rotation.start == 7


class ByNode(Scripted):
    """Called per node; counts the nodes that it filters."""

    asked = 0

    def asks_each_node(self, state: CycleState) -> bool:
        return bool(self.answers.get("each_node", True))

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Any) -> Verdicts | None:
        self.asked += len(rows)
        return super().filter(state, pod, table, rows)


@pytest.mark.parametrize(
    ("nodes", "feasible"),
    [
        (50, 50),
        (99, 99),
        (100, 100),
        (200, 100),
        (250, 120),
        (300, 144),
        (500, 230),
        (1000, 420),
        (2000, 680),
        (5000, 500),
        (6000, 300),
    ],
)
def test_a_plugin_called_per_node_gets_the_adaptive_sample(nodes: int, feasible: int) -> None:
    plugin = ByNode()
    bench = Bench(plugin, nodes=nodes, percentage=0)
    assert bench.choose().feasible == feasible
    assert plugin.asked == min(feasible + 1, nodes)  # one too many ends the search
    assert bench.rotation.start == (feasible if feasible < nodes else 0)


def test_a_configured_share_holds_for_plugins_called_per_node() -> None:
    for percentage, feasible in ((10, 100), (60, 300), (100, 500)):
        plugin = ByNode()
        assert Bench(plugin, nodes=500, percentage=percentage).choose().feasible == feasible
        assert plugin.asked == min(feasible + 1, 500)


def test_a_plugin_that_only_scores_ends_the_search_as_well() -> None:
    bench = Bench(ByNode("Scorer", score={}), nodes=500, points=("preScore", "score"))
    assert bench.choose().feasible == 230


def test_all_nodes_are_searched_for_a_pod_that_needs_no_call_per_node() -> None:
    cheap = Bench(ByNode(each_node=False), nodes=300)
    assert cheap.choose().feasible == 300
    skipped = Bench(ByNode("Filter", pre_filter=SKIP), Scripted("Other"), nodes=300, points=("preFilter", "filter"))
    assert skipped.framework.asking_each_node(skipped.choose().state) == ([], [])


def test_a_record_has_the_verdicts_on_all_nodes_and_the_same_choice() -> None:
    plugin, record = ByNode(filter={"n0": unschedulable()}), DecisionRecord()
    bench, plain = Bench(plugin, nodes=300), Bench(ByNode(filter={"n0": unschedulable()}), nodes=300)
    choice, expected = bench.choose(record=record), plain.choose()
    assert (choice.node, choice.feasible, bench.rotation) == (expected.node, expected.feasible, plain.rotation)
    assert plugin.asked == 300
    assert record.sample == Sample(300, 144, ("Fake",))
    assert str(record.sample) == "the first 144 feasible of 300 (adaptive, for Fake)"


def test_an_error_beyond_the_sample_is_not_met() -> None:
    assert Bench(ByNode(filter={"n290": error()}), nodes=300).choose().node == "n0"
    assert Bench(ByNode(filter={"n90": error()}), nodes=300).choose().is_error


def test_no_feasible_node_has_the_reasons_of_all() -> None:
    bench = Bench(ByNode(filter={f"n{number}": unschedulable("no room") for number in range(300)}), nodes=300)
    choice = bench.choose()
    assert choice.message.startswith("0/300 nodes are available: 300 no room")
    assert len(choice.statuses) == 300


@settings(max_examples=60)
@given(
    nodes=st.integers(1, 700),
    start=st.integers(0, 699),
    fitting=st.sampled_from([0.0, 0.02, 0.3, 0.9, 1.0]),
    seed=st.integers(0, 99),
)
def test_a_search_in_pieces_finds_what_a_whole_one_finds(nodes: int, start: int, fitting: float, seed: int) -> None:
    chance = random.Random(seed)
    failing = {f"n{number}": unschedulable() for number in range(nodes) if chance.random() >= fitting}
    scores = {f"n{number}": chance.randrange(100) for number in range(nodes)}
    share = max(5, 50 - nodes // 125)
    pieces = Bench(ByNode(filter=failing, score=scores), nodes=nodes)
    whole = Bench(Scripted(filter=failing, score=scores), nodes=nodes, percentage=share)
    for _ in range(3):
        found, expected = pieces.choose(), whole.choose()
        assert (found.node, found.feasible, found.message) == (expected.node, expected.feasible, expected.message)
        assert pieces.rotation == whole.rotation


def test_nodes_before_the_start_come_last() -> None:
    bench = sampled(50, None)
    bench.rotation.start = 20
    assert bench.choose().node == "n20"


def test_a_search_of_some_nodes_only_moves_the_start_by_as_many() -> None:
    bench = Bench(Scripted(pre_filter=[{"n1", "n2", "n3"}, SKIP]), nodes=10)
    bench.choose()
    assert bench.rotation.start == 3
    assert bench.choose().node == "n3"


def test_a_start_beyond_the_nodes_that_are_left_goes_around() -> None:
    bench = sampled(10, None)
    bench.rotation.start = 9
    for number in range(3, 10):
        bench.table.remove_node(f"n{number}")
    assert bench.choose().node == "n0"


def test_where_nothing_scores_the_first_node_that_fits_is_taken() -> None:
    bench = Bench(Scripted(filter=only(1, 3)), points=("preFilter", "filter"))
    assert [(bench.choose().node, bench.rotation.start) for _ in range(3)] == [("n1", 3), ("n3", 1), ("n1", 3)]


# ---------------------------------------------------------------------- order


@given(st.permutations(range(8)), st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_the_choice_depends_on_the_order_of_nodes_only_among_the_best(order: list[int], scores: list[int]) -> None:
    table = make_table(make_node(f"n{number}") for number in order)
    framework = make_framework(Scripted(score={f"n{n}": score for n, score in enumerate(scores)}), points=FITTING)
    choice = SchedulingCycle(framework, table, Nominator(), Rotation()).choose(make_pod("p"))
    assert scores[int(choice.node[1:])] == max(scores)
