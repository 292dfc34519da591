"""Guest violations in every hook: an Error with plugin, hook and cause, and a fresh instance."""

import logging
from collections import Counter

import numpy as np
import pytest

from kubewasp.framework.status import Status
from kubewasp.state.node_objects import Nodes
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest import FailurePolicy, Guest
from kubewasp.wasm.guest_cycle import GuestCycle
from kubewasp.wasm.guest_runner import PoolStats
from kubewasp.wasm.limits import Limits
from tests import samples
from tests.guests import HOOKS
from tests.guests.build import go_guest, wat, wat_text
from tests.wasm.calls import STATUS_OF, WITH_STATUS
from tests.wasm.steering import misbehave, steer

KIB = 1024
TIMEOUT = 0.1
TOO_LONG = f"time limit of {TIMEOUT} s exceeded"
FAILURES = {
    "unreachable": "wasm trap: wasm `unreachable` instruction executed",
    "infinite loop": TOO_LONG,
    "stack overflow": "stack limit of 1048576 bytes exceeded",
    "out-of-bounds load": "wasm trap: out of bounds memory access",
    "reason of 1 GiB": "result.status_reason: 1073741824 bytes are over the limit of 65536",
    "proc_exit(3)": "guest exited with code 3",
    "proc_exit(0)": "guest exited with code 0",
    "panic! on stderr, then unreachable": "panic!\nwasm trap: wasm `unreachable` instruction executed",
    "prints forever": TOO_LONG,
    "logs forever": TOO_LONG,
    "records events forever": TOO_LONG,
    "event that is not JSON": "handle.eventrecorder.eventf: invalid JSON: ",
    "sleeps an hour": TOO_LONG,
    "null table entry": "wasm trap: uninitialized element",
    "divide by zero": "wasm trap: integer divide by zero",
}
SCORES = {"node-1": 1, "node-2": 2, "node-3": 3}


def load(what: str = "", policy: FailurePolicy = "Fail") -> Guest:
    """The guest, with little time if it is going to use all it gets, else with more than a busy machine needs."""
    limits = {"call_timeout": TIMEOUT if FAILURES.get(what) == TOO_LONG else 10, "memory": 4 * KIB * KIB}
    return Guest.load(wat("misbehave"), name="mis", limits=limits, failure_policy=policy)


def begin(nodes: Nodes, what: str, *hooks: str, policy: FailurePolicy = "Fail") -> GuestCycle:
    """A cycle in which the guest does that, in those hooks or in all."""
    cycle = load(what, policy).cycle(samples.pod(), nodes)
    misbehave(cycle, what, *hooks)
    return cycle


# ---------------------------------------------------------------- every failure in every hook


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("what", FAILURES)
def test_a_failure_is_an_error_and_costs_the_instance(what: str, hook: str, nodes: Nodes) -> None:
    guest = load(what)
    with guest.cycle(samples.pod(), nodes) as cycle:
        misbehave(cycle, what, hook)
        status = STATUS_OF[hook](cycle)
        assert status.code == 1
        assert status.reason.startswith(f"wasm: {hook} error: ")
        assert FAILURES[what] in status.reason
        assert '(plugin "mis")' in status.reason
        assert cycle.failed
    assert guest.stats == PoolStats(created=1, broken=1)
    guest.limits = Limits()
    with guest.cycle(samples.pod(), nodes) as cycle:
        assert STATUS_OF[hook](cycle) == Status()
    assert guest.stats == PoolStats(created=2, broken=1)


@pytest.mark.parametrize("hook", HOOKS)
def test_after_a_failure_the_guest_is_not_called_again(hook: str, nodes: Nodes) -> None:
    with begin(nodes, "unreachable", "prefilter") as cycle:
        failed = cycle.prefilter().status
        assert failed.code == 1
        if hook != "prefilter":
            assert STATUS_OF[hook](cycle) == failed, "the text names the hook that failed"


