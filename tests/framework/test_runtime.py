"""Framework runtime: the rules of each extension point."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.decision_record import DecisionRecord
from kubewasp.framework.normalization import normalized
from kubewasp.framework.plugin import FilterPlugin, NodeByNode, PostFilterResult, PreFilterResult, Registration
from kubewasp.framework.runtime import Framework
from kubewasp.framework.status import SUCCESS, Code, Status
from tests.framework.fakes import SKIP, WAIT, Scripted, error, make_framework, unresolvable, unschedulable
from tests.plugins.building import make_node, make_pod, make_table

POD = make_pod("p")
TABLE = make_table([make_node("a"), make_node("b"), make_node("c")])


def plugins(*scripts: dict[str, Any]) -> tuple[Framework, list[Any]]:
    """A profile of plugins A, B, C … that do as told, and what they were asked."""
    log: list[Any] = []
    made = [Scripted(name, log, **script) for name, script in zip("ABCD", scripts, strict=False)]
    return make_framework(*made), log


# ---------------------------------------------------------------------- PreFilter


def pre_filter(*answers: Any) -> tuple[Any, CycleState, list[Any]]:
    framework, log = plugins(*({"pre_filter": answer} for answer in answers))
    state = CycleState()
    return framework.run_pre_filter(state, POD, TABLE), state, [name for name, _ in log]


def test_prefilter_runs_in_order_and_looks_at_all_nodes_if_nobody_narrows_them() -> None:
    outcome, state, asked = pre_filter(SUCCESS, SUCCESS)
    assert (outcome.status, outcome.nodes, outcome.narrowed_by, asked) == (SUCCESS, None, (), ["A", "B"])
    assert state.skip_filter == set()


def test_a_plugin_that_skips_is_not_asked_to_filter_nor_about_added_and_removed_pods() -> None:
    framework, log = plugins({"pre_filter": SKIP}, {})
    state = CycleState()
    framework.run_pre_filter(state, POD, TABLE)
    log.clear()
    framework.run_filters(state, POD, TABLE, TABLE.order())
    framework.run_add_pod(state, POD, make_pod(), 0, TABLE)
    framework.run_remove_pod(state, POD, make_pod(), 0, TABLE)
    assert log == [("B", "filter"), ("B", "add_pod"), ("B", "remove_pod")]


def test_unresolvable_ends_prefilter_at_once() -> None:
    outcome, _, asked = pre_filter(SUCCESS, unresolvable(), SUCCESS)
    assert (outcome.status, asked) == (unresolvable().of("B"), ["A", "B"])


def test_unschedulable_is_remembered_while_the_rest_runs_and_the_last_one_counts() -> None:
    outcome, _, asked = pre_filter(unschedulable("first"), unschedulable("second"), SUCCESS)
    assert (outcome.status, asked) == (unschedulable("second").of("B"), ["A", "B", "C"])


def test_unresolvable_after_unschedulable_is_what_is_told() -> None:
    assert pre_filter(unschedulable(), unresolvable())[0].status == unresolvable().of("B")


@pytest.mark.parametrize("status", [error(), Status(Code.WAIT, "broken"), Status(77, "broken")])
def test_any_other_failure_of_prefilter_is_an_error(status: Status) -> None:
    outcome, _, asked = pre_filter(status, SUCCESS)
    assert outcome.status == Status(Code.ERROR, 'running PreFilter plugin "A": broken', "A")
    assert asked == ["A"]


def test_narrowed_nodes_are_intersected_and_the_plugins_named_in_order() -> None:
    framework = make_framework(
        Scripted("Z", pre_filter={"a", "b"}), Scripted("M"), Scripted("B", pre_filter={"b", "c"})
    )
    outcome = framework.run_pre_filter(CycleState(), POD, TABLE)
    assert (outcome.status, outcome.nodes, outcome.narrowed_by) == (SUCCESS, {"b"}, ("B", "Z"))


def test_nodes_narrowed_down_to_none_by_one_plugin() -> None:
    outcome, _, asked = pre_filter(set(), SUCCESS)
    assert outcome.status == unresolvable("node(s) didn't satisfy plugin A")
    assert (outcome.narrowed_by, asked) == (("A",), ["A"])


def test_nodes_narrowed_down_to_none_by_several_plugins() -> None:
    framework = make_framework(Scripted("Z", pre_filter={"a"}), Scripted("B", pre_filter={"b"}))
    outcome = framework.run_pre_filter(CycleState(), POD, TABLE)
    assert outcome.status == unresolvable("node(s) didn't satisfy plugin(s) [B Z] simultaneously")
    assert outcome.narrowed_by == ("B", "Z")


def test_a_plugin_that_rejects_the_pod_does_not_narrow_nodes() -> None:
    outcome, _, _ = pre_filter(PreFilterResult(unschedulable(), frozenset()), {"a"})
    assert outcome.status == unschedulable().of("A")
    assert outcome.narrowed_by == ("B",)


# ---------------------------------------------------------------------- Filter


def filters(*answers: Any, record: DecisionRecord | None = None) -> tuple[Any, list[Any]]:
    framework, log = plugins(*({"filter": answer} for answer in answers))
    return framework.run_filters(CycleState(), POD, TABLE, TABLE.order(), record), log


def test_the_first_plugin_that_objects_decides_a_node() -> None:
    outcome, _ = filters({"a": unschedulable("x")}, {"a": unresolvable("y"), "b": unresolvable("y")})
    assert outcome.rows.tolist() == [2]
    assert outcome.statuses(TABLE) == {"a": unschedulable("x").of("A"), "b": unresolvable("y").of("B")}
    assert [list(objection.groups()) for objection in outcome.objections] == [
        [(unschedulable("x"), 1)],
        [(unresolvable("y"), 1)],
    ]


def test_plugins_are_asked_no_more_when_no_node_is_left() -> None:
    outcome, log = filters(dict.fromkeys("abc", unschedulable()), {})
    assert (len(outcome.rows), log) == (0, [("A", "filter")])


@pytest.mark.parametrize("status", [error(), SKIP, WAIT, Status(77)])
def test_a_verdict_that_is_no_rejection_is_an_error_and_ends_the_cycle(status: Status) -> None:
    outcome, log = filters({"b": Status(status.code, "broken")}, {})
    assert outcome.error == Status(Code.ERROR, 'running "A" filter plugin: broken', "A")
    assert log == [("A", "filter")]


def test_with_a_record_everyone_is_asked_about_all_nodes_and_the_outcome_is_the_same() -> None:
    answers = ({"a": unschedulable("x")}, {"a": error(), "b": unresolvable("y")}, {"c": unschedulable("z")})
    record = DecisionRecord()
    outcome, log = filters(*answers, record=record)
    plain, _ = filters(*answers)
    assert outcome.error.is_success
    assert outcome.statuses(TABLE) == plain.statuses(TABLE)
    assert [(item.plugin, item.rows.tolist()) for item in record.filters] == [(name, [0, 1, 2]) for name in "ABC"]
    assert len(log) == 3


def test_failures_of_added_and_removed_pods_are_errors() -> None:
    framework, _ = plugins({"add_pod": unschedulable("no"), "remove_pod": error("no")})
    for run, word in ((framework.run_add_pod, "AddPod"), (framework.run_remove_pod, "RemovePod")):
        status = run(CycleState(), POD, make_pod(), 0, TABLE)
        assert status == Status(Code.ERROR, f'running {word} on PreFilter plugin "A": no', "A")


# ---------------------------------------------------------------------- PostFilter


def post_filter(*answers: Any) -> tuple[PostFilterResult, list[str]]:
    framework, log = plugins(*({"post_filter": answer} for answer in answers))
    return framework.run_post_filter(CycleState(), POD, TABLE, {}), [name for name, _ in log]


def test_the_first_postfilter_that_succeeds_ends_it() -> None:
    helped = PostFilterResult(SUCCESS, "a")
    result, asked = post_filter(PostFilterResult(unschedulable(), "b"), helped, unschedulable())
    assert (result, asked) == (helped, ["A", "B"])


def test_reasons_of_all_that_do_not_help_are_told_together_and_the_last_nomination_counts() -> None:
    result, asked = post_filter(
        PostFilterResult(unschedulable("x"), "a"), PostFilterResult(unschedulable("y"), ""), unschedulable("z")
    )
    assert (result.status.code, result.status.reason) == (Code.UNSCHEDULABLE, "x, y, z")
    assert (result.nominated_node, asked) == ("", ["A", "B", "C"])


def test_unresolvable_ends_postfilter_with_its_own_nomination() -> None:
    result, asked = post_filter(PostFilterResult(unschedulable("x"), "a"), unresolvable("y"), unschedulable("z"))
    assert (result.status, result.nominated_node, asked) == (unresolvable("y").of("B"), None, ["A", "B"])


def test_an_error_ends_postfilter_and_leaves_the_nomination_alone() -> None:
    result, asked = post_filter(unschedulable("x"), PostFilterResult(error("y"), "a"), unschedulable("z"))
    assert (result.status, result.nominated_node, asked) == (error("y").of("B"), None, ["A", "B"])


# ---------------------------------------------------------------------- scores


def scores(*scripts: dict[str, Any], weights: Any = (1, 1, 1), record: DecisionRecord | None = None) -> Any:
    made = [(Scripted(name, **script), weight) for name, script, weight in zip("ABC", scripts, weights, strict=False)]
    return make_framework(*made).run_scores(CycleState(), POD, TABLE, TABLE.order(), record)


def test_the_total_is_the_weighted_sum() -> None:
    assert scores({"score": {"a": 1, "b": 2}}, {"score": {"b": 10}}, weights=(3, 2)).tolist() == [3, 26, 0]


def test_a_weight_of_nothing_is_one() -> None:
    assert scores({"score": {"a": 7}}, weights=(0,)).tolist() == [7, 0, 0]


def test_scores_are_normalized_before_they_are_weighted() -> None:
    script = {"score": {"a": 1000, "b": 500}, "normalize": normalized}
    assert scores(script, weights=(2,)).tolist() == [200, 100, 0]


def test_a_plugin_whose_prescore_skips_does_not_score() -> None:
    assert scores({"pre_score": SKIP, "score": {"a": 5}}, {"score": {"a": 1}}).tolist() == [1, 0, 0]


@pytest.mark.parametrize("status", [error(), unschedulable("broken"), unresolvable("broken")])
def test_any_other_failure_of_prescore_ends_the_cycle(status: Status) -> None:
    assert scores({"pre_score": status}) == Status(Code.ERROR, 'running PreScore plugin "A": broken', "A")


def test_a_score_that_fails_ends_the_cycle() -> None:
    assert scores({"score": error()}).reason == 'running Score plugins: plugin "A" failed with: broken'


def test_normalizing_that_fails_ends_the_cycle() -> None:
    text = 'running Normalize on Score plugins: plugin "A" failed with: broken'
    assert scores({"normalize": error()}).reason == text


@pytest.mark.parametrize("wrong", [101, -1])
def test_a_score_out_of_range_ends_the_cycle(wrong: int) -> None:
    assert scores({"score": {"a": 100, "b": wrong}}).reason == (
        f'applying score defaultWeights on Score plugins: plugin "A" returns an invalid score {wrong}, '
        "it should in the range of [0, 100] after normalizing"
    )


def test_a_record_has_what_each_plugin_gave_and_what_became_of_it() -> None:
    record = DecisionRecord()
    total = scores(
        {"score": {"a": 8, "b": 4}, "normalize": normalized}, {"pre_score": SKIP}, weights=(3,), record=record
    )
    (found,) = record.scores
    assert (found.plugin, found.weight) == ("A", 3)
    assert (found.raw.tolist(), found.normalized.tolist()) == ([8, 4, 0], [100, 50, 0])
    assert record.totals is not None
    assert record.totals.tolist() == total.tolist() == [300, 150, 0]


SCORES = st.lists(st.integers(0, 10**9), max_size=8)


@given(SCORES, st.booleans())
def test_normalized_scores_are_shares_of_the_largest(given_scores: list[int], reverse: bool) -> None:
    largest = max(given_scores, default=0)
    expected = [100 * score // largest if largest else 0 for score in given_scores]
    if reverse:
        expected = [100 - score for score in expected]
    assert normalized(np.array(given_scores, np.int64), reverse=reverse).tolist() == expected


# ---------------------------------------------------------------------- binding


def test_reserve_that_fails_undoes_all_in_reverse_order() -> None:
    framework, log = plugins({}, {"reserve": unschedulable("full")}, {})
    status = framework.run_reserve(CycleState(), POD, "a")
    assert status == unschedulable("full").of("B")
    assert log == [("A", "reserve"), ("B", "reserve"), ("C", "unreserve"), ("B", "unreserve"), ("A", "unreserve")]


@pytest.mark.parametrize(
    ("hook", "word"), [("reserve", "Reserve"), ("permit", "Permit"), ("pre_bind", "PreBind"), ("bind", "Bind")]
)
def test_errors_on_the_way_to_a_node_name_plugin_and_point(hook: str, word: str) -> None:
    framework, _ = plugins({hook: error()})
    result = getattr(framework, f"run_{hook}")(CycleState(), POD, "a")
    status = result[0] if hook == "permit" else result
    assert status == Status(Code.ERROR, f'running {word} plugin "A": broken', "A")


@pytest.mark.parametrize("hook", ["reserve", "permit", "pre_bind", "bind"])
def test_rejections_on_the_way_to_a_node_are_told_as_they_are(hook: str) -> None:
    framework, _ = plugins({hook: unresolvable("no")})
    result = getattr(framework, f"run_{hook}")(CycleState(), POD, "a")
    assert (result[0] if hook == "permit" else result) == unresolvable("no").of("A")


def test_permit_asks_all_that_may_wait_and_remembers_for_how_long_each() -> None:
    framework, log = plugins({"permit": (WAIT, 10.0)}, {}, {"permit": (WAIT, 10_000.0)})
    status, waits = framework.run_permit(CycleState(), POD, "a")
    assert (status.code, waits) == (Code.WAIT, {"A": 10.0, "C": 900.0})
    assert len(log) == 3


def test_permit_that_is_refused_ends_it() -> None:
    framework, log = plugins({"permit": (WAIT, 10.0)}, {"permit": unschedulable()}, {})
    assert framework.run_permit(CycleState(), POD, "a") == (unschedulable().of("B"), {})
    assert len(log) == 2


def test_a_plugin_that_has_nothing_to_prepare_skips_prebind() -> None:
    framework, log = plugins({"pre_bind": SKIP}, {})
    assert framework.run_pre_bind(CycleState(), POD, "a") == SUCCESS
    assert len(log) == 2


def test_the_first_bind_plugin_that_does_not_skip_decides() -> None:
    framework, log = plugins({"bind": SKIP}, {}, {"bind": error()})
    assert framework.run_bind(CycleState(), POD, "a") == SUCCESS
    assert [name for name, _ in log] == ["A", "B"]


def test_a_pod_that_nobody_binds_is_an_error() -> None:
    framework, _ = plugins({"bind": SKIP})
    assert framework.run_bind(CycleState(), POD, "a").code == Code.ERROR


def test_everyone_hears_of_a_bound_pod() -> None:
    framework, log = plugins({}, {})
    framework.run_post_bind(CycleState(), POD, "a")
    assert log == [("A", "post_bind"), ("B", "post_bind")]


# ---------------------------------------------------------------------- queue


def test_the_first_preenqueue_that_objects_gates_the_pod() -> None:
    framework, log = plugins({}, {"pre_enqueue": unresolvable("wait")}, {})
    assert framework.run_pre_enqueue(POD) == unresolvable("wait").of("B")
    assert len(log) == 2


class Silent(FilterPlugin):
    """Does not say which events it wants to hear of."""

    name = "Silent"

    def filter(self, *_arguments: Any) -> None:
        return None


def test_a_plugin_that_does_not_say_which_events_it_wants_hears_of_all() -> None:
    wanted = Registration("Node", Action.ADD)
    framework = make_framework(Scripted("A", events=[wanted]), Silent())
    assert list(framework.registrations()) == [("A", wanted), ("Silent", Registration("*", Action.ALL))]


# ---------------------------------------------------------------------- node by node


class ByName(NodeByNode):
    """Nodes a and c only; a node scores its number of pods."""

    name = "ByName"

    def filter_node(self, state: Any, pod: Any, node: Any, pods: Any) -> Status:
        return SUCCESS if node.name in "ac" else unschedulable(f"not {node.name}")

    def score_node(self, state: Any, pod: Any, node: Any, pods: Any) -> int:
        return len(pods)


def test_a_plugin_written_node_by_node_answers_for_all() -> None:
    table = make_table([make_node(name) for name in "abc"], [make_pod(node="c")])
    framework = make_framework(ByName(), points=("filter", "score"))
    outcome = framework.run_filters(CycleState(), POD, table, table.order())
    assert outcome.statuses(table) == {"b": unschedulable("not b").of("ByName")}
    totals = framework.run_scores(CycleState(), POD, table, outcome.rows)
    assert not isinstance(totals, Status)
    assert totals.tolist() == [0, 1]


def test_a_node_by_node_plugin_that_objects_to_nothing_says_nothing() -> None:
    table = make_table([make_node("a")])
    assert ByName().filter(CycleState(), POD, table, table.order()) is None
