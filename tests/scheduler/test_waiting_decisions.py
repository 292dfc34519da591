"""Decisions about waiting pods during another step: applied after that step."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.plugin import Registration
from kubewasp.framework.status import SUCCESS, Status
from kubewasp.k8s.pods import Pod
from kubewasp.scheduler.attempt import Attempt
from tests.framework.fakes import WAIT, Scripted, error, unschedulable
from tests.plugins.building import make_pod
from tests.scheduler.building import Cluster, cluster_of

HELD = make_pod("held")
HOLD = (WAIT, 10.0)


class Deciding(Scripted):
    """Does something in the middle of hooks, and writes down when they end. Pods that are called "held" wait."""

    def __init__(self, name: str = "Fake", log: list[Any] | None = None, **answers: Any) -> None:
        super().__init__(name, log, **answers)
        self.during: dict[str, Callable[[], object]] = {}

    def _answer(self, hook: str, default: Any) -> Any:
        found = super()._answer(hook, default)
        if hook in self.during:
            self.during.pop(hook)()
            self.log.append((self.name, f"end of {hook}"))
        return found

    def permit(self, state: Any, pod: Pod, node: str) -> tuple[Status, float]:
        status, timeout = super().permit(state, pod, node)
        return HOLD if pod.name.startswith("held") else (status, timeout)

    def bind(self, state: Any, pod: Pod, node: str) -> Status:
        self.log.append(f"{pod.name} is bound")
        return super().bind(state, pod, node)

    def unreserve(self, state: Any, pod: Pod, node: str) -> None:
        self.log.append(f"{pod.name} is undone")
        super().unreserve(state, pod, node)


def holding(*pods: Pod, **answers: Any) -> tuple[Cluster, Deciding]:
    """A cluster in which those pods wait."""
    plugin = Deciding(**answers)
    cluster = cluster_of(plugin, nodes=("n0", "n1"))
    for pod in pods or (HELD,):
        assert cluster.one_of(pod).is_waiting
    plugin.log.clear()
    return cluster, plugin


def decide(cluster: Cluster, pod: Pod, *, allow: bool) -> Callable[[], object]:
    scheduler = cluster.scheduler
    if allow:
        return lambda: scheduler.handle.allow_waiting_pod(pod.uid, "Fake")
    return lambda: scheduler.handle.reject_waiting_pod(pod.uid, "Fake", "not now")


def effects(plugin: Scripted) -> list[Any]:
    """Results of pods, and the ends of hooks with decisions."""
    return [item for item in plugin.log if isinstance(item, str) or item[1].startswith("end of")]


HOOKS = (
    "pre_enqueue",
    "pre_filter",
    "filter",
    "pre_score",
    "score",
    "reserve",
    "permit",
    "pre_bind",
    "bind",
    "post_bind",
)


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("allow", [True, False])
def test_a_decision_takes_effect_when_the_hook_has_returned(hook: str, allow: bool) -> None:
    cluster, plugin = holding()
    plugin.during[hook] = decide(cluster, HELD, allow=allow)
    assert cluster.one_of(make_pod("other")).node in ("n0", "n1")
    found = effects(plugin)
    effect = "held is bound" if allow else "held is undone"
    assert found.count(effect) == 1
    assert found.index(("Fake", f"end of {hook}")) < found.index(effect)
    assert not cluster.scheduler.waiting
    assert [(attempt.pod.name, bool(attempt.node)) for attempt in cluster.settled] == [("held", allow)]


@pytest.mark.parametrize("allow", [True, False])
def test_the_pod_at_hand_is_brought_to_an_end_first(allow: bool) -> None:
    cluster, plugin = holding()
    plugin.during["permit"] = decide(cluster, HELD, allow=allow)
    cluster.one_of(make_pod("other"))
    assert effects(plugin)[1:] == ["other is bound", "held is bound" if allow else "held is undone"]


@pytest.mark.parametrize("allow", [True, False])
def test_a_decision_in_post_filter_and_unreserve(allow: bool) -> None:
    for hook, answers in (
        ("post_filter", {"filter": [{}, {"n0": unschedulable(), "n1": unschedulable()}]}),
        ("unreserve", {"pre_bind": [error(), SUCCESS]}),
    ):
        cluster, plugin = holding(**answers)
        plugin.during[hook] = decide(cluster, HELD, allow=allow)
        assert cluster.one_of(make_pod("other")).message
        found = [item for item in effects(plugin) if item != "other is undone"]
        assert found == [("Fake", f"end of {hook}"), "held is bound" if allow else "held is undone"]


@pytest.mark.parametrize("allow", [True, False])
def test_a_decision_while_an_event_is_heard(allow: bool) -> None:
    def hint(*_change: Any) -> bool:
        decide(cluster, HELD, allow=allow)()
        plugin.log.append(("Fake", "end of hint"))
        return False

    refuses = [{}, {"n0": unschedulable(), "n1": unschedulable()}]
    cluster, plugin = holding(events=[Registration("Node", Action.ADD, hint)], filter=refuses)
    cluster.one_of(make_pod("parked"))
    plugin.log.clear()
    cluster.node("n2")
    assert effects(plugin)[:2] == [("Fake", "end of hint"), "held is bound" if allow else "held is undone"]


def test_an_event_hint_is_told_what_happened() -> None:
    told: list[Any] = []

    def hint(pod: Pod, *event: Any) -> bool:
        told.append((pod.name, *event))
        return False

    refuses = {"n0": unschedulable()}
    plugin = Scripted(events=[Registration("*", Action.ALL, event_hint=hint)], filter=refuses)
    cluster = cluster_of(plugin, nodes=("n0",))
    cluster.one_of(make_pod("parked"))
    node = cluster.node("n1")
    changed = cluster.node("n1", {"a": "b"}, cpu="9")
    assert told == [
        ("parked", "Node", Action.ADD, None, node),
        ("parked", "Node", Action.UPDATE_NODE_ALLOCATABLE, node, changed),
        ("parked", "Node", Action.UPDATE_NODE_LABEL, node, changed),
    ]


def test_a_deleted_pod_may_take_others_with_it() -> None:
    """Its unreserve decides about another one, outside of any attempt."""
    other = make_pod("held too")
    cluster, plugin = holding(HELD, other)
    plugin.during["unreserve"] = decide(cluster, other, allow=False)
    cluster.delete(HELD)
    assert effects(plugin) == ["held is undone", ("Fake", "end of unreserve"), "held too is undone"]
    assert (list(cluster.scheduler.waiting), cluster.place(other)) == ([], "unschedulable")


def test_decisions_may_lead_to_others() -> None:
    pods = [make_pod(f"held-{number}") for number in range(4)]
    cluster, plugin = holding(*pods)
    next_one = {one.name: decide(cluster, following, allow=True) for one, following in pairwise(pods)}

    class Chain:
        def attempted(self, attempt: Attempt) -> None:
            next_one.get(attempt.pod.name, lambda: None)()

    cluster.scheduler.subscribe(Chain())
    assert cluster.allow(pods[0], "Fake")
    assert effects(plugin) == [f"held-{number} is bound" for number in range(4)]
    assert (list(cluster.scheduler.waiting), len(cluster.scheduler.queue)) == ([], 0)


def test_a_pod_that_is_allowed_and_then_deleted_is_not_bound() -> None:
    cluster, plugin = holding()

    def allowed_and_deleted() -> None:
        assert cluster.scheduler.handle.allow_waiting_pod(HELD.uid, "Fake")
        assert cluster.scheduler.handle.get_waiting_pod(HELD.uid) is None
        cluster.delete(HELD)

    plugin.during["pre_filter"] = allowed_and_deleted
    cluster.one_of(make_pod("other"))
    assert effects(plugin) == ["held is undone", ("Fake", "end of pre_filter"), "other is bound"]
    assert cluster.scheduler.table.pod_count.sum() == 1


def test_a_decision_is_made_once() -> None:
    cluster, plugin = holding()
    answers: list[bool] = []

    def twice() -> None:
        answers.append(cluster.scheduler.handle.reject_waiting_pod(HELD.uid, "Fake", "no"))
        answers.append(cluster.scheduler.handle.allow_waiting_pod(HELD.uid, "Fake"))
        answers.append(cluster.scheduler.handle.reject_waiting_pod(HELD.uid))

    plugin.during["permit"] = twice
    cluster.one_of(make_pod("other"))
    assert answers == [True, False, False]
    assert cluster.queued(HELD).message == "0/1 nodes are available: 1 no."
    assert cluster.queued(HELD).rejected_by == {"Fake"}


def test_the_pod_at_hand_does_not_wait_yet() -> None:
    cluster, plugin = holding()
    late = make_pod("held, too")
    answers: list[bool] = []
    plugin.during["permit"] = lambda: answers.append(cluster.scheduler.handle.allow_waiting_pod(late.uid, "Fake"))
    assert cluster.one_of(late).is_waiting
    assert answers == [False]


def test_a_pod_waits_for_every_plugin_that_holds_it_back() -> None:
    first, second = Scripted("A", permit=HOLD), Scripted("B", permit=(WAIT, 20.0))
    cluster = cluster_of(first, second, nodes=("n0",))
    assert cluster.one_of(HELD).is_waiting
    scheduler = cluster.scheduler
    assert cluster.allow(HELD, "somebody else")
    assert cluster.allow(HELD, "A")
    assert cluster.allow(HELD, "A")
    assert list(scheduler.waiting) == [HELD.uid]
    assert scheduler.waiting.next_deadline() == 20.0, "the time of the plugin that still holds it back"
    assert cluster.allow(HELD, "B")
    assert not scheduler.waiting
    assert len(scheduler.queue) == 0


def test_one_plugin_that_rejects_is_enough() -> None:
    cluster = cluster_of(Scripted("A", permit=HOLD), Scripted("B", permit=HOLD), nodes=("n0",))
    cluster.one_of(HELD)
    assert cluster.reject(HELD, "B", "no")
    assert not cluster.scheduler.handle.allow_waiting_pod(HELD.uid, "A")
    assert cluster.queued(HELD).rejected_by == {"B"}
    assert not cluster.scheduler.table.pod_count.any()


def test_time_that_is_up_and_decisions_go_together() -> None:
    """One pod's time is up, and its unreserve rejects another whose time is up as well: each is undone once."""
    other = make_pod("held too")
    cluster, plugin = holding(HELD, other)
    plugin.during["unreserve"] = decide(cluster, other, allow=False)
    cluster.pass_time(11)
    assert [attempt.pod.name for attempt in cluster.tick()] == ["held", "held too"]
    assert [item for item in effects(plugin) if isinstance(item, str)] == ["held is undone", "held too is undone"]
    assert not cluster.scheduler.waiting


def test_an_exception_does_not_leave_the_scheduler_busy() -> None:
    cluster, plugin = holding()

    def fails() -> None:
        cluster.scheduler.handle.allow_waiting_pod(HELD.uid, "Fake")
        raise ZeroDivisionError

    plugin.during["pre_filter"] = fails
    cluster.put(make_pod("other"))
    assert cluster.one().is_error
    assert effects(plugin) == ["held is bound"]