def test_the_nodes_before_a_failure_keep_their_verdicts(nodes: Nodes) -> None:
    with begin(nodes, "unreachable") as cycle:
        steer(cycle, after=1)
        verdicts = cycle.filter()
        assert verdicts.codes.tolist() == [0, 1, 1]
        assert verdicts.feasible == ("node-1",)
        assert all(status.reason.startswith("wasm: filter error: ") for status in verdicts.rejected.values())


@pytest.mark.parametrize("after", [0, 1, 63, 64, 65, 500, 999])
def test_a_failure_in_any_batch_is_told_from_its_node_on(after: int) -> None:
    with begin(samples.nodes(1000), "unreachable") as cycle:
        steer(cycle, after=after)
        scored = cycle.score()
        assert scored.codes.tolist() == [0] * after + [1] * (1000 - after)
        assert scored.reason(999).startswith("wasm: score error: ")
        assert len(scored.scores) == 1000


def test_a_panic_of_a_go_guest_is_told_with_its_text() -> None:
    panics = Guest.load(go_guest("nodenumber"), name="nodenumber")
    with panics.cycle(samples.pod(), [samples.node("panic")]) as cycle:
        reason = cycle.filter().reason(0)
    assert reason.startswith("wasm: filter error: panic: the node is called panic")
    assert '(plugin "nodenumber")' in reason
    assert "wasm stack trace:" in reason


# ---------------------------------------------------------------- failurePolicy: Ignore


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("what", ["unreachable", "infinite loop", "event that is not JSON"])
def test_an_ignored_failure_answers_as_if_the_plugin_were_not_there(
    what: str, hook: str, nodes: Nodes, caplog: pytest.LogCaptureFixture
) -> None:
    with begin(nodes, what, hook, policy="Ignore") as cycle:
        status = STATUS_OF[hook](cycle)
        assert status.code == {"prescore": 5, "bind": 5, "postfilter": 2}.get(hook, 0)
        assert status.reason.startswith(f"wasm: {hook} error: " if status.code else "")
        assert status == STATUS_OF[hook](cycle)
    ignored = [record for record in caplog.records if record.message == "Ignored a guest failure"]
    fields = [tuple(vars(record)[key] for key in ("plugin", "hook", "pod")) for record in ignored]
    assert fields == [("mis", hook, "default/pod-1")], "once, not for every hook after it"
    assert all(vars(record)["cause"].startswith(FAILURES[what]) for record in ignored)


def test_an_ignored_failure_lets_the_remaining_nodes_pass(nodes: Nodes) -> None:
    rejects_one = Guest.load(wat_text(REJECTS_THEN_TRAPS), failure_policy="Ignore")
    with rejects_one.cycle(samples.pod(), nodes) as cycle:
        verdicts = cycle.filter()
        assert verdicts.codes.tolist() == [2, 0, 0]
        assert verdicts.reason(1) == ""


REJECTS_THEN_TRAPS = """
(module
  (memory (export "memory") 1)
  (global $calls (mut i32) (i32.const 0))
  (func (export "filter") (result i32)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (if (i32.gt_u (global.get $calls) (i32.const 1)) (then unreachable))
    (i32.const 2)))
"""


@pytest.mark.parametrize("what", ["unreachable", "normalized scores that are not JSON", "event that is not JSON"])
def test_an_ignored_normalization_leaves_no_score_out_of_range(what: str, nodes: Nodes) -> None:
    with begin(nodes, what, "normalizescore", policy="Ignore") as cycle:
        result = cycle.normalize_score({"node-1": 5000, "node-2": -1})
        assert (result.status, result.scores) == (Status(), {"node-1": 0, "node-2": 0})


@pytest.mark.parametrize("hook", ["prefilter", "filter", "prescore", "score", "normalizescore"])
def test_an_ignored_failure_anywhere_leaves_every_node_to_choose_from(hook: str, nodes: Nodes) -> None:
    guest = load(policy="Ignore")
    with guest.cycle(samples.pod(), nodes) as cycle:
        misbehave(cycle, "unreachable", hook)  # and so it does in the next cycle, which gets the same instance
    found = guest.evaluate(samples.pod(), nodes)
    assert guest.stats.broken == 1
    assert (found.status, found.scores) == (Status(), dict.fromkeys(nodes, 0))


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ValueError, match="failurePolicy: expected Fail or Ignore, got 'Retry'"):
        Guest.load(wat("filter"), failure_policy="Retry")


