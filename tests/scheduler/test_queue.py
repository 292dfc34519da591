"""Scheduling queue: order, backoff, events, gates, and events during a scheduling attempt."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.observer import NO_OBSERVER
from kubewasp.framework.plugin import Registration
from kubewasp.k8s.pods import Pod
from kubewasp.scheduler.profile_set import ActiveProfiles, ProfileSet, Tuning
from kubewasp.scheduler.queue import FLUSH_AFTER, SchedulingQueue
from kubewasp.scheduler.queued_pod import ClusterChange, QueuedPod
from kubewasp.scheduler.queueing_hints import QueueingHints
from tests.framework.fakes import SUCCESS, Scripted, make_framework, unresolvable
from tests.plugins.building import FakeClock, make_node, make_pod

NODE_ADDED = ClusterChange("Node", Action.ADD, None, make_node("n"))
WILDCARD = ClusterChange("*", Action.ALL)


class Bench:
    """A queue, its clock, and plugins A and B with their events."""

    def __init__(self, *plugins: Scripted, **settings: Any) -> None:
        self.clock = FakeClock()
        made = plugins or (Scripted("A", events=[Registration("Node", Action.ADD)]), Scripted("B"))
        frameworks = {"default-scheduler": make_framework(*made)}
        hints = QueueingHints(frameworks, NO_OBSERVER)
        profiles = ActiveProfiles(ProfileSet(frameworks, {}, hints, Tuning(**settings)))
        self.queue = SchedulingQueue(profiles, self.clock, NO_OBSERVER)

    def add(self, name: str, priority: int = 0, **more: Any) -> Pod:
        pod = make_pod(name, priority=priority, **more)
        self.queue.add(pod)
        return pod

    def pop(self) -> QueuedPod:
        found = self.queue.pop()
        assert found is not None
        return found

    def pops(self) -> list[str]:
        found = []
        while (queued := self.queue.pop()) is not None:
            found.append(queued.pod.name)
        return found

    def fail(self, *plugins: str) -> QueuedPod:
        """The next pod is tried, and rejected by those plugins; by an error if there are none."""
        queued = self.pop()
        self.queue.give_back(queued, frozenset(plugins))
        return queued

    def place(self, pod: Pod) -> str:
        queued = self.queue.get(pod.uid)
        assert queued is not None
        return queued.place


# ---------------------------------------------------------------------- order


def test_pods_come_by_priority_and_then_by_time() -> None:
    bench = Bench()
    for name, priority in (("a", 0), ("b", 5), ("c", 5), ("d", -3)):
        bench.add(name, priority)
        bench.clock.time += 0.001
    assert bench.pops() == ["b", "c", "a", "d"]


def test_pods_of_the_same_time_come_as_they_were_added() -> None:
    bench = Bench()
    for name in "cab":
        bench.add(name)
    assert bench.pops() == ["c", "a", "b"]


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 2)), max_size=12))
def test_the_order_is_that_of_a_stable_sort(pods: list[tuple[int, int]]) -> None:
    bench = Bench()
    for number, (priority, pause) in enumerate(pods):
        bench.clock.time += pause
        bench.add(str(number), priority)
    expected = sorted(range(len(pods)), key=lambda number: -pods[number][0])
    assert bench.pops() == [str(number) for number in expected]


def test_an_empty_queue_has_no_pod() -> None:
    assert Bench().queue.pop() is None


def test_each_try_is_counted() -> None:
    bench = Bench()
    bench.add("p")
    assert bench.fail("A").attempts == 1
    bench.queue.move(WILDCARD)
    assert bench.pop().attempts == 2


def test_a_deleted_pod_is_not_tried_any_more() -> None:
    bench = Bench()
    gone, stays = bench.add("gone"), bench.add("stays")
    bench.queue.delete(gone.uid)
    assert (bench.pops(), len(bench.queue), bench.queue.get(stays.uid) is not None) == (["stays"], 1, True)


def test_a_pod_that_is_added_again_is_tried_once() -> None:
    bench = Bench()
    bench.add("p")
    bench.add("p", 3)
    assert (bench.pops(), len(bench.queue)) == (["p"], 1)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=40), st.integers(0, 45))
def test_upcoming_are_those_that_are_popped_next(pods: list[tuple[int, bool]], count: int) -> None:
    bench = Bench()
    for number, (priority, is_deleted) in enumerate(pods):
        pod = bench.add(f"p{number}", priority)
        if is_deleted:
            bench.queue.delete(pod.uid)
    bench.queue.pop()
    told = [pod.name for pod in bench.queue.upcoming(count)]
    popped = bench.pops()
    assert told == popped[: len(told)]
    if not any(is_deleted for _, is_deleted in pods):
        assert len(told) == min(count, len(popped))


def test_upcoming_leaves_the_queue_as_it_is() -> None:
    bench = Bench()
    for number in range(5):
        bench.add(f"p{number}")
    assert [pod.name for pod in bench.queue.upcoming(3)] == ["p0", "p1", "p2"]
    assert bench.pops() == ["p0", "p1", "p2", "p3", "p4"]


# ---------------------------------------------------------------------- backoff


@pytest.mark.parametrize("rejected_by", [(), ("A",)])
def test_the_backoff_doubles_up_to_the_most(rejected_by: tuple[str, ...]) -> None:
    bench = Bench()
    bench.add("p")
    waits = []
    for _ in range(7):
        queued = bench.fail(*rejected_by)
        bench.queue.move(WILDCARD)
        waits.append(queued.ready_at - bench.clock.time)
        bench.clock.time += 20
    assert waits == [1, 2, 4, 8, 10, 10, 10]


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (60, 10), (70, 10), (500, 10)]
)
def test_how_long_a_pod_backs_off(failures: int, seconds: int) -> None:
    bench = Bench()
    bench.clock.time = 100.0
    bench.add("p")
    queued = bench.pop()
    queued.errors = failures - 1
    bench.queue.give_back(queued, frozenset())
    assert queued.ready_at == 100 + seconds


@pytest.mark.parametrize(
    ("initial", "most", "expected"), [(3, 10, [3, 6, 10, 10]), (1, 1, [1, 1]), (2, 5, [2, 4, 5]), (10, 10, [10, 10])]
)
def test_the_backoff_is_configured(initial: int, most: int, expected: list[int]) -> None:
    bench = Bench(initial_backoff=initial, max_backoff=most)
    bench.add("p")
    for seconds in expected:
        queued = bench.fail()
        assert queued.ready_at - bench.clock.time == seconds
        bench.clock.time += 100


def test_a_backoff_of_at_most_nothing_is_none() -> None:
    bench = Bench(initial_backoff=1, max_backoff=0)
    pod = bench.add("p")
    bench.fail()
    assert bench.place(pod) == "active"


@pytest.mark.parametrize(
    ("failed_at", "now", "ready"),
    [
        # A pod that failed at 10.2 backs off to 11.2, which is 11; while it is 11 it still does.
        (10.2, 10.9, False),
        (10.2, 11.0, False),
        (10.2, 11.9, False),
        (10.2, 12.0, True),
        (10.9, 11.95, False),
        (10.9, 12.0, True),
        (10.0, 11.99, False),
    ],
)
def test_backoffs_end_with_whole_seconds(failed_at: float, now: float, ready: bool) -> None:
    bench = Bench()
    bench.clock.time = failed_at
    bench.add("p")
    bench.fail()
    bench.clock.time = now
    assert (bench.queue.pop() is not None) is ready


def test_the_time_of_the_next_end_of_a_backoff_is_known() -> None:
    bench = Bench()
    assert bench.queue.next_backoff() is None
    bench.clock.time = 10.2
    bench.add("p")
    bench.fail()
    assert bench.queue.next_backoff() == 12.0
    bench.clock.time = 12.0
    assert bench.pops() == ["p"]
    assert bench.queue.next_backoff() is None


def test_errors_count_apart_from_rejections_and_until_the_next_of_these() -> None:
    bench = Bench()
    bench.add("p")

    def count(*plugins: str) -> tuple[int, int]:
        bench.clock.time += 100
        bench.queue.move(WILDCARD)
        queued = bench.fail(*plugins)
        return queued.unschedulable_count, queued.errors

    assert [count("A"), count("A"), count(), count(), count("A"), count()] == [
        (1, 0),
        (2, 0),
        (2, 1),
        (2, 2),
        (3, 0),
        (3, 1),
    ]


def test_errors_decide_the_backoff_while_there_are_any() -> None:
    bench = Bench()
    bench.add("p")
    for _ in range(3):
        bench.fail("A")
        bench.clock.time += 100
        bench.queue.move(WILDCARD)
    queued = bench.fail()
    assert queued.ready_at - bench.clock.time == 1


def test_a_rejected_pod_need_not_wait_where_nothing_else_is_to_be_done() -> None:
    bench = Bench()
    pod = bench.add("p")
    bench.fail("A")
    bench.queue.move(NODE_ADDED)
    assert bench.place(pod) == "backoff"
    assert bench.pops() == ["p"]


def test_active_pods_come_before_those_that_back_off() -> None:
    bench = Bench()
    bench.add("high", 5)
    bench.fail("A")
    bench.queue.move(NODE_ADDED)
    bench.add("low")
    assert bench.pops() == ["low", "high"]


def test_a_pod_that_failed_by_an_error_waits_for_its_backoff() -> None:
    bench = Bench()
    bench.add("error", 9)
    bench.fail()
    bench.add("rejected")
    bench.fail("A")
    bench.queue.move(NODE_ADDED)
    assert bench.pops() == ["rejected"]
    bench.clock.time += 2
    assert bench.pops() == ["error"]


def test_pods_that_back_off_come_by_the_end_of_their_backoff_and_then_by_priority() -> None:
    bench = Bench()
    for name, priority in (("late", 9), ("low", 0), ("high", 5)):
        bench.add(name, priority)
    tried = {bench.queue.pop().pod.name: None for _ in range(3)}  # type: ignore[union-attr]
    assert list(tried) == ["late", "high", "low"]
    for queued in list(bench.queue):
        queued.unschedulable_count = 3 if queued.pod.name == "late" else 0
        bench.queue.give_back(queued, frozenset({"A"}))
    bench.queue.move(NODE_ADDED)
    assert bench.pops() == ["high", "low", "late"]


def test_a_backoff_that_is_over_when_the_event_comes_does_not_count() -> None:
    bench = Bench()
    pod = bench.add("p")
    bench.fail("A")
    bench.clock.time += 2
    bench.queue.move(NODE_ADDED)
    assert bench.place(pod) == "active"


@pytest.mark.parametrize(("now", "place"), [(10.9, "backoff"), (11.9, "backoff"), (12.0, "active")])
def test_an_event_finds_a_pod_backing_off_until_the_whole_second_is_over(now: float, place: str) -> None:
    bench = Bench()
    bench.clock.time = 10.2
    pod = bench.add("p")
    bench.fail("A")
    bench.clock.time = now
    bench.queue.move(NODE_ADDED)
    assert bench.place(pod) == place


def test_backoffs_that_end_in_the_same_second_end_together() -> None:
    bench = Bench()
    for name, priority, time in (("low", 0, 10.2), ("high", 5, 10.7)):
        bench.clock.time = time
        bench.add(name, priority)
        bench.fail("A")
    bench.queue.move(NODE_ADDED)
    assert bench.pops() == ["high", "low"]


def test_pods_are_ordered_by_when_they_failed_last() -> None:
    bench = Bench()
    bench.add("first")
    bench.clock.time = 1
    bench.add("second")
    bench.clock.time = 2
    bench.fail("A")
    bench.clock.time = 50
    bench.queue.move(NODE_ADDED)
    assert bench.pops() == ["second", "first"]


# ---------------------------------------------------------------------- events


def test_a_rejected_pod_waits_for_an_event() -> None:
    bench = Bench()
    pod = bench.add("p")
    bench.fail("A")
    bench.clock.time += 100
    assert bench.place(pod) == "unschedulable"
    assert bench.pops() == []


@pytest.mark.parametrize(
    ("rejected_by", "change", "helps"),
    [
        ({"A"}, NODE_ADDED, True),
        ({"B"}, NODE_ADDED, False),
        ({"A", "B"}, NODE_ADDED, True),
        ({"A"}, ClusterChange("Node", Action.DELETE), False),
        ({"A"}, ClusterChange("Pod", Action.ADD), False),
        ({"A"}, WILDCARD, True),
        ({"B"}, WILDCARD, True),
        # Who registers for new nodes hears of taints too.
        ({"A"}, ClusterChange("Node", Action.UPDATE_NODE_TAINT), True),
        ({"B"}, ClusterChange("Node", Action.UPDATE_NODE_TAINT), False),
        ({"A"}, ClusterChange("Node", Action.UPDATE_NODE_LABEL), False),
    ],
)
def test_only_the_plugins_that_rejected_a_pod_are_asked(
    rejected_by: set[str], change: ClusterChange, helps: bool
) -> None:
    bench = Bench()
    pod = bench.add("p")
    bench.fail(*rejected_by)
    bench.queue.move(change)
    assert (bench.place(pod) == "backoff") is helps


@pytest.mark.parametrize(
    ("registered", "actions", "change", "helps"),
    [
        ("Pod", Action.DELETE, ("AssignedPod", Action.DELETE), True),
        ("Pod", Action.DELETE, ("UnschedulablePod", Action.DELETE), True),
        ("Pod", Action.DELETE, ("AssignedPod", Action.ADD), False),
        ("Node", Action.UPDATE, ("Node", Action.UPDATE_NODE_LABEL), True),
        ("Node", Action.UPDATE_NODE_LABEL, ("Node", Action.UPDATE), False),
        ("*", Action.ALL, ("Node", Action.ADD), True),
        ("*", Action.ALL, ("CSINode", Action.UPDATE), True),
        ("CSINode", Action.UPDATE, ("CSINode", Action.UPDATE), True),
        ("CSINode", Action.ADD | Action.UPDATE, ("CSINode", Action.DELETE), False),
        ("PersistentVolume", Action.ADD, ("CSINode", Action.ADD), False),
    ],
)
def test_events_match_by_resource_and_action(registered: str, actions: Action, change: Any, helps: bool) -> None:
    bench = Bench(Scripted("A", events=[Registration(registered, actions)]))
    pod = bench.add("p")
    bench.fail("A")
    bench.queue.move(ClusterChange(*change))
    assert (bench.place(pod) == "backoff") is helps


def test_a_plugin_that_registers_for_taints_itself_is_asked_by_its_own_hint() -> None:
    bench = Bench(Scripted("A", events=[Registration("Node", Action.ADD | Action.UPDATE_NODE_TAINT, lambda *_: False)]))
    pod = bench.add("p")
    bench.fail("A")
    bench.queue.move(ClusterChange("Node", Action.UPDATE_NODE_TAINT))
    assert bench.place(pod) == "unschedulable"


def test_a_hint_sees_the_pod_and_the_object_before_and_after() -> None:
    seen: list[Any] = []
    bench = Bench(Scripted("A", events=[Registration("Node", Action.ADD, lambda *told: bool(seen.append(told)))]))
    pod = bench.add("p")
    bench.fail("A")
    bench.queue.move(NODE_ADDED)
    assert seen == [(pod, None, NODE_ADDED.new)]
    assert bench.place(pod) == "unschedulable"


def test_a_hint_by_spec_is_called_once_for_pods_that_share_one() -> None:
    seen: list[str] = []

    def hint(pod: Pod, _old: object, _new: object) -> bool:
        seen.append(pod.name)
        return pod.priority > 0

    bench = Bench(Scripted("A", events=[Registration("Node", Action.ADD, hint, by_spec=True)]))
    first = bench.add("a")
    others = [bench.queue.add(replace(first, name=name, uid=name)).pod for name in "bc"]
    high = bench.add("d", 5)
    for _ in range(4):
        bench.fail("A")
    bench.queue.move(NODE_ADDED)
    assert seen == ["d", "a"]
    assert [bench.place(pod) for pod in (first, *others, high)] == 3 * ["unschedulable"] + ["backoff"]


def test_an_event_may_concern_some_pods_only() -> None:
    bench = Bench()
    low, high = bench.add("low"), bench.add("high", 5)
    bench.fail("A")
    bench.fail("A")
    bench.queue.move(NODE_ADDED, lambda pod: pod.priority <= 3)
    assert (bench.place(low), bench.place(high)) == ("backoff", "unschedulable")


# ---------------------------------------------------------------------- while a pod is being scheduled


def test_an_event_that_came_while_a_pod_was_scheduled_is_not_missed() -> None:
    bench = Bench()
    pod = bench.add("p")
    queued = bench.pop()
    bench.queue.move(NODE_ADDED)
    bench.queue.give_back(queued, frozenset({"A"}))
    assert bench.place(pod) == "backoff"


def test_an_event_from_before_does_not_count() -> None:
    bench = Bench()
    bench.add("earlier")
    earlier = bench.pop()
    bench.queue.move(NODE_ADDED)
    pod = bench.add("p")
    queued = bench.pop()
    bench.queue.give_back(queued, frozenset({"A"}))
    assert bench.place(pod) == "unschedulable"
    bench.queue.give_back(earlier, frozenset({"A"}))
    assert bench.place(earlier.pod) == "backoff"


def test_an_event_that_does_not_concern_the_rejecting_plugins_does_not_count() -> None:
    bench = Bench()
    pod = bench.add("p")
    queued = bench.pop()
    bench.queue.move(NODE_ADDED)
    bench.queue.give_back(queued, frozenset({"B"}))
    assert bench.place(pod) == "unschedulable"


def test_events_are_forgotten_when_no_pod_is_being_scheduled() -> None:
    bench = Bench()
    for name in "ab":
        bench.add(name)
    one, other = bench.pop(), bench.pop()
    bench.queue.move(NODE_ADDED)
    bench.queue.done(one.pod.uid)
    assert len(bench.queue._in_flight._changes) == 1
    bench.queue.delete(other.pod.uid)
    assert len(bench.queue._in_flight._changes) == 0
    bench.queue.move(NODE_ADDED)
    assert len(bench.queue._in_flight._changes) == 0


def test_a_pod_that_fails_after_it_is_done_is_tried_again_whoever_rejected_it() -> None:
    bench = Bench()
    pod = bench.add("p")
    queued = bench.pop()
    bench.queue.done(pod.uid)
    bench.queue.give_back(queued, frozenset({"A"}))
    assert (bench.place(pod), queued.unschedulable_count) == ("backoff", 1)


def test_a_pod_that_was_deleted_while_it_was_scheduled_does_not_come_back() -> None:
    bench = Bench()
    pod = bench.add("p")
    queued = bench.pop()
    bench.queue.delete(pod.uid)
    bench.queue.give_back(queued, frozenset())
    assert (len(bench.queue), bench.pops(), bench.queue._in_flight._starts) == (0, [], {})


# ---------------------------------------------------------------------- gates


def gated_bench(**more: Any) -> tuple[Bench, Scripted]:
    gate = Scripted("Gate", pre_enqueue=unresolvable("closed"), events=[Registration("Node", Action.ADD)], **more)
    return Bench(gate, Scripted("B", events=[Registration("CSINode", Action.ADD)])), gate


def test_a_gated_pod_is_not_tried_and_tells_why() -> None:
    bench, _ = gated_bench()
    pod = bench.add("p")
    queued = bench.queue.get(pod.uid)
    assert queued is not None
    assert (queued.gated_by, queued.gate_reason, queued.place, queued.attempts) == (
        "Gate",
        "closed",
        "unschedulable",
        0,
    )
    assert bench.pops() == []


def test_events_of_the_gating_plugin_and_wildcards_open_a_gate_that_is_open_again() -> None:
    for change in (NODE_ADDED, WILDCARD):
        bench, gate = gated_bench()
        pod = bench.add("p")
        bench.queue.move(change)
        assert bench.place(pod) == "unschedulable"
        gate.answers["pre_enqueue"] = SUCCESS
        bench.queue.move(change)
        assert bench.place(pod) == "active"


def test_events_of_others_do_not_open_a_gate() -> None:
    bench, gate = gated_bench()
    pod = bench.add("p")
    gate.answers["pre_enqueue"] = SUCCESS
    bench.queue.move(ClusterChange("CSINode", Action.ADD))
    assert bench.place(pod) == "unschedulable"


def test_a_hint_of_the_gating_plugin_is_asked() -> None:
    gate = Scripted("Gate", pre_enqueue=unresolvable(), events=[Registration("Node", Action.ADD, lambda *_: False)])
    bench = Bench(gate)
    pod = bench.add("p")
    gate.answers["pre_enqueue"] = SUCCESS
    bench.queue.move(NODE_ADDED)
    assert bench.place(pod) == "unschedulable"


def test_a_pod_may_be_gated_when_it_would_back_off_and_is_asked_only_once_on_the_way() -> None:
    bench, gate = gated_bench()
    gate.answers["pre_enqueue"] = SUCCESS
    pod = bench.add("p")
    bench.fail("B")
    gate.answers["pre_enqueue"] = unresolvable()
    bench.queue.move(ClusterChange("CSINode", Action.ADD))
    assert (bench.place(pod), next(iter(bench.queue)).gated_by) == ("unschedulable", "Gate")
    gate.answers["pre_enqueue"] = SUCCESS
    bench.queue.move(NODE_ADDED)
    assert bench.place(pod) == "backoff"
    gate.log.clear()
    bench.clock.time += 10
    assert bench.pops() == ["p"]
    assert gate.log == []


# ---------------------------------------------------------------------- pods that are stuck


def test_after_five_minutes_a_pod_is_tried_without_an_event() -> None:
    bench = Bench()
    pod = bench.add("p")
    bench.fail("A")
    bench.clock.time = FLUSH_AFTER
    bench.queue.flush_stuck()
    assert bench.place(pod) == "unschedulable"
    assert bench.queue.next_flush() == FLUSH_AFTER + 1
    bench.clock.time = FLUSH_AFTER + 1
    bench.queue.flush_stuck()
    assert bench.pops() == ["p"]
    assert bench.queue.next_flush() is None


def test_pods_are_flushed_one_after_the_other_as_they_were_rejected() -> None:
    bench = Bench()
    pods = []
    for name in "abc":
        pods.append(bench.add(name))
        bench.fail("A")
        bench.clock.time += 10
    for place, pod in enumerate(pods):
        assert bench.queue.next_flush() == 10 * place + FLUSH_AFTER + 1
        bench.clock.time = 10 * place + FLUSH_AFTER + 1
        bench.queue.flush_stuck()
        waiting = [bench.place(one) == "unschedulable" for one in pods]
        assert waiting == [False] * (place + 1) + [True] * (2 - place)
        assert bench.place(pod) == "active"
    assert bench.queue.next_flush() is None


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=20))
def test_errors_are_known_by_their_number(steps: list[tuple[int, bool]]) -> None:
    bench = Bench()
    errors = dict.fromkeys(range(4), 0)
    pods = {number: bench.add(f"p{number}") for number in errors}
    for number, is_error in steps:
        queued = bench.queue.get(pods[number].uid)
        assert queued is not None
        bench.queue.give_back(queued, frozenset(() if is_error else ("A",)))
        errors[number] = errors[number] + 1 if is_error else 0
        for below in range(1, 5):
            assert bench.queue.has_errors(below) == any(0 < count < below for count in errors.values())
    for pod in pods.values():
        bench.queue.delete(pod.uid)
    assert not bench.queue.has_errors(100)


def test_gated_pods_are_asked_again_too_and_wait_five_minutes_more() -> None:
    bench, gate = gated_bench()
    pod = bench.add("p")
    gate.log.clear()
    bench.clock.time = FLUSH_AFTER + 1
    bench.queue.flush_stuck()
    bench.queue.flush_stuck()
    assert (bench.place(pod), gate.log) == ("unschedulable", [("Gate", "pre_enqueue")])
    gate.answers["pre_enqueue"] = SUCCESS
    bench.clock.time += FLUSH_AFTER + 1
    bench.queue.flush_stuck()
    assert bench.place(pod) == "active"


# ---------------------------------------------------------------------- pods that change while they wait


def test_a_pod_that_changes_in_the_queue_is_replaced() -> None:
    bench = Bench()
    pod = bench.add("p")
    changed = make_pod("p", {"a": "b"})
    bench.queue.update(changed, Action.UPDATE_POD_LABEL, pod)
    assert (bench.pop().pod, bench.pops()) == (changed, [])


def test_a_pod_that_changes_and_is_unknown_is_added() -> None:
    bench = Bench()
    pod = make_pod("p")
    bench.queue.update(pod, Action.UPDATE_POD_LABEL, pod)
    assert bench.pops() == ["p"]


@pytest.mark.parametrize(("hint", "place"), [(True, "backoff"), (False, "unschedulable")])
def test_a_rejected_pod_that_changes_is_tried_if_a_hint_says_so(hint: bool, place: str) -> None:
    bench = Bench(Scripted("A", events=[Registration("Pod", Action.UPDATE_POD_LABEL, lambda *_: hint)]))
    pod = bench.add("p")
    bench.fail("A")
    bench.queue.update(make_pod("p", {"a": "b"}), Action.UPDATE_POD_LABEL, pod)
    assert bench.place(pod) == place


def test_a_change_of_a_pod_that_is_being_scheduled_is_not_missed() -> None:
    bench = Bench(Scripted("A", events=[Registration("Pod", Action.UPDATE_POD_LABEL)]))
    pod = bench.add("p")
    queued = bench.pop()
    bench.queue.update(make_pod("p", {"a": "b"}), Action.UPDATE_POD_LABEL, pod)
    bench.queue.give_back(queued, frozenset({"A"}))
    assert (bench.place(pod), queued.pod.labels) == ("backoff", {"a": "b"})


# ---------------------------------------------------------------------- by force


def test_a_pod_can_be_activated_whatever_it_waits_for() -> None:
    bench = Bench()
    pod = bench.add("p")
    bench.fail("B")
    bench.queue.activate(pod.uid)
    assert bench.place(pod) == "active"
    bench.fail()
    assert bench.place(pod) == "backoff"
    bench.queue.activate(pod.uid)
    bench.queue.activate(pod.uid)
    assert bench.pops() == ["p"]


def test_a_pod_that_is_activated_while_it_is_scheduled_is_tried_again() -> None:
    bench = Bench()
    pod = bench.add("p")
    queued = bench.pop()
    bench.queue.activate(pod.uid)
    bench.queue.give_back(queued, frozenset({"B"}))
    assert bench.place(pod) == "backoff"


def test_a_gate_cannot_be_forced_and_an_unknown_pod_is_no_error() -> None:
    bench, _ = gated_bench()
    pod = bench.add("p")
    bench.queue.activate(pod.uid)
    bench.queue.activate("unknown")
    assert bench.place(pod) == "unschedulable"


# ---------------------------------------------------------------------- pods that get a node


def test_a_pod_that_got_a_node_while_it_waited_is_forgotten_with_all_it_waited_for() -> None:
    bench = Bench()
    pod = bench.add("p")
    bench.fail("A")
    bench.queue.delete(pod.uid)
    bench.queue.move(NODE_ADDED)
    assert (len(bench.queue), bench.queue.next_flush(), bench.pops()) == (0, None, [])
