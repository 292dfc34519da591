"""Hooks and their results, one guest each, and the call order of `evaluate`."""

import logging
from typing import Any

import pytest

from kubewasp.errors import KubewaspError
from kubewasp.framework.cluster_events import ClusterEvent
from kubewasp.framework.status import Code, Status
from kubewasp.state.node_objects import Nodes
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.hook_caller import NoSuchHookError, UnknownNodeError
from tests import samples
from tests.guests import HOOKS
from tests.guests.build import c_guest, example, go_guest, wat, wat_text
from tests.wasm.calls import STATUS_OF, WITH_STATUS
from tests.wasm.steering import bit, misbehave, peek, steer

INT32 = (-(2**31), -1, 0, 1, 100, 2**31 - 1)
LABELS = {
    0: "Success",
    1: "Error",
    2: "Unschedulable",
    3: "UnschedulableAndUnresolvable",
    4: "Wait",
    5: "Skip",
    6: "Error",
    42: "Error",
    -1: "Error",
    -(2**31): "Error",
    2**31 - 1: "Error",
}


def load(name: str, **settings: Any) -> Guest:
    return Guest.load(wat(name), name=name, **settings)


# ---------------------------------------------------------------- statuses


@pytest.mark.parametrize("hook", WITH_STATUS)
@pytest.mark.parametrize(("code", "label"), LABELS.items())
def test_a_status_is_kept_as_its_number_with_its_label_and_reason(
    hook: str, code: int, label: str, pod: dict[str, Any], nodes: Nodes
) -> None:
    with load("all_hooks").cycle(pod, nodes) as cycle:
        steer(cycle, status_code=code, with_reason=1, points=7, timeout=8, mode=1)
        status = STATUS_OF[hook](cycle)
        assert (status.code, status.label) == (code, label)
        assert status.reason == ("all hooks say so" if code else "")
        assert not cycle.failed, "an answer, even Error, is no failure"


@pytest.mark.parametrize("hook", WITH_STATUS)
def test_a_reason_is_good_for_one_call(hook: str, pod: dict[str, Any], nodes: Nodes) -> None:
    with load("all_hooks").cycle(pod, nodes) as cycle:
        steer(cycle, status_code=2, with_reason=1)
        assert STATUS_OF[hook](cycle).reason == "all hooks say so"
        steer(cycle, with_reason=0)
        assert STATUS_OF[hook](cycle) == Status(2, "")


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_succeeds_where_the_guest_says_so(hook: str, pod: dict[str, Any], nodes: Nodes) -> None:
    with load("all_hooks").cycle(pod, nodes) as cycle:
        steer(cycle, status_code=1, where=~bit(hook))
        assert STATUS_OF[hook](cycle) == Status()


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_of_a_go_guest_is_called(
    hook: str, pod: dict[str, Any], nodes: Nodes, caplog: pytest.LogCaptureFixture
) -> None:
    guest = Guest.load(go_guest("allhooks"), name="go")
    caplog.set_level(logging.DEBUG)
    with guest.cycle(pod, nodes) as cycle:
        assert STATUS_OF[hook](cycle) == Status()
    assert caplog.messages == [f"go: {hook}"]


# ---------------------------------------------------------------- prefilter


def test_prefilter_narrows_the_nodes_down(pod: dict[str, Any], nodes: Nodes) -> None:
    with load("prefilter").cycle(pod, nodes) as cycle:
        result = cycle.prefilter()
        assert result
        assert result.node_names == ("node-1", "node-3")


def test_a_prefilter_that_rejects_narrows_nothing_down(pod: dict[str, Any], nodes: Nodes) -> None:
    with load("prefilter").cycle(pod, nodes) as cycle:
        steer(cycle, status_code=2)
        result = cycle.prefilter()
        assert (result.status, result.node_names) == (Status(2, "prefilter says no"), None)


def test_without_node_names_no_node_is_ruled_out(pod: dict[str, Any], nodes: Nodes) -> None:
    with load("only_prefilter").cycle(pod, nodes) as cycle:
        assert cycle.prefilter().node_names is None


