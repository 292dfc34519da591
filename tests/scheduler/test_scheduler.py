"""Scheduler: from the queue to a bound pod, all failures, and notifications."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from kubewasp.framework.cluster_events import Action, ObjectReference, RecordedEvent
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.decision_record import DecisionRecord
from kubewasp.framework.plugin import PostFilterResult, Registration
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.pods import Pod, placed_on
from kubewasp.plugins.default_binder import DefaultBinder
from kubewasp.plugins.scheduling_gates import SchedulingGates
from tests.framework.fakes import SKIP, WAIT, Scripted, error, make_framework, unresolvable, unschedulable
from tests.plugins.building import make_node, make_pod
from tests.scheduler.building import Cluster, cluster_of

HOOKS = ("reserve", "unreserve", "permit", "pre_bind", "bind", "post_bind")
ANY_POD = Registration("Pod", Action.ALL)


def one_plugin(
    nodes: tuple[str, ...] = ("n0",), environment: Mapping[str, Any] | None = None, **answers: Any
) -> tuple[Cluster, Scripted]:
    """A cluster whose only plugin does as told; pods are bound by the real binder unless the plugin binds."""
    plugin = Scripted(**{"bind": SKIP, **answers})
    return cluster_of(plugin, DefaultBinder, nodes=nodes, environment=environment), plugin


def asked(plugin: Scripted) -> list[str]:
    return [hook for _, hook in plugin.log if hook in HOOKS]


# ---------------------------------------------------------------------- the way to a node


def test_a_pod_is_reserved_permitted_prepared_and_bound() -> None:
    cluster, plugin = one_plugin()
    pod = cluster.pod("p")
    attempt = cluster.one()
    assert (attempt.pod, attempt.node, attempt.message, attempt.feasible) == (pod, "n0", "", 1)
    assert asked(plugin) == ["reserve", "permit", "pre_bind", "bind", "post_bind"]
    assert (cluster.bound, cluster.where(pod), len(cluster.scheduler.queue)) == ([("p", "n0")], "n0", 0)
    assert int(cluster.scheduler.table.pod_count[0]) == 1


def test_a_pod_that_another_plugin_bound_counts_until_the_cluster_tells_of_it() -> None:
    cluster, _ = one_plugin(bind=SUCCESS)
    pod = cluster.pod("p", requests={"cpu": "1"})
    assert cluster.one().node == "n0"
    table = cluster.scheduler.table
    assert (int(table.requested["cpu"][0]), cluster.where(pod)) == (1000, "")
    cluster.put(pod)  # the old state of it, heard once more
    assert cluster.all() == []
    cluster.put(replace(pod, node="n0"))
    assert (int(table.requested["cpu"][0]), int(table.pod_count[0])) == (1000, 1)


def test_a_pod_that_turns_out_to_be_elsewhere_moves() -> None:
    cluster, _ = one_plugin(nodes=("n0", "n1"), bind=SUCCESS)
    pod = cluster.pod("p")
    assert cluster.one().node == "n0"
    cluster.put(replace(pod, node="n1"))
    assert cluster.scheduler.table.pod_count[:2].tolist() == [0, 1]


def test_an_assumed_pod_that_is_deleted_frees_its_node() -> None:
    cluster, _ = one_plugin(bind=SUCCESS)
    pod = cluster.pod("p")
    cluster.one()
    cluster.delete(pod)
    assert int(cluster.scheduler.table.pod_count[0]) == 0


def test_pods_of_other_schedulers_are_left_alone_but_count_where_they_are() -> None:
    cluster, _ = one_plugin()
    cluster.pod("theirs", schedulerName="other")
    cluster.pod("bound", schedulerName="other", node="n0", requests={"cpu": "1"})
    assert cluster.all() == []
    assert int(cluster.scheduler.table.requested["cpu"][0]) == 1000


def test_profiles_have_plugins_of_their_own_and_search_on_from_each_other() -> None:
    one, other = Scripted("One"), Scripted("Other")
    second = make_framework(other, points=("filter", "bind"), name="second")
    cluster = cluster_of(one, points=("filter", "bind"), frameworks=[second], nodes=("n0", "n1", "n2"))
    cluster.pod("a")
    cluster.pod("b", schedulerName="second")
    assert [attempt.node for attempt in cluster.all()] == ["n0", "n1"]
    assert [name for name, hook in (*one.log, *other.log) if hook == "filter"] == ["One", "Other"]


def test_a_pod_that_is_being_deleted_is_not_scheduled() -> None:
    cluster, plugin = one_plugin()
    cluster.pod("p", terminating=True)
    attempt = cluster.one()
    assert (attempt.node, attempt.message) == ("", "skip schedule deleting pod: default/p")
    assert (cluster.all(), asked(plugin)) == ([], [])


def test_a_record_is_made_where_it_is_asked_for() -> None:
    record = DecisionRecord()

    class Recorder:
        def record_for(self, pod: Pod) -> DecisionRecord | None:
            return record if pod.name == "p" else None

    cluster, _ = one_plugin(nodes=("n0", "n1"), environment={"recorder": Recorder()})
    cluster.pod("other")
    cluster.pod("p")
    cluster.all()
    assert len(record.filters) == 1


# ---------------------------------------------------------------------- ways back


@pytest.mark.parametrize(
    ("hook", "calls"),
    [
        ("reserve", ["reserve", "unreserve"]),
        ("permit", ["reserve", "permit", "unreserve"]),
        ("pre_bind", ["reserve", "permit", "pre_bind", "unreserve"]),
        ("bind", ["reserve", "permit", "pre_bind", "bind", "unreserve"]),
    ],
)
@pytest.mark.parametrize("status", [unschedulable("full"), unresolvable("full"), error("full")])
def test_a_pod_that_fails_on_the_way_is_undone_and_comes_back(hook: str, calls: list[str], status: Status) -> None:
    cluster, plugin = one_plugin(**{hook: [status, SKIP if hook == "bind" else SUCCESS]})
    pod = cluster.pod("p", requests={"cpu": "1"})
    attempt = cluster.one()
    words = {"reserve": "Reserve", "permit": "Permit", "pre_bind": "PreBind", "bind": "Bind"}
    if status.is_rejected:
        assert attempt.message == "0/1 nodes are available: 1 full."
    else:
        assert attempt.message == f'running {words[hook]} plugin "Fake": full'
    assert (attempt.node, attempt.is_error) == ("", not status.is_rejected)
    assert asked(plugin) == calls
    assert int(cluster.scheduler.table.requested["cpu"][0]) == 0
    queued = cluster.queued(pod)
    assert queued.rejected_by == ({"Fake"} if status.is_rejected else set())
    assert queued.message == attempt.message
    # A pod that fails while it is bound does not wait for an event, whatever was said.
    waits = status.is_rejected and hook in ("reserve", "permit")
    assert queued.place == ("unschedulable" if waits else "backoff")
    if not waits:
        cluster.pass_time(3)
        assert cluster.one().node == "n0"


def test_what_the_api_says_of_a_bind_is_told() -> None:
    cluster, _ = one_plugin()
    cluster.errors["bind"] = "no such pod"
    cluster.pod("p")
    attempt = cluster.one()
    assert (attempt.message, attempt.is_error) == ('running Bind plugin "DefaultBinder": no such pod', True)


@pytest.mark.parametrize(("hook", "heard"), [("reserve", False), ("permit", False), ("pre_bind", True), ("bind", True)])
def test_others_hear_that_a_pod_left_its_node_where_it_failed_while_it_was_bound(hook: str, heard: bool) -> None:
    cluster, _ = one_plugin(events=[ANY_POD], filter=[{"n0": unschedulable()}, {}], **{hook: error()})
    waiting = cluster.pod("waiting")
    cluster.one()
    cluster.pod("p")
    cluster.one()
    assert (cluster.place(waiting) == "backoff") is heard


def test_others_hear_that_a_pod_left_its_node_where_its_permission_was_refused() -> None:
    cluster, _ = one_plugin(events=[ANY_POD], filter=[{"n0": unschedulable()}, {}], permit=(WAIT, 10.0))
    waiting = cluster.pod("waiting")
    cluster.one()
    pod = cluster.pod("p")
    cluster.one()
    assert cluster.place(waiting) == "unschedulable"
    cluster.reject(pod)
    assert cluster.place(waiting) == "backoff"


def test_a_rejected_pod_does_not_wake_itself_by_leaving_its_node() -> None:
    cluster, _ = one_plugin(events=[ANY_POD], permit=(WAIT, 10.0))
    pod = cluster.pod("p")
    cluster.one()
    cluster.pass_time(10)
    cluster.tick()
    assert cluster.place(pod) == "unschedulable"


def test_a_pod_that_is_deleted_while_it_is_scheduled_is_gone() -> None:
    pod = make_pod("p")

    class Deleting(Scripted):
        def pre_bind(self, *_arguments: Any) -> Status:
            cluster.delete(pod)
            return error()

    cluster = cluster_of(Deleting(), nodes=("n0",))
    cluster.put(pod)
    cluster.one()
    assert (len(cluster.scheduler.queue), int(cluster.scheduler.table.pod_count[0])) == (0, 0)
    assert cluster.all() == []


# ---------------------------------------------------------------------- waiting for permission


def test_a_pod_that_waits_is_bound_when_all_have_allowed_it() -> None:
    log: list[Any] = []
    one, other = Scripted("A", log, permit=(WAIT, 10.0)), Scripted("B", log, permit=(WAIT, 20.0))
    cluster = cluster_of(one, other, nodes=("n0",))
    pod = cluster.pod("p")
    attempt = cluster.one()
    assert (attempt.node, attempt.is_waiting) == ("n0", True)
    scheduler = cluster.scheduler
    assert (scheduler.handle.get_waiting_pod(pod.uid), scheduler.waiting.next_deadline()) == (
        placed_on(pod, "n0").encoded,
        10.0,
    )
    assert cluster.allow(pod, "A")
    assert ("A", "bind") not in log
    assert cluster.allow(pod, "B")
    assert ("A", "bind") in log
    assert (list(scheduler.waiting), scheduler.waiting.next_deadline(), len(scheduler.queue)) == ([], None, 0)
    assert not scheduler.handle.allow_waiting_pod(pod.uid, "A")


def test_a_pod_that_waits_takes_up_its_room() -> None:
    cluster, _ = one_plugin(permit=(WAIT, 10.0))
    cluster.pod("p", requests={"cpu": "1"})
    cluster.one()
    assert int(cluster.scheduler.table.requested["cpu"][0]) == 1000


def test_a_pod_waits_no_longer_than_the_shortest_time() -> None:
    cluster = cluster_of(
        Scripted("A", permit=(WAIT, 30.0)), Scripted("B", permit=(WAIT, 10.0)), Scripted("C"), nodes=("n0",)
    )
    cluster.clock.time = 1234.1
    pod = cluster.pod("p")
    cluster.one()
    cluster.pass_time(9.9)
    assert cluster.tick() == []
    cluster.pass_time(0.2)
    (attempt,) = cluster.tick()
    text = "rejected due to timeout after waiting 10s at plugin B"
    assert attempt.message == f"0/1 nodes are available: 1 {text}."
    assert (cluster.queued(pod).rejected_by, cluster.place(pod)) == ({"B"}, "unschedulable")
    assert int(cluster.scheduler.table.pod_count[0]) == 0


def test_nobody_waits_longer_than_fifteen_minutes() -> None:
    cluster, _ = one_plugin(permit=(WAIT, 86400.0))
    cluster.pod("p")
    cluster.one()
    assert cluster.scheduler.waiting.next_deadline() == 900.0


def test_a_waiting_pod_can_be_rejected() -> None:
    cluster, plugin = one_plugin(permit=(WAIT, 10.0))
    pod = cluster.pod("p")
    cluster.one()
    assert cluster.reject(pod)
    assert not cluster.reject(pod)
    assert asked(plugin) == ["reserve", "permit", "unreserve"]
    queued = cluster.queued(pod)
    assert queued.message == "0/1 nodes are available: 1 removed."
    # Nobody is blamed, so it counts as an error: the pod is tried again after a while.
    assert (queued.rejected_by, queued.errors, queued.place) == (set(), 1, "backoff")


def test_a_waiting_pod_that_is_deleted_is_undone_and_gone() -> None:
    cluster, plugin = one_plugin(permit=(WAIT, 10.0))
    pod = cluster.pod("p")
    cluster.one()
    cluster.delete(pod)
    assert asked(plugin) == ["reserve", "permit", "unreserve"]
    assert (list(cluster.scheduler.waiting), len(cluster.scheduler.queue)) == ([], 0)
    assert int(cluster.scheduler.table.pod_count[0]) == 0


def test_a_waiting_pod_that_is_preempted_is_retried_after_an_error() -> None:
    cluster, _ = one_plugin(permit=(WAIT, 10.0))
    pod = cluster.pod("p")
    cluster.one()
    assert cluster.scheduler.handle.preempt_waiting_pod(pod.uid)
    assert not cluster.scheduler.handle.preempt_waiting_pod(pod.uid)
    queued = cluster.queued(pod)
    assert (queued.message, queued.errors) == ("waiting on permit for pod: preempted", 1)


def test_events_that_come_while_a_pod_waits_are_not_missed() -> None:
    cluster, _ = one_plugin(permit=(WAIT, 10.0), events=[Registration("Node", Action.ADD)])
    pod = cluster.pod("p")
    cluster.one()
    cluster.node("n1")
    cluster.pass_time(10)
    cluster.tick()
    assert cluster.place(pod) == "backoff"


# ---------------------------------------------------------------------- nominations


def nominating(node: str | None, **answers: Any) -> tuple[Cluster, Scripted]:
    """A cluster where no node passes at first, and PostFilter nominates that node."""
    result = PostFilterResult(SUCCESS if node else unschedulable(), node)
    return one_plugin(
        nodes=("n0", "n1"), filter=[dict.fromkeys(("n0", "n1"), unschedulable()), {}], post_filter=result, **answers
    )


def test_a_pod_is_nominated_as_postfilter_says() -> None:
    cluster, _ = nominating("n1", events=[ANY_POD])
    pod = cluster.pod("p")
    attempt = cluster.one()
    assert (attempt.nominated_node, attempt.node) == ("n1", "")
    assert cluster.scheduler.nominator.node_of(pod.uid) == "n1"
    assert cluster.queued(pod).pod.nominated_node == "n1"
    cluster.pod("other", node="n0")
    assert cluster.one().node == "n1"
    assert cluster.scheduler.nominator.node_of(pod.uid) == ""


@pytest.mark.parametrize(("node", "left"), [(None, "n1"), ("", ""), ("n0", "n0")])
def test_postfilter_leaves_clears_or_changes_a_nomination(node: str | None, left: str) -> None:
    cluster, _ = nominating(node)
    pod = cluster.pod("p", status={"nominatedNodeName": "n1"})
    cluster.scheduler.table.remove_node("n1")
    cluster.one()
    assert cluster.scheduler.nominator.node_of(pod.uid) == cluster.queued(pod).pod.nominated_node == left


@pytest.mark.parametrize(
    "answers",
    [
        {"pre_filter": error()},
        {"score": error()},
        {"reserve": error()},
        {"reserve": unschedulable()},
        {"pre_bind": error()},
    ],
)
def test_errors_and_failures_on_the_way_clear_a_nomination(answers: dict[str, Any]) -> None:
    cluster, _ = one_plugin(nodes=("n0", "n1"), **answers)
    pod = cluster.pod("p", status={"nominatedNodeName": "elsewhere"})
    cluster.one()
    assert cluster.scheduler.nominator.node_of(pod.uid) == cluster.queued(pod).pod.nominated_node == ""


def test_a_cluster_without_nodes_clears_a_nomination() -> None:
    cluster, _ = one_plugin(nodes=())
    pod = cluster.pod("p", status={"nominatedNodeName": "n1"})
    attempt = cluster.one()
    assert (attempt.message, attempt.is_error) == ("no nodes available to schedule pods", False)
    assert cluster.scheduler.nominator.node_of(pod.uid) == ""
    assert (cluster.queued(pod).errors, cluster.place(pod)) == (1, "backoff")


def test_a_pod_may_come_nominated_and_its_nomination_may_change_from_outside() -> None:
    cluster, _ = one_plugin(nodes=())
    nominator = cluster.scheduler.nominator
    pod = cluster.pod("p", status={"nominatedNodeName": "n1"})
    assert nominator.node_of(pod.uid) == "n1"
    cluster.pod("p", status={"nominatedNodeName": "n2"})
    assert nominator.node_of(pod.uid) == "n2"
    cluster.pod("p")
    assert nominator.node_of(pod.uid) == ""


def test_a_change_by_someone_who_has_not_heard_of_a_nomination_leaves_it() -> None:
    cluster, _ = nominating("n1")
    pod = cluster.pod("p")
    cluster.one()
    changed = cluster.pod("p", {"a": "b"})
    assert cluster.scheduler.nominator.node_of(pod.uid) == "n1"
    (known,) = cluster.scheduler.nominator.on("n1")
    assert (known.labels, cluster.queued(changed).pod.nominated_node) == ({"a": "b"}, "n1")


@pytest.mark.parametrize("end", ["deleted", "changed", "cleared", "withdrawn"])
def test_the_end_of_a_nomination_may_help_pods_that_are_no_more_important(end: str) -> None:
    nowhere = dict.fromkeys(("n0", "n1"), unschedulable())
    deleted = Registration("Pod", Action.DELETE, lambda _pod, old, _new: bool(old.nominated_node or old.node))
    cluster, plugin = one_plugin(nodes=("n0", "n1"), filter=nowhere, events=[deleted])
    pods = [cluster.pod(f"p{priority}", priority=priority) for priority in (4, 5, 6)]
    cluster.all()
    nominated = cluster.pod("nominated", priority=5, status={"nominatedNodeName": "n1"})
    if end == "deleted":
        cluster.delete(nominated)
    elif end == "changed":
        cluster.pod("nominated", priority=5, status={"nominatedNodeName": "n0"})
    elif end == "withdrawn":
        cluster.scheduler.handle.withdraw_nomination(cluster.scheduler.nominator.on("n1")[0])
        assert cluster.queued(nominated).pod.nominated_node == ""
    else:
        plugin.answers["post_filter"] = PostFilterResult(unschedulable(), "")
        cluster.one()
    assert [cluster.place(pod) for pod in pods] == ["backoff", "backoff", "unschedulable"]


def test_a_pod_that_gets_a_node_elsewhere_is_nominated_no_more() -> None:
    cluster, _ = one_plugin(nodes=("n0", "n1"))
    pod = cluster.pod("p", status={"nominatedNodeName": "n1"})
    cluster.put(replace(pod, node="n0"))
    assert (cluster.scheduler.nominator.node_of(pod.uid), cluster.all()) == ("", [])


# ---------------------------------------------------------------------- what wakes pods


class Listener:
    """A cluster with one rejected pod, and the events for its plugin."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Action]] = []
        resources = ("Pod", "Node", "CSINode", "PersistentVolumeClaim")
        singles = [action for action in Action if action.bit_count() == 1]
        registrations = [
            Registration(resource, action, lambda *_, seen=(resource, action): bool(self.heard.append(seen)))
            for resource in resources
            for action in singles
        ]
        nowhere = {"n0": unschedulable()}
        self.cluster, _ = one_plugin(filter=nowhere, events=registrations)
        self.cluster.pod("p")
        self.cluster.all()
        self.heard.clear()