# ---------------------------------------------------------------- unreserve, postbind, enqueue


@pytest.mark.parametrize("hook", ["unreserve", "postbind"])
@pytest.mark.parametrize("what", ["unreachable", "infinite loop", "proc_exit(3)"])
def test_a_failure_that_changes_nothing_is_logged(
    what: str, hook: str, nodes: Nodes, caplog: pytest.LogCaptureFixture
) -> None:
    with begin(nodes, what, hook) as cycle:
        getattr(cycle, hook)("node-1")
    (line,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert line.message == "Guest hook failed"
    assert (vars(line)["plugin"], vars(line)["hook"]) == ("mis", hook)
    assert vars(line)["cause"].startswith(f"wasm: {hook} error: {FAILURES[what]}")


def test_a_trap_in_enqueue_is_a_load_error() -> None:
    with pytest.raises(GuestLoadError) as caught:
        Guest.load(wat("enqueue_trap"), name="trap")
    assert str(caught.value).startswith(
        'wasm: enqueue error: wasm trap: wasm `unreachable` instruction executed (plugin "trap")'
    )


@pytest.mark.parametrize(
    ("payload", "length", "resources", "warning"),
    [
        (r"\01\00\00\00\01\00\00\00\01", 9, ["Node"], "Incomplete cluster event ignored"),
        (r"\01\00\00\00\01\00\00", 7, ["*"], "Incomplete cluster event ignored"),
        (r"\0b\00\00\00\01\00\00\00", 8, ["EventResource(11)"], "Registration for an unknown resource has no effect"),
    ],
)
def test_odd_cluster_events_are_taken_as_far_as_they_go(
    payload: str, length: int, resources: list[str], warning: str, caplog: pytest.LogCaptureFixture
) -> None:
    odd = f"""
    (module
      (import "k8s.io/scheduler" "result.cluster_events" (func $events (param i32 i32)))
      (memory (export "memory") 1)
      (data (i32.const 0) "{payload}")
      (func (export "enqueue") (call $events (i32.const 0) (i32.const {length})))
      (func (export "filter") (result i32) (i32.const 0)))
    """
    guest = Guest.load(wat_text(odd), name="odd")
    assert [event.resource for event in guest.cluster_events] == resources
    assert warning in caplog.messages


def test_odd_cluster_events_later_are_no_error_either(nodes: Nodes) -> None:
    with begin(nodes, "cluster events of 7 bytes") as cycle:
        events, result = cycle.enqueue()
        assert (events, result.status) == ((), Status())


# ---------------------------------------------------------------- what is odd, but an answer


@pytest.mark.parametrize("hook", WITH_STATUS)
def test_a_reason_that_is_not_utf8_is_shown_as_far_as_it_is(hook: str, nodes: Nodes) -> None:
    with begin(nodes, "reason that is not UTF-8", hook) as cycle:
        assert STATUS_OF[hook](cycle) == Status(2, "bad ������ text")


@pytest.mark.parametrize("hook", WITH_STATUS)
def test_an_unknown_status_is_an_error_with_its_number(hook: str, nodes: Nodes) -> None:
    with begin(nodes, "status 42", hook) as cycle:
        status = STATUS_OF[hook](cycle)
        assert (status.code, status.label, cycle.failed) == (42, "Error", False)


@pytest.mark.parametrize("hook", HOOKS)
def test_success_has_no_reason(hook: str, nodes: Nodes) -> None:
    with begin(nodes, "reason with Success", hook) as cycle:
        assert STATUS_OF[hook](cycle) == Status()


@pytest.mark.parametrize("hook", HOOKS)
def test_there_is_a_target_pod_in_two_hooks_only(hook: str, nodes: Nodes) -> None:
    with begin(nodes, "targetPod in any hook", hook) as cycle:
        assert STATUS_OF[hook](cycle).code == (2 if hook in ("addpod", "removepod") else 0)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("normalized scores that are not JSON", "invalid JSON: "),
        ("normalized score NaN", "invalid JSON: "),
        ("normalized scores of an unknown node", 'there is no node "nowhere" among the scored ones'),
        ("normalized scores without some nodes", 'the score of node "node-2" is missing'),
        ("normalized score 1.5", 'the score of node "node-1" is not a 64-bit integer'),
    ],
)
def test_odd_normalized_scores_are_an_error(what: str, text: str, nodes: Nodes) -> None:
    with begin(nodes, what) as cycle:
        reason = cycle.normalize_score(SCORES).reason
        assert reason.startswith(f"wasm: normalizescore error: result.normalized_score_list: {text}")
        assert reason.endswith('(plugin "mis")')
        assert cycle.failed