def test_node_names_may_be_unknown_and_an_unfinished_one_is_dropped(pod: dict[str, Any], nodes: Nodes) -> None:
    with load("misbehave").cycle(pod, nodes) as cycle:
        misbehave(cycle, "node names: unknown, and the last without NUL")
        assert cycle.prefilter().node_names == ("node-1", "nowhere")


@pytest.mark.parametrize("hook", ["addpod", "removepod"])
def test_a_pod_is_added_and_removed_on_a_node(hook: str, pod: dict[str, Any], nodes: Nodes) -> None:
    with load(hook).cycle(pod, nodes) as cycle:
        call = cycle.add_pod if hook == "addpod" else cycle.remove_pod
        assert call(samples.pod("other"), "node-2").status == Status(2, "node-2")


# ---------------------------------------------------------------- filter


def test_filter_gives_a_verdict_for_each_node(pod: dict[str, Any], nodes: Nodes) -> None:
    with load("filter").cycle(pod, nodes) as cycle:
        assert cycle.filter().feasible == ("node-1", "node-2", "node-3")
        steer(cycle, status_code=3)
        assert cycle.filter().rejected == dict.fromkeys(nodes, Status(3, "filter says no"))


def test_filter_takes_nodes_in_any_order_and_number(pod: dict[str, Any], nodes: Nodes) -> None:
    with load("echo").cycle(pod, nodes) as cycle:
        steer(cycle, which=1)
        for wanted in ([], ["node-3"], ["node-3", "node-1"], ["node-2", "node-2", "node-1"]):
            verdicts = cycle.filter(wanted)
            assert verdicts.names == tuple(wanted)
            assert [verdicts.reason(index) for index in range(len(wanted))] == wanted


def test_every_node_has_its_own_reason(pod: dict[str, Any]) -> None:
    """Thousands of reasons of different lengths, more than the journal holds at a time."""
    cluster = Nodes(samples.node(f"{'n' * (number % 200)}{number}") for number in range(5000))
    with load("echo").cycle(pod, cluster) as cycle:
        steer(cycle, which=1)
        verdicts = cycle.filter()
        assert [verdicts.reason(index) for index in range(len(verdicts))] == list(cluster)


def test_the_same_reason_is_kept_once(pod: dict[str, Any]) -> None:
    with load("filter").cycle(pod, samples.nodes(1000)) as cycle:
        steer(cycle, status_code=2)
        verdicts = cycle.filter()
        assert len(verdicts.rejected) == 1000
        assert len(verdicts.reasons) < 20, "one a batch"


TAKES_TURNS = """
(module
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "reason number")
  (global $calls (mut i32) (i32.const 0))
  (func (export "filter") (result i32)
    (i32.store8 (i32.const PLACE) (i32.add (i32.const 65) (i32.rem_u (global.get $calls) (i32.const COUNT))))
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (call $reason (i32.const 0) (i32.const 13))
    (i32.const 2)))
"""


@pytest.mark.parametrize("place", [0, 7, 8, 12])
@pytest.mark.parametrize("count", [2, 8, 9, 26])
def test_reasons_that_take_turns_are_told_apart(pod: dict[str, Any], count: int, place: int) -> None:
    """They differ in one letter. Up to eight are written once a batch; more than that as often as they come."""
    text = TAKES_TURNS.replace("PLACE", str(place)).replace("COUNT", str(count))
    with Guest.load(wat_text(text)).cycle(pod, samples.nodes(1000)) as cycle:
        verdicts = cycle.filter()
    letters = [chr(65 + number % count) for number in range(1000)]
    expected = ["reason number"[:place] + letter + "reason number"[place + 1 :] for letter in letters]
    assert [verdicts.reason(index) for index in range(1000)] == expected
    assert (len(verdicts.reasons) < 20 * count) == (count <= 8)


SAYS_EVERY_SECOND_TIME = """
(module
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "words")
  (data (i32.const 16) "\\00\\00\\00\\00\\05\\00\\00\\00")
  (global $calls (mut i32) (i32.const 0))
  (func (export "filter") (result i32)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (if (i32.and (global.get $calls) (i32.const 1))
      (then
        (call $reason (i32.const 0) (i32.const 5))
        (drop (call $write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 32)))))
    (i32.const 2)))
"""