@pytest.mark.parametrize(
    ("change", "heard"),
    [
        (lambda c: c.node("n1"), [("Node", Action.ADD)]),
        (lambda c: c.node("n0", {"a": "b"}), [("Node", Action.UPDATE_NODE_LABEL)]),
        (lambda c: c.node("n0", taints=["a=:NoSchedule"]), [("Node", Action.UPDATE_NODE_TAINT)]),
        (lambda c: c.node("n0"), []),
        (lambda c: c.scheduler.events.delete_node("n0"), [("Node", Action.DELETE)]),
        (lambda c: c.scheduler.events.delete_node("unknown"), []),
        (lambda c: c.pod("x", node="n0"), [("Pod", Action.ADD)]),
        (lambda c: c.pod("x"), []),
        (lambda c: c.pod("x", node="n0", status={"phase": "Succeeded"}), []),
        (lambda c: c.pod("p", {"a": "b"}), [("Pod", Action.UPDATE_POD_LABEL)]),
        (lambda c: c.pod("p", tolerations=[{}]), [("Pod", Action.UPDATE_POD_TOLERATION)]),
        (lambda c: c.pod("p", priority=0), [("Pod", Action.UPDATE_OTHER)]),
    ],
)
def test_what_happens_in_the_cluster_is_told_as_an_event(change: Any, heard: list[tuple[str, Action]]) -> None:
    listener = Listener()
    change(listener.cluster)
    assert listener.heard == heard