def test_normalized_scores_that_are_null_keep_the_scores(nodes: Nodes) -> None:
    with begin(nodes, "normalized scores null") as cycle:
        result = cycle.normalize_score(SCORES)
        assert (result.status, result.scores) == (Status(), SCORES)


# ---------------------------------------------------------------- floods


def test_a_flood_of_log_lines_is_bounded(nodes: Nodes) -> None:
    with begin(nodes, "logs forever") as cycle:
        log = cycle.filter().trace.log
        texts = Counter(line.text for line in log.log_lines())
    assert log.size <= 2.5 * KIB * KIB
    (dropped,) = texts.keys() - {"panic!"}
    assert dropped.endswith(" log lines were dropped")
    assert texts["panic!"] == log.lines


def test_a_flood_of_events_is_bounded(nodes: Nodes) -> None:
    with begin(nodes, "records events forever") as cycle:
        trace = cycle.filter().trace
    assert 0 < len(trace.events) <= 1000
    assert trace.events[0].reason == "Again"


def test_a_flood_of_output_is_bounded(nodes: Nodes) -> None:
    with begin(nodes, "prints forever") as cycle:
        assert "more bytes)" in cycle.filter().reason(0)
        assert cycle.runner._memory.get("output_len") == 64 * KIB


BIG_FLOOD = """
(module
  (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
  (import "k8s.io/scheduler" "handle.eventrecorder.eventf" (func $event (param i32 i32)))
  (memory (export "memory") 32)
  (data (i32.const 0) "{}")
  (func (export "prefilter") (result i32)
    (local $i i32)
    (memory.fill (i32.const 2) (i32.const 32) (i32.const 1048574))
    (loop $more
      (call $log (i32.const 2) (i32.const 0) (i32.const 100000))
      (call $event (i32.const 0) (i32.const 1048576))
      (br_if $more (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 100))))
    (i32.const 0)))
"""


def test_log_lines_and_events_are_bounded_by_their_bytes_too(nodes: Nodes) -> None:
    """100 events of 1 MiB: none of them is read. As many lines of 100 kB: 2 MiB and some more are kept."""
    with Guest.load(wat_text(BIG_FLOOD)).cycle(samples.pod(), nodes) as cycle:
        result = cycle.prefilter()
        assert result
        assert not result.trace.events  # none is about the pod or a node
        lines = result.trace.logs
        kept = sum(len(line.text) for line in lines)
        assert 1.5 * 1048576 < kept <= 2.5 * 1048576
        assert [line.text for line in lines[-1:]] == ["100 events were dropped"]
        assert sum(line.text.endswith(" log lines were dropped") for line in lines) == 1


MANY_NAMES = """
(module
  (import "k8s.io/scheduler" "result.node_names" (func $names (param i32 i32)))
  (memory (export "memory") 20)
  (func (export "prefilter") (result i32)
    (call $names (i32.const 0) (i32.const 1000000))
    (i32.const 0))
  (func (export "filter") (result i32) (i32.const 0)))
"""