def test_a_node_does_not_inherit_what_was_said_of_the_one_before(pod: dict[str, Any]) -> None:
    with Guest.load(wat_text(SAYS_EVERY_SECOND_TIME)).cycle(pod, samples.nodes(10)) as cycle:
        verdicts = cycle.filter()
        assert [verdicts.reason(index) for index in range(10)] == ["words", ""] * 5
        assert verdicts.trace.output == "", "the last one said nothing"


LOGS_A_LOT = """
(module
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "onetwo")
  (global $calls (mut i32) (i32.const 0))
  (func (export "filter") (result i32)
    (local $lines i32)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (if (i32.lt_u (global.get $calls) (i32.const 3))
      (then (call $reason (i32.const 0) (i32.const 3)))
      (else
        (loop $more
          (call $log (i32.const 0) (i32.const 3) (i32.const 3))
          (br_if $more
            (i32.lt_u (local.tee $lines (i32.add (local.get $lines) (i32.const 1))) (i32.const 10000))))
        (call $reason (i32.const 3) (i32.const 3))))
    (i32.const 2)))
"""


def test_a_reason_is_not_mistaken_for_a_log_line_that_took_its_place(pod: dict[str, Any], nodes: Nodes) -> None:
    """The lines of the third node fill the journal, which begins anew where the reason of the second was."""
    with Guest.load(wat_text(LOGS_A_LOT)).cycle(pod, nodes) as cycle:
        verdicts = cycle.filter()
        assert [verdicts.reason(index) for index in range(3)] == ["one", "one", "two"]


def test_nodes_of_a_cluster_with_gaps_are_all_called(pod: dict[str, Any]) -> None:
    cluster = samples.nodes(10)
    cluster.remove("node-1")
    cluster.remove("node-5")
    cluster.put(samples.node("node-11"))
    with load("echo").cycle(pod, cluster) as cycle:
        steer(cycle, which=1)
        verdicts = cycle.filter()
        assert [verdicts.reason(index) for index in range(len(verdicts))] == list(cluster)


def test_a_cluster_without_nodes_has_no_verdicts(pod: dict[str, Any]) -> None:
    with load("all_hooks").cycle(pod, ()) as cycle:
        assert len(cycle.filter()) == 0
        assert cycle.score().as_dict() == {}


TAKES_10_MS = """
(module
  (import "wasi_snapshot_preview1" "clock_time_get" (func $time (param i32 i64 i32) (result i32)))
  (memory (export "memory") 1)
  (func $now (result i64) (drop (call $time (i32.const 1) (i64.const 1) (i32.const 0))) (i64.load (i32.const 0)))
  (func (export "filter") (result i32)
    (local $until i64)
    (local.set $until (i64.add (call $now) (i64.const 10_000_000)))
    (loop $spin (br_if $spin (i64.lt_u (call $now) (local.get $until))))
    (i32.const 0)))
"""


def test_rows_and_results_are_read_only(pod: dict[str, Any], nodes: Nodes) -> None:
    """The same array of rows is written to the guest once: a change of it would go unnoticed."""
    with load("filter").cycle(pod, nodes) as cycle:
        rows = cycle.hooks.rows(["node-2"])
        cycle.hooks.call_rows("filter", rows)
        found = cycle.filter()
    for array in (rows, found.codes, found.reason_numbers):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_the_time_limit_is_for_one_node_not_for_all(pod: dict[str, Any]) -> None:
    with Guest.load(wat_text(TAKES_10_MS), limits={"call_timeout": 0.5}).cycle(pod, samples.nodes(64)) as cycle:
        assert len(cycle.filter().feasible) == 64


# ---------------------------------------------------------------- postfilter