def test_changes_of_pods_on_nodes_are_told() -> None:
    listener = Listener()
    pod = listener.cluster.pod("x", node="n0", requests={"cpu": "1"})
    listener.cluster.pod("x", {"a": "b"}, node="n0", requests={"cpu": "500m"})
    listener.cluster.pod("x", {"a": "b"}, node="n0", requests={"cpu": "500m"})
    listener.cluster.delete(pod)
    assert [action for _, action in listener.heard] == [
        Action.ADD,
        Action.UPDATE_POD_LABEL,
        Action.UPDATE_POD_SCALE_DOWN,
        Action.UPDATE_OTHER,
        Action.DELETE,
    ]


def test_a_pod_that_has_finished_is_as_good_as_deleted() -> None:
    listener = Listener()
    listener.cluster.pod("x", node="n0")
    listener.heard.clear()
    listener.cluster.pod("x", node="n0", status={"phase": "Failed"})
    assert listener.heard == [("Pod", Action.DELETE)]
    assert int(listener.cluster.scheduler.table.pod_count[0]) == 0


def test_objects_of_the_store_are_told() -> None:
    listener = Listener()
    store = listener.cluster.scheduler.store
    manifest = {"kind": "CSINode", "metadata": {"name": "n0"}, "spec": {"drivers": []}}
    store.put(manifest)
    store.delete("CSINode", "", "n0")
    assert listener.heard == [("CSINode", Action.ADD), ("CSINode", Action.DELETE)]