def test_names_of_far_more_nodes_than_there_are_fail_the_hook(nodes: Nodes) -> None:
    with Guest.load(wat_text(MANY_NAMES), name="mis").cycle(samples.pod(), nodes) as cycle:
        reason = cycle.prefilter().status.reason
    assert reason.startswith("wasm: prefilter error: result.node_names: more than 100")
    assert reason.endswith('(plugin "mis")')


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize("hook", HOOKS)
def test_a_memory_bomb_gets_no_more_than_its_limit(hook: str, nodes: Nodes) -> None:
    with begin(nodes, "memory bomb", hook) as cycle:
        STATUS_OF[hook](cycle)
        assert cycle.runner.memory_bytes == 4 * KIB * KIB
        assert not cycle.failed, "it was told that there is no more, and lives with it"


def test_a_trap_of_a_guest_that_is_out_of_memory_says_so(nodes: Nodes) -> None:
    with begin(nodes, "memory bomb", "prefilter") as cycle:
        cycle.prefilter()
        misbehave(cycle, "unreachable")
        assert "(4194304 of 4194304 bytes of memory in use)" in cycle.filter().reason(0)


SCORES_THEN_TRAPS = """
(module
  (memory (export "memory") 1)
  (global $calls (mut i32) (i32.const 0))
  (func (export "score") (result i64)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (if (i32.gt_u (global.get $calls) (i32.const 1)) (then unreachable))
    (i64.shl (i64.const 90) (i64.const 32))))
"""


def test_an_ignored_score_favours_no_node(nodes: Nodes) -> None:
    with Guest.load(wat_text(SCORES_THEN_TRAPS), failure_policy="Ignore").cycle(samples.pod(), nodes) as cycle:
        assert cycle.score().scores.tolist() == [0, 0, 0]


@pytest.mark.parametrize(("policy", "code"), [("Fail", 1), ("Ignore", 0)])
def test_a_guest_that_does_not_start_any_more_is_a_failure_like_any_other(
    policy: FailurePolicy, code: int, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = Guest.load(wat("all_hooks"), failure_policy=policy)

    def refuse() -> None:
        raise GuestLoadError("wasm: _start error: no more")

    monkeypatch.setattr(guest.pool, "acquire", refuse)
    with guest.cycle(samples.pod(), nodes) as cycle:
        for hook in ("prefilter", "addpod", "filter", "score", "normalizescore", "reserve", "permit"):
            status = STATUS_OF[hook](cycle)
            assert status.code == code
            assert ("no more" in status.reason) == (policy == "Fail")


SLOW_WHERE_THE_POD_IS_LONG = """
(module
  (import "k8s.io/scheduler" "currentPod" (func $pod (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "score") (result i64)
    (local $left i32)
    (if (i32.gt_u (call $pod (i32.const 0) (i32.const 0)) (i32.const 1000))
      (then
        (local.set $left (i32.const 1000000))
        (loop $spin
          (local.set $left (i32.sub (local.get $left) (i32.const 1)))
          (br_if $spin (local.get $left)))))
    (i64.const 0)))
"""


def test_a_slow_pod_after_a_quick_one_has_its_time() -> None:
    many = Nodes({"metadata": {"name": f"node-{number}"}} for number in range(1000))
    guest = Guest.load(wat_text(SLOW_WHERE_THE_POD_IS_LONG), limits={"call_timeout": 0.25})
    slow = samples.pod() | {"metadata": {"name": "slow", "annotations": {"filler": "x" * 2000}}}
    for pod in (samples.pod(), slow):
        with guest.cycle(pod, many) as cycle:
            assert cycle.score().codes.any() is np.False_
    assert guest.stats.created == 1


def test_a_log_line_has_its_own_limit_below_that_of_reasons(nodes: Nodes) -> None:
    guest = Guest.load(wat("log"), limits={"log": 1024, "reason": 65536})
    long = """(module
      (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
      (memory (export "memory") 1)
      (func (export "filter") (result i32) (call $log (i32.const 2) (i32.const 0) (i32.const 1025)) (i32.const 0)))"""
    with guest.cycle(samples.pod(), nodes) as cycle:
        assert cycle.filter().codes.tolist() == [0, 0, 0]
    with Guest.load(wat_text(long), limits={"log": 1024, "reason": 65536}).cycle(samples.pod(), nodes) as cycle:
        assert "log: 1025 bytes are over the limit of 1024" in cycle.filter().reason(0)