@pytest.mark.parametrize("mode", [0, 1, -1])
def test_postfilter_nominates_a_node(mode: int, pod: dict[str, Any], nodes: Nodes) -> None:
    with load("postfilter").cycle(pod, nodes) as cycle:
        steer(cycle, mode=mode)
        result = cycle.postfilter({"node-1": 2})
        assert (result.status, result.nominated_node, result.nominating_mode) == (Status(), "node-2", mode)
        steer(cycle, status_code=2)
        result = cycle.postfilter({"node-1": 2})
        assert (result.status, result.nominating_mode) == (Status(2, "postfilter says no"), mode)


def test_postfilter_of_a_go_guest_reads_the_statuses(pod: dict[str, Any], nodes: Nodes) -> None:
    with Guest.load(go_guest("nodenumber")).cycle(pod, nodes) as cycle:
        result = cycle.postfilter({"node-3": 2, "node-2": 3})
        assert (result.nominated_node, result.nominating_mode) == ("node-2", 1)
        assert cycle.postfilter({}).status == Status(2, "")


# ---------------------------------------------------------------- scores


@pytest.mark.parametrize("points", INT32)
@pytest.mark.parametrize("status", [0, 1, 2, -1, 42])
def test_a_score_is_the_high_half_and_a_status_the_low_one(
    points: int, status: int, pod: dict[str, Any], nodes: Nodes
) -> None:
    with load("score").cycle(pod, nodes) as cycle:
        steer(cycle, points=points, status_code=status)
        scored = cycle.score()
        assert scored.as_dict() == dict.fromkeys(nodes, points)
        assert scored.codes.tolist() == [status] * 3
        assert scored.reason(0) == ("score says no" if status else "")


def test_scores_are_for_the_nodes_that_were_asked_for(pod: dict[str, Any]) -> None:
    cluster = samples.nodes(20)
    with Guest.load(example("nodenumber")).cycle(samples.pod("web-3"), cluster) as cycle:
        cycle.prefilter()
        assert cycle.score(["node-13", "node-4", "node-3"]).as_dict() == {"node-13": 10, "node-4": 0, "node-3": 10}
        assert cycle.score().best == "node-3"


def test_prescore_sees_the_feasible_nodes(pod: dict[str, Any], nodes: Nodes) -> None:
    with load("prescore").cycle(pod, nodes) as cycle:
        assert cycle.prescore(["node-3", "node-1"]).status == Status(2, '["node-3","node-1"]')


def test_normalized_scores_replace_the_others(pod: dict[str, Any], nodes: Nodes) -> None:
    with load("normalizescore").cycle(pod, nodes) as cycle:
        scores = cycle.score().as_dict()
        assert scores == dict.fromkeys(nodes, 7)
        result = cycle.normalize_score(scores)
        assert (result.status, result.scores) == (Status(), {"node-1": 10, "node-2": 20, "node-3": 30})


def test_scores_that_are_not_normalized_stay_as_they_are(pod: dict[str, Any], nodes: Nodes) -> None:
    with load("normalizescore").cycle(pod, nodes) as cycle:
        steer(cycle, status_code=2)
        result = cycle.normalize_score(dict.fromkeys(nodes, 7))
        assert (result.status, result.scores) == (Status(2, "normalizescore says no"), dict.fromkeys(nodes, 7))
    with load("all_hooks").cycle(pod, nodes) as cycle:
        assert cycle.normalize_score({"node-1": 3}).scores == {"node-1": 3}


@pytest.mark.parametrize("score", [-1, 101, 2**31 - 1, -(2**31)])
def test_normalized_scores_are_taken_as_they_are(score: int, pod: dict[str, Any], nodes: Nodes) -> None:
    """The framework checks their range."""
    with load("all_hooks").cycle(pod, nodes) as cycle:
        scores = {"node-1": 0, "node-2": 100, "node-3": score}
        result = cycle.normalize_score(scores)
        assert (result.status, result.scores) == (Status(), scores)


# ---------------------------------------------------------------- reserve to postbind


@pytest.mark.parametrize("hook", ["reserve", "prebind", "bind"])
def test_a_hook_of_the_binding_cycle_knows_its_node(hook: str, pod: dict[str, Any], nodes: Nodes) -> None:
    with load(hook).cycle(pod, nodes) as cycle:
        assert getattr(cycle, hook)("node-2")
        steer(cycle, status_code=2)
        assert getattr(cycle, hook)("node-3").status == Status(2, "node-3")