def test_the_same_version_of_a_pending_pod_again_is_no_change() -> None:
    listener = Listener()
    pod = replace(make_pod("p"), resource_version="7")
    listener.cluster.put(pod)
    listener.heard.clear()
    listener.cluster.put(replace(pod))
    assert listener.heard == []


def test_a_pod_that_is_gated_waits_and_goes_on_when_the_gate_is_gone() -> None:
    cluster = cluster_of(SchedulingGates, Scripted(), DefaultBinder, nodes=("n0",))
    pod = cluster.pod("p", schedulingGates=[{"name": "a"}])
    assert cluster.all() == []
    assert cluster.queued(pod).gate_reason == "waiting for scheduling gates: [a]"
    cluster.pod("p")
    assert [attempt.node for attempt in cluster.all()] == ["n0"]


def test_no_room_is_kept_for_a_pod_that_comes_gated_until_it_changes() -> None:
    """As in kube-scheduler, which takes note of a nomination when the pod goes to the queue, or changes."""
    cluster = cluster_of(SchedulingGates, Scripted())
    gated: dict[str, Any] = {"schedulingGates": [{"name": "a"}], "status": {"nominatedNodeName": "n0"}}
    pod = cluster.pod("p", **gated)
    assert cluster.scheduler.nominator.node_of(pod.uid) == ""
    cluster.pod("p", {"changed": "yes"}, **gated)
    assert cluster.scheduler.nominator.node_of(pod.uid) == "n0"


