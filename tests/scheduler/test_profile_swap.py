"""Swap of the profiles between two pods: pods in progress, rejected and gated pods, order, events, plugins that end."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.config.rollout import PodShare
from kubewasp.framework.plugin import Plugin, Registration
from kubewasp.framework.runtime import Framework
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.pods import Owner, Pod
from kubewasp.scheduler.profile_set import Canary, ProfileSet, Tuning
from tests.framework.fakes import WAIT, Scripted, make_framework, unschedulable
from tests.plugins.building import make_pod
from tests.scheduler.building import Cluster, cluster_of

NODE_ADDED = [Registration("Node", Action.ADD)]


def profiles(cluster: Cluster, *frameworks: Framework, **tuning: Any) -> ProfileSet:
    return cluster.scheduler.builder.build(frameworks, Tuning(**tuning))


def swap(cluster: Cluster, *plugins: Scripted, **more: Any) -> ProfileSet:
    """Installs a profile with those plugins."""
    made = profiles(cluster, make_framework(*plugins))
    cluster.scheduler.install(made, **more)
    return made


class Closing(Scripted):
    """Records that it was closed."""

    def close(self) -> None:
        self.log.append((self.name, "close"))


# ---------------------------------------------------------------------- pods in progress


def test_the_next_pod_is_decided_by_the_new_plugins() -> None:
    cluster = cluster_of(Scripted("A", filter={"n1": unschedulable()}), nodes=["n1", "n2"])
    assert cluster.one_of(make_pod("first")).node == "n2"
    swap(cluster, Scripted("A", filter={"n2": unschedulable()}))
    assert cluster.one_of(make_pod("second")).node == "n1"


def test_a_waiting_pod_finishes_with_the_plugins_that_it_began_with() -> None:
    log: list[Any] = []
    old, new = Scripted("A", log, permit=(WAIT, 60.0)), Scripted("B", log)
    cluster = cluster_of(old, nodes=["n1"])
    pod = make_pod("waiting")
    assert cluster.one_of(pod).is_waiting
    swap(cluster, new)
    log.clear()
    assert cluster.allow(pod, "A")
    assert log == [("A", "pre_bind"), ("A", "bind"), ("A", "post_bind")]


def test_a_rejected_waiting_pod_is_unreserved_by_its_own_plugins_and_tried_by_the_new_ones() -> None:
    log: list[Any] = []
    cluster = cluster_of(Scripted("A", log, permit=(WAIT, 60.0)), nodes=["n1"])
    pod = make_pod("waiting")
    cluster.one_of(pod)
    swap(cluster, Scripted("A", log))
    log.clear()
    cluster.reject(pod, "A", "no")
    assert log[0] == ("A", "unreserve")
    assert cluster.place(pod) != "unschedulable"  # it waits for no event of the plugin that is gone
    assert [attempt.node for attempt in cluster.all()] == ["n1"]


def test_a_pod_that_is_being_bound_finishes_with_its_own_plugins() -> None:
    log: list[Any] = []
    cluster = cluster_of(Scripted("A", log, bind=WAIT), nodes=["n1"])
    pod = make_pod("binding")
    assert cluster.one_of(pod).is_binding
    swap(cluster, Scripted("B", log))
    log.clear()
    cluster.scheduler.bound(pod.uid, SUCCESS)
    assert log == [("A", "post_bind")]


def test_a_failed_bind_is_undone_by_its_own_plugins_and_the_pod_is_not_lost() -> None:
    log: list[Any] = []
    cluster = cluster_of(Scripted("A", log, bind=WAIT), nodes=["n1"])
    pod = make_pod("binding")
    cluster.one_of(pod)
    swap(cluster, Scripted("B", log))
    log.clear()
    cluster.scheduler.bound(pod.uid, Status(Code.ERROR, "refused"))
    assert ("A", "unreserve") in log
    assert cluster.place(pod) == "backoff"


def test_a_prebind_that_waits_is_repeated_by_its_own_plugins() -> None:
    log: list[Any] = []
    cluster = cluster_of(Scripted("A", log, pre_bind=[WAIT, SUCCESS]), nodes=["n1"])
    pod = make_pod("preparing")
    cluster.one_of(pod)
    swap(cluster, Scripted("B", log))
    log.clear()
    cluster.pass_time(2.0)
    cluster.tick()
    assert log == [("A", "pre_bind"), ("A", "bind"), ("A", "post_bind")]


# ---------------------------------------------------------------------- rejected and gated pods


def rejected(cluster: Cluster, name: str) -> Pod:
    pod = make_pod(name)
    attempt = cluster.one_of(pod)
    assert not attempt.node
    assert cluster.place(pod) == "unschedulable"
    return pod


def test_a_pod_that_a_changed_plugin_had_rejected_is_tried_again() -> None:
    cluster = cluster_of(Scripted("A", filter={"n1": unschedulable()}, events=NODE_ADDED), nodes=["n1"])
    pod = rejected(cluster, "rejected")
    swap(cluster, Scripted("A", events=NODE_ADDED))
    assert cluster.place(pod) != "unschedulable"
    assert [attempt.node for attempt in cluster.all()] == ["n1"]


def test_a_pod_that_a_removed_plugin_had_rejected_is_tried_again() -> None:
    other = Scripted("B", events=NODE_ADDED)
    cluster = cluster_of(Scripted("A", filter={"n1": unschedulable()}, events=NODE_ADDED), other, nodes=["n1"])
    rejected(cluster, "rejected")
    swap(cluster, other)
    assert [attempt.node for attempt in cluster.all()] == ["n1"]


def test_a_pod_that_an_unchanged_plugin_had_rejected_keeps_waiting_for_its_event() -> None:
    kept = Scripted("A", filter={"n1": unschedulable()}, events=NODE_ADDED)
    cluster = cluster_of(kept, Scripted("B"), points=["filter"], nodes=["n1"])
    pod = rejected(cluster, "rejected")
    made = make_framework(kept, Scripted("B"), points=["filter"])
    cluster.scheduler.install(profiles(cluster, made))
    assert cluster.place(pod) == "unschedulable"


def test_a_new_way_to_help_pods_is_tried_for_all_of_them() -> None:
    kept = Scripted("A", filter={"n1": unschedulable()}, events=NODE_ADDED)
    cluster = cluster_of(kept, points=["filter"], nodes=["n1"])
    pod = rejected(cluster, "rejected")
    helper = Scripted("Helper", events=NODE_ADDED)
    made = Framework(
        "default-scheduler", {"queueSort": [(kept, 0)], "filter": [(kept, 1)], "postFilter": [(helper, 0)]}
    )
    cluster.scheduler.install(profiles(cluster, made))
    assert cluster.place(pod) != "unschedulable"


def test_many_rejected_pods_are_reconsidered_bit_by_bit_and_none_is_forgotten() -> None:
    cluster = cluster_of(Scripted("A", filter={"n1": unschedulable()}, events=NODE_ADDED), nodes=["n1"])
    pods = [rejected(cluster, f"pod-{number}") for number in range(250)]
    swap(cluster, Scripted("A", events=NODE_ADDED))
    waiting = sum(cluster.place(pod) == "unschedulable" for pod in pods)
    assert 0 < waiting < 250
    assert cluster.scheduler.next_tick() == cluster.clock.now()
    while any(cluster.place(pod) == "unschedulable" for pod in pods):
        cluster.tick()
    assert len([attempt for attempt in cluster.all(most=300) if attempt.node]) == 250


@pytest.mark.parametrize("was_gated", [True, False])
def test_the_gates_are_asked_again(was_gated: bool) -> None:
    shut, opened = Scripted("A", pre_enqueue=unschedulable("gate")), Scripted("A")
    before, after = (shut, opened) if was_gated else (opened, shut)
    cluster = cluster_of(before, nodes=["n1"])
    pod = cluster.pod("gated")
    assert bool(cluster.queued(pod).gated_by) is was_gated
    swap(cluster, after)
    assert bool(cluster.queued(pod).gated_by) is not was_gated
    assert [attempt.node for attempt in cluster.all()] == (["n1"] if was_gated else [])


def test_the_queue_is_sorted_by_the_new_plugin() -> None:
    class Reverse(Scripted):
        def sort_key(self, pod: Pod, queued_at: float) -> Any:
            return (pod.priority, "another type of key")

    cluster = cluster_of(Scripted("A"), nodes=["n1"])
    for name, priority in (("low", 1), ("high", 9), ("middle", 5)):
        cluster.pod(name, priority=priority)
    backing_off = make_pod("late", priority=0)
    cluster.scheduler.queue.add(backing_off)
    swap(cluster, Reverse("A"))
    assert [attempt.pod.name for attempt in cluster.all()] == ["late", "low", "middle", "high"]


def test_pods_in_backoff_are_sorted_by_the_new_plugin() -> None:
    class Reverse(Scripted):
        def sort_key(self, pod: Pod, queued_at: float) -> Any:
            return pod.name

    cluster = cluster_of(Scripted("A", filter={"n1": Status(Code.ERROR, "broken")}), nodes=["n1"])
    for name in ("a", "b"):
        cluster.one_of(make_pod(name))
    assert {queued.place for queued in cluster.scheduler.queue} == {"backoff"}
    swap(cluster, Reverse("A"))
    cluster.pass_time(10.0)
    assert [attempt.pod.name for attempt in cluster.all()] == ["a", "b"]


def test_events_and_hints_are_those_of_the_new_plugins() -> None:
    asked: list[str] = []

    def hint(version: str, answer: bool) -> Callable[..., bool]:
        return lambda *_: asked.append(version) or answer

    rejecting = {"filter": {"n1": unschedulable(), "n2": unschedulable()}}
    cluster = cluster_of(Scripted("A", events=[Registration("Node", Action.ADD, hint("old", True))], **rejecting))
    cluster.node("n1")
    swap(cluster, Scripted("A", events=[Registration("Node", Action.ADD, hint("new", False))], **rejecting))
    pod = rejected(cluster, "rejected")
    asked.clear()
    cluster.node("n2")
    assert asked == ["new"]
    assert cluster.place(pod) == "unschedulable"


# ---------------------------------------------------------------------- profiles


def test_pods_of_a_removed_profile_leave_the_queue_and_those_in_progress_finish() -> None:
    waits = Scripted("A", permit=(WAIT, 60.0))
    cluster = cluster_of(waits, frameworks=[make_framework(Scripted("B"), name="other")], nodes=["n1"])
    in_progress = cluster.pod("in-progress")
    cluster.all()
    queued, other = cluster.pod("queued"), cluster.pod("kept", schedulerName="other")
    other_framework = cluster.scheduler.frameworks["other"]
    cluster.scheduler.install(profiles(cluster, other_framework))
    assert cluster.scheduler.queue.get(queued.uid) is None
    assert cluster.scheduler.queue.get(other.uid) is not None
    cluster.reject(in_progress, "A", "no")  # its profile is gone: it cannot come back to the queue
    assert cluster.scheduler.queue.get(in_progress.uid) is None
    assert [attempt.pod.name for attempt in cluster.all()] == ["kept"]


def test_backoffs_are_those_of_the_new_configuration() -> None:
    cluster = cluster_of(Scripted("A", filter={"n1": Status(Code.ERROR, "broken")}), nodes=["n1"])
    made = profiles(cluster, *cluster.scheduler.frameworks.values(), initial_backoff=100.0, max_backoff=100.0)
    cluster.scheduler.install(made)
    cluster.one_of(make_pod("failing"))
    assert cluster.scheduler.queue.next_backoff() == pytest.approx(101.0, abs=1.0)


# ---------------------------------------------------------------------- plugins that end


def test_a_plugin_is_closed_when_its_last_pod_is_through() -> None:
    log: list[Any] = []
    cluster = cluster_of(Closing("A", log, permit=(WAIT, 60.0)), nodes=["n1"])
    pod = make_pod("waiting")
    cluster.one_of(pod)
    swap(cluster, Scripted("B"))
    cluster.tick()
    assert ("A", "close") not in log
    cluster.allow(pod, "A")
    cluster.tick()
    assert log[-1] == ("A", "close")
    assert not cluster.scheduler.retirement


def test_an_unchanged_plugin_is_not_closed() -> None:
    log: list[Any] = []
    kept = Closing("A", log)
    cluster = cluster_of(kept, nodes=["n1"])
    swap(cluster, kept, Scripted("B"))
    cluster.tick()
    assert log == []


def test_arrays_of_a_plugin_that_ended_are_not_kept() -> None:
    cluster = cluster_of(old := Scripted("A"), nodes=["n1"])
    table = cluster.scheduler.table
    for owner in (old, "others"):
        table.cache.get((owner, "key"), lambda rows: np.ones(len(rows), np.int64))
    swap(cluster, Scripted("A"))
    assert [key[0] for key in table.cache._entries] == ["others"]


def test_a_close_that_fails_is_survived() -> None:
    class Failing(Scripted):
        def close(self) -> None:
            raise RuntimeError("cannot")

    cluster = cluster_of(Failing("A"), nodes=["n1"])
    ended: list[Plugin] = []
    cluster.scheduler.retirement.subscribe(ended.extend)
    swap(cluster, Scripted("B"))
    cluster.tick()
    assert [plugin.name for plugin in ended] == ["A"]
    assert cluster.one_of(make_pod("after")).node == "n1"


# ---------------------------------------------------------------------- canary


@dataclass(frozen=True)
class Named:
    """The pods of those names."""

    names: Iterable[str]

    def takes(self, pod: Pod) -> bool:
        return pod.name in set(self.names)


def with_canary(cluster: Cluster, stable: Scripted, candidate: Scripted, *names: str) -> None:
    canary = Canary(profiles(cluster, make_framework(candidate)), Named(names))
    cluster.scheduler.install(profiles(cluster, make_framework(stable)), canary=canary)


class PlainTrial:
    """A trial that only lets the scheduler look for a canary."""

    def choose(self, cycle: Any, pod: Pod, record: Any) -> Any:
        return cycle.choose(pod, record)

    def attempted(self) -> None:
        pass


def test_a_canary_decides_for_its_pods_only() -> None:
    stable, candidate = Scripted("A", filter={"n1": unschedulable()}), Scripted("A", filter={"n2": unschedulable()})
    cluster = cluster_of(stable, nodes=["n1", "n2"])
    canary = Canary(profiles(cluster, make_framework(candidate)), Named(["new"]))
    cluster.scheduler.install(cluster.scheduler.profiles.stable, canary=canary, trial=PlainTrial())
    assert cluster.one_of(make_pod("old")).node == "n2"
    assert cluster.one_of(make_pod("new")).node == "n1"


def test_gates_and_hints_of_a_pod_are_those_of_its_side() -> None:
    shut = Scripted("A", pre_enqueue=unschedulable("gate"), events=NODE_ADDED)
    stable = Scripted("A", events=[])
    cluster = cluster_of(stable, nodes=["n1"])
    with_canary(cluster, stable, shut, "new")
    old, new = cluster.pod("old"), cluster.pod("new")
    assert not cluster.queued(old).gated_by
    assert cluster.queued(new).gated_by == "A"
    shut.answers["pre_enqueue"] = SUCCESS
    cluster.node("n2")  # an event of the canary's plugin, and of no other
    assert not cluster.queued(new).gated_by


def test_the_end_of_a_canary_gives_its_rejected_pods_another_try() -> None:
    stable = Scripted("A", events=NODE_ADDED)
    candidate = Scripted("A", filter={"n1": unschedulable()}, events=NODE_ADDED)
    cluster = cluster_of(stable, nodes=["n1"])
    canary = Canary(profiles(cluster, make_framework(candidate)), Named(["new"]))
    stable_set = cluster.scheduler.profiles.stable
    cluster.scheduler.install(stable_set, canary=canary, trial=PlainTrial())
    pod = make_pod("new")
    assert not cluster.one_of(pod).node
    cluster.scheduler.install(stable_set)
    assert [attempt.node for attempt in cluster.all()] == ["n1"]


def owned(name: str, owner: str) -> Pod:
    return replace(make_pod(name), owner=Owner("apps/v1", "ReplicaSet", owner, owner))


def test_pods_of_one_owner_are_on_one_side() -> None:
    share = PodShare(50.0)
    sides = {owner: {share.takes(owned(f"{owner}-{n}", owner)) for n in range(20)} for owner in map(str, range(200))}
    assert all(len(found) == 1 for found in sides.values())
    taken = sum(found == {True} for found in sides.values())
    assert 60 < taken < 140


def test_a_larger_share_takes_the_pods_of_a_smaller_one_as_well() -> None:
    pods = [make_pod(f"pod-{number}") for number in range(500)]
    smaller, larger = ({pod.uid for pod in pods if PodShare(share).takes(pod)} for share in (5.0, 25.0))
    assert smaller < larger
    assert all(PodShare(100.0).takes(pod) for pod in pods)