@pytest.mark.parametrize(
    ("guest", "hook", "counter"), [("reserve", "unreserve", "unreserved"), ("postbind",) * 2 + ("bound",)]
)
def test_a_hook_without_an_answer_is_called(
    guest: str, hook: str, counter: str, pod: dict[str, Any], nodes: Nodes
) -> None:
    with load(guest).cycle(pod, nodes) as cycle:
        result = getattr(cycle, hook)("node-2")
        assert result
        assert [line.text for line in result.trace.logs] == [f"{hook} node-2"]
        getattr(cycle, hook)("node-2")
        assert peek(cycle, counter) == 2


@pytest.mark.parametrize("timeout", [0, 1, 60_000, 2**31, 2**32 - 1])
@pytest.mark.parametrize("status", [0, 2, 4, -1])
def test_a_permits_status_is_the_high_half_and_its_timeout_the_low_one(
    timeout: int, status: int, pod: dict[str, Any], nodes: Nodes
) -> None:
    with load("permit").cycle(pod, nodes) as cycle:
        steer(cycle, status_code=status, timeout=(timeout + 2**31) % 2**32 - 2**31)
        result = cycle.permit("node-2")
        assert result.timeout_ms == timeout, "it has no sign"
        assert result.status == Status(status, "node-2" if status else "")


# ---------------------------------------------------------------- enqueue


def test_a_guest_registers_for_cluster_events() -> None:
    assert load("enqueue").cluster_events == (ClusterEvent("Node", 1 | 8), ClusterEvent("Pod", 2))


@pytest.mark.parametrize("guest", ["filter", "all_hooks"])
def test_a_guest_that_registers_for_nothing_is_registered_for_everything(guest: str) -> None:
    assert load(guest).cluster_events == (ClusterEvent("*", 1 | 2 | 4 | 8 | 16 | 32),)


def test_enqueue_can_be_called_again(pod: dict[str, Any], nodes: Nodes) -> None:
    with load("enqueue").cycle(pod, nodes) as cycle:
        events, result = cycle.enqueue()
        assert result
        assert [event.resource for event in events] == ["Node", "Pod"]


# ---------------------------------------------------------------- what cannot be asked


@pytest.mark.parametrize(
    "hook", ["addpod", "removepod", "filter", "score", "reserve", "unreserve", "permit", "prebind", "bind", "postbind"]
)
def test_an_unknown_node_is_refused_before_the_guest_is_called(hook: str, pod: dict[str, Any]) -> None:
    with load("all_hooks").cycle(pod, [samples.node("other")]) as cycle:
        with pytest.raises(UnknownNodeError) as caught:
            STATUS_OF[hook](cycle)
        assert str(caught.value) == 'there is no node "node-1" among the 1 nodes given'
        assert not cycle.failed


def test_a_hook_that_the_guest_does_not_have_is_refused(pod: dict[str, Any], nodes: Nodes) -> None:
    with load("addpod").cycle(pod, nodes) as cycle:
        with pytest.raises(NoSuchHookError) as caught:
            cycle.score()
        assert str(caught.value) == 'plugin "addpod" does not export score; it has prefilter, addpod, filter'


def test_a_closed_cycle_is_over(pod: dict[str, Any], nodes: Nodes) -> None:
    cycle = load("filter").cycle(pod, nodes)
    cycle.close()
    cycle.close()
    with pytest.raises(KubewaspError, match='plugin "filter": the cycle is closed'):
        cycle.filter()


# ---------------------------------------------------------------- evaluate


def test_evaluate_picks_the_best_node() -> None:
    guest = Guest.load(example("nodenumber"), config='{"reserved": 3}')
    found = guest.evaluate(samples.pod("web-2"), samples.nodes(4))
    assert found.status == Status()
    assert found.scores == {"node-1": 0, "node-2": 10, "node-4": 0}
    assert found.best == "node-2"
    assert found.rejected == {"node-3": Status(2, "node number 3 is reserved")}