# ---------------------------------------------------------------------- the handle


def test_pods_are_put_on_and_taken_off_in_a_trial_with_the_plugins_told() -> None:
    cluster, plugin = one_plugin()
    scheduler, other, state = cluster.scheduler, make_pod(node="n0"), CycleState()
    assert scheduler.handle.put_on(state, make_pod(), other, 0).is_success
    assert int(scheduler.table.pod_count[0]) == 1
    assert scheduler.handle.take_off(state, make_pod(), other, 0).is_success
    assert int(scheduler.table.pod_count[0]) == 0
    assert [hook for _, hook in plugin.log] == ["add_pod", "remove_pod"]


def test_one_node_can_be_checked() -> None:
    cluster, _ = one_plugin(nodes=("n0", "n1"), filter={"n0": unschedulable("no")})
    pod = make_pod()
    assert cluster.scheduler.handle.check(CycleState(), pod, 0) == unschedulable("no").of("Fake")
    assert cluster.scheduler.handle.check(CycleState(), pod, 1) == SUCCESS
    broken, _ = one_plugin(filter={"n0": error()})
    assert broken.scheduler.handle.check(CycleState(), pod, 0).code == Code.ERROR


def test_events_that_plugins_record_are_handed_on() -> None:
    recorded: list[RecordedEvent] = []
    cluster, _ = one_plugin(environment={"record_event": recorded.append})
    event = RecordedEvent(ObjectReference(), ObjectReference(), "Normal", "Because", "Doing", "note")
    cluster.scheduler.handle.record_event(event)
    assert recorded == [event]


def test_a_nodes_encoded_form_is_what_guests_get() -> None:
    cluster, _ = one_plugin()
    assert cluster.scheduler.table.objects.encoded(0) == make_node("n0").encoded
