"""Pods between decision and bind: pending binds, and waiting PreBind plugins."""

from typing import Any

from kubewasp.framework.status import SUCCESS, Code, Status
from tests.framework.fakes import Scripted
from tests.plugins.building import make_pod
from tests.scheduler.building import Cluster, cluster_of

WAIT = Status(Code.WAIT)


def slow(*others: Scripted, **script: Any) -> tuple[Cluster, Scripted]:
    """With a plugin that binds in its own time."""
    binder = Scripted("A", [], **({"bind": WAIT} | script))
    return cluster_of(*others, binder, nodes=("n0",)), binder


def test_a_bind_that_is_under_way_takes_up_its_room_and_lets_others_go_on() -> None:
    cluster, _ = slow()
    cluster.pod("p", requests={"cpu": "1"})
    other = cluster.pod("q")
    attempt = cluster.one()
    assert (attempt.node, attempt.is_binding) == ("n0", True)
    assert int(cluster.scheduler.table.requested["cpu"][0]) == 1000
    assert cluster.one().pod.uid == other.uid


def test_a_bind_that_succeeded_is_told_once() -> None:
    cluster, plugin = slow()
    pod = cluster.pod("p")
    cluster.one()
    assert "post_bind" not in asked(plugin)
    cluster.scheduler.bound(pod.uid, SUCCESS)
    cluster.scheduler.bound(pod.uid, SUCCESS)
    assert [(attempt.node, attempt.is_binding) for attempt in cluster.settled] == [("n0", False)]
    assert (asked(plugin)[-1], len(cluster.scheduler.binding), len(cluster.scheduler.queue)) == ("post_bind", 0, 0)


def test_a_bind_that_failed_is_undone_and_tried_again() -> None:
    cluster, plugin = slow()
    pod = cluster.pod("p")
    cluster.one()
    cluster.scheduler.bound(pod.uid, Status(Code.ERROR, "no such node"))
    (attempt,) = cluster.settled
    assert (attempt.message, attempt.is_error) == ('running Bind plugin "A": no such node', True)
    assert "unreserve" in asked(plugin)
    assert (cluster.place(pod), int(cluster.scheduler.table.pod_count[0])) == ("backoff", 0)


def test_a_pod_that_is_deleted_while_it_is_bound_does_not_come_back() -> None:
    cluster, _ = slow()
    pod = cluster.pod("p")
    cluster.one()
    cluster.delete(pod)
    cluster.scheduler.bound(pod.uid, Status(Code.ERROR, 'pods "p" not found'))
    assert (len(cluster.scheduler.queue), int(cluster.scheduler.table.pod_count[0])) == (0, 0)


def test_a_pod_that_is_seen_on_its_node_before_the_bind_is_told_counts_once() -> None:
    cluster, _ = slow()
    pod = cluster.pod("p")
    cluster.one()
    cluster.put(make_pod("p", node="n0"))
    cluster.scheduler.bound(pod.uid, SUCCESS)
    assert (int(cluster.scheduler.table.pod_count[0]), len(cluster.scheduler.queue)) == (1, 0)


def test_a_pod_that_is_seen_on_its_node_keeps_its_room_although_its_bind_is_said_to_have_failed() -> None:
    cluster, _ = slow()
    pod = cluster.pod("p")
    cluster.one()
    cluster.put(make_pod("p", node="n0"))
    cluster.scheduler.bound(pod.uid, Status(Code.ERROR, "no answer"))
    assert (int(cluster.scheduler.table.pod_count[0]), len(cluster.scheduler.queue)) == (1, 0)


def test_a_plugin_that_waits_before_binding_is_asked_every_second_and_others_once() -> None:
    quick = Scripted("B", [], bind=Status(Code.SKIP))
    cluster, plugin = slow(quick, pre_bind=[WAIT, WAIT, Status()])
    pod = cluster.pod("p")
    assert cluster.one().is_binding
    assert cluster.scheduler.binding.next_retry() == cluster.clock.now() + 1
    cluster.scheduler.tick()
    assert "bind" not in asked(plugin)
    for _ in range(2):
        cluster.pass_time(1)
        cluster.scheduler.tick()
    assert (asked(quick).count("pre_bind"), asked(plugin).count("pre_bind")) == (1, 3)
    assert pod.uid in cluster.scheduler.binding
    assert cluster.scheduler.binding.next_retry() is None


def test_a_plugin_that_gives_up_before_binding_sends_the_pod_back() -> None:
    cluster, _ = slow(pre_bind=[WAIT, Status(Code.ERROR, "too late")])
    pod = cluster.pod("p")
    cluster.one()
    cluster.pass_time(1)
    cluster.scheduler.tick()
    assert cluster.settled[0].message == 'running PreBind plugin "A": too late'
    assert cluster.place(pod) == "backoff"


def test_a_pod_that_changes_on_its_way_is_tried_again_as_it_is_then() -> None:
    cluster, _ = slow()
    pod = cluster.pod("p")
    cluster.one()
    cluster.pod("p", {"changed": "yes"}, terminating=True)
    cluster.scheduler.bound(pod.uid, Status(Code.ERROR, "it is being deleted"))
    found = cluster.queued(pod).pod
    assert (found.labels, found.is_terminating, found.node) == ({"changed": "yes"}, True, "")


def test_a_pod_that_is_deleted_while_a_plugin_waits_before_binding_is_undone_at_once() -> None:
    cluster, plugin = slow(pre_bind=WAIT)
    pod = cluster.pod("p")
    cluster.one()
    cluster.delete(pod)
    assert asked(plugin)[-1] == "unreserve"
    cluster.pass_time(1)
    cluster.scheduler.tick()
    assert asked(plugin).count("pre_bind") == 1
    assert (len(cluster.scheduler.binding), len(cluster.scheduler.queue), cluster.settled) == (0, 0, [])
    assert int(cluster.scheduler.table.pod_count[0]) == 0


def asked(plugin: Scripted) -> list[str]:
    return [hook for _, hook in plugin.log]