def test_evaluate_asks_a_go_and_a_c_guest_in_the_same_way(nodes: Nodes) -> None:
    go = Guest.load(go_guest("nodenumber"), config='{"closed": ["node-1"]}').evaluate(samples.pod("web-2"), nodes)
    assert (go.scores, go.rejected) == ({"node-2": 10, "node-3": 0}, {"node-1": Status(2, "node node-1 is closed")})
    assert [line.text for line in go.logs] == []
    cluster = [samples.node("a", labels={"disk": "ssd", "zone": "1"}), samples.node("b", labels={"zone": "1"})]
    c = Guest.load(c_guest("labels"), config="disk").evaluate(samples.pod(), cluster)
    assert (c.scores, c.rejected) == ({"a": 2}, {"b": Status(2, "node lacks the label disk")})


def test_evaluate_keeps_to_the_nodes_of_prefilter(pod: dict[str, Any], nodes: Nodes) -> None:
    found = load("prefilter").evaluate(pod, nodes)
    assert list(found.scores) == ["node-1", "node-3"]
    assert found.rejected == {"node-2": Status(3, "node(s) didn't satisfy plugin(s) [prefilter]")}


def test_evaluate_ends_with_a_prefilter_that_rejects(pod: dict[str, Any], nodes: Nodes) -> None:
    found = Guest.load(wat_text(answering(prefilter=2, filter=1))).evaluate(pod, nodes)
    assert (found.status, found.best) == (Status(2), None)
    assert set(found.rejected) == set(nodes)


def test_evaluate_leaves_out_a_filter_that_prefilter_skips(pod: dict[str, Any], nodes: Nodes) -> None:
    found = Guest.load(wat_text(answering(prefilter=5, filter=2))).evaluate(pod, nodes)
    assert set(found.scores) == set(nodes)


def test_evaluate_leaves_out_a_score_that_prescore_skips(pod: dict[str, Any], nodes: Nodes) -> None:
    found = Guest.load(wat_text(answering(prescore=5, score=1))).evaluate(pod, nodes)
    assert found.scores == dict.fromkeys(nodes, 0)


@pytest.mark.parametrize(("hook", "code"), [("filter", 1), ("filter", 42), ("prescore", 2), ("score", 2)])
def test_evaluate_ends_with_an_error(hook: str, code: int, pod: dict[str, Any], nodes: Nodes) -> None:
    found = Guest.load(wat_text(answering(**{"score": 0, hook: code}))).evaluate(pod, nodes)
    assert (found.status.code, found.scores, found.best) == (code, {}, None)


def test_evaluate_says_so_when_no_node_passes(pod: dict[str, Any], nodes: Nodes) -> None:
    guest = Guest.load(wat_text(answering(filter=2, score=0)))
    assert guest.evaluate(pod, nodes).status == Status(Code.UNSCHEDULABLE, "no node passed")
    assert guest.evaluate(pod, []).status == Status(Code.UNSCHEDULABLE, "no node passed")


def test_evaluate_refuses_scores_out_of_range(pod: dict[str, Any], nodes: Nodes) -> None:
    found = Guest.load(wat_text(answering(score=101 << 32)), name="eager").evaluate(pod, nodes)
    assert found.status.reason == (
        'plugin "eager" returns an invalid score 101, it should in the range of [0, 100] after normalizing'
    )


def test_evaluate_normalizes_scores(pod: dict[str, Any], nodes: Nodes) -> None:
    found = load("normalizescore").evaluate(pod, nodes)
    assert (found.best, found.scores) == ("node-3", {"node-1": 10, "node-2": 20, "node-3": 30})


def answering(**hooks: int) -> str:
    """A guest with those hooks and those answers."""
    functions = " ".join(
        f'(func (export "{name}") (result {kind}) ({kind}.const {value}))'
        for name, value in hooks.items()
        for kind in ["i64" if name == "score" else "i32"]
    )
    return f'(module (memory (export "memory") 1) {functions})'
