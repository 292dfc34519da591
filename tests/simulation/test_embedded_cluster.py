"""Cluster in memory: objects, controllers, and time."""

import pytest

from kubewasp.k8s.errors import ManifestError
from kubewasp.scheduler.attempt import Attempt
from kubewasp.simulation.embedded_cluster import EmbeddedCluster, SimulatedClock
from kubewasp.simulation.loading import fill
from kubewasp.state.object_kinds import PERSISTENT_VOLUME_CLAIM
from tests.simulation.simulating import (
    Object,
    added,
    filled,
    node,
    owned_by,
    pending,
    placed,
    pod,
    priority_class,
    settled,
    spec,
    started,
    workload,
)


def apply(cluster: EmbeddedCluster, *objects: Object) -> None:
    fill(cluster.objects, added(*objects))
    cluster.settle()


# ---------------------------------------------------------------------- pods


def test_a_pod_that_is_applied_again_stays_where_it_is() -> None:
    cluster = settled(node("a"), pod("web"))
    apply(cluster, pod("web", labels={"new": "label"}))
    assert placed(cluster) == {"web": "a"}
    assert cluster.pods["default/web"].labels == {"new": "label"}
    assert len(cluster.objects.bindings) == 1
    assert cluster.scheduler.table.pod_count.sum() == 1


def test_a_bound_pod_cannot_move() -> None:
    cluster = settled(node("a"), node("b"), pod("web", on="a"))
    with pytest.raises(ManifestError, match=r"spec\.nodeName: pod default/web is already bound to a"):
        apply(cluster, pod("web", on="b"))


def test_the_next_pod_of_a_name_is_another_one() -> None:
    cluster = settled(node("a"), workload("StatefulSet", "db", 1))
    before = cluster.pods["default/db-0"]
    cluster.objects.remove_pod(before)
    cluster.settle()
    assert placed(cluster) == {"db-0": "a"}
    assert cluster.pods["default/db-0"].uid != before.uid


def test_a_pod_that_is_reported_finished_makes_room() -> None:
    cluster = settled(node("a"), pod("batch", cpu="4"), pod("web", cpu="4"))
    apply(cluster, {**pod("batch", cpu="4"), "status": {"phase": "Succeeded"}})
    assert placed(cluster) == {"web": "a"}


def test_gated_pods_wait_until_the_gates_are_gone() -> None:
    cluster = settled(node("a"), pod("web", schedulingGates=[{"name": "quota"}]))
    assert pending(cluster) == {"web": "waiting for scheduling gates: [quota]"}
    apply(cluster, pod("web"))
    assert placed(cluster) == {"web": "a"}


def test_pods_of_other_schedulers_are_left_alone() -> None:
    cluster = settled(node("a"), pod("web", schedulerName="other"))
    assert pending(cluster) == {"web": ""}


def test_the_default_class_is_the_least_of_several() -> None:
    classes = [priority_class("one", 5, globalDefault=True), priority_class("two", 3, globalDefault=True)]
    cluster = settled(node("a"), *classes, pod("web"))
    assert cluster.pods["default/web"].priority == 3


# ---------------------------------------------------------------------- preemption

PRIORITIES = [priority_class("low", 1), priority_class("high", 10)]


def test_the_more_important_pod_gets_the_room() -> None:
    low, high = pod("low", cpu="3", priorityClassName="low"), pod("high", cpu="3", priorityClassName="high")
    cluster = filled(node("a"), *PRIORITIES, low)
    cluster.settle()
    apply(cluster, high)
    assert placed(cluster) == {"high": "a"}
    [preemption] = cluster.objects.preemptions
    assert (preemption.pod.name, preemption.by.name, preemption.node) == ("low", "high", "a")
    assert not pending(cluster)


@pytest.mark.parametrize(("kind", "name"), [("ReplicaSet", "low-1"), ("StatefulSet", "low-0"), ("Job", "low-1")])
def test_controllers_replace_what_was_preempted(kind: str, name: str) -> None:
    low = workload(kind, "low", 1, template=spec(cpu="3", priorityClassName="low"))
    cluster = settled(node("a"), *PRIORITIES, low)
    apply(cluster, pod("high", cpu="3", priorityClassName="high"))
    assert placed(cluster) == {"high": "a"}
    assert set(pending(cluster)) == {name}


def test_a_daemon_that_was_preempted_waits_for_its_node() -> None:
    agent = workload("DaemonSet", "agent", template=spec(cpu="3", priorityClassName="low"))
    cluster = settled(node("a"), *PRIORITIES, agent)
    apply(cluster, pod("high", cpu="3", priorityClassName="high"))
    assert (placed(cluster), set(pending(cluster))) == ({"high": "a"}, {"agent-a"})


def test_budgets_decide_who_goes() -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "kept"},
        "spec": {"selector": {"matchLabels": {"app": "kept"}}, "minAvailable": 1},
        "status": {"disruptionsAllowed": 0},
    }
    kept = pod("kept", on="a", cpu="3", labels={"app": "kept"}, priorityClassName="low")
    free = pod("free", on="b", cpu="3", labels={"app": "free"}, priorityClassName="low")
    high = pod("high", cpu="3", priorityClassName="high")
    cluster = settled(node("a"), node("b"), *PRIORITIES, budget, kept, free, high)
    assert placed(cluster) == {"kept": "a", "high": "b"}


# ---------------------------------------------------------------------- volumes


def storage_class(mode: str) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "disk"},
        "provisioner": "disk.example.com",
        "volumeBindingMode": mode,
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["z2"]}]}],
    }


def claim(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": "disk",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


@pytest.mark.parametrize("mode", ["WaitForFirstConsumer", "Immediate"])
def test_claims_are_bound_and_the_pod_goes_where_the_volume_is(mode: str) -> None:
    mounted = pod("web", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
    cluster = settled(node("a", zone="z1"), node("b", zone="z2"), storage_class(mode), claim("data"), mounted)
    assert placed(cluster) == {"web": "b"}
    assert cluster.scheduler.store.get(PERSISTENT_VOLUME_CLAIM, "data", "default").is_bound


def test_a_stateful_set_gets_its_claims() -> None:
    template = {key: value for key, value in claim("data").items() if key in ("metadata", "spec")}
    template_spec = spec()
    database = workload("StatefulSet", "db", 2, template=template_spec, volumeClaimTemplates=[template])
    cluster = settled(node("a", zone="z1"), node("b", zone="z2"), storage_class("WaitForFirstConsumer"), database)
    assert placed(cluster) == {"db-0": "b", "db-1": "b"}
    claims = {item.name for item in cluster.scheduler.store.all(PERSISTENT_VOLUME_CLAIM) if item.is_bound}
    assert claims == {"data-db-0", "data-db-1"}


def test_a_pod_without_its_claim_waits_for_it() -> None:
    mounted = pod("web", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
    cluster = settled(node("b", zone="z2"), storage_class("Immediate"), mounted)
    assert 'persistentvolumeclaim "data" not found' in pending(cluster)["web"]
    apply(cluster, claim("data"))
    assert placed(cluster) == {"web": "b"}


# ---------------------------------------------------------------------- changes of the cluster


def test_a_new_node_takes_what_waits_and_gets_its_daemons() -> None:
    cluster = settled(node("a"), workload("DaemonSet", "agent"), pod("one", cpu="3"), pod("two", cpu="3"))
    assert placed(cluster) == {"agent-a": "a", "one": "a"}
    apply(cluster, node("b"))
    assert placed(cluster) == {"agent-a": "a", "agent-b": "b", "one": "a", "two": "b"}


def test_a_daemon_set_that_comes_later_looks_at_all_nodes() -> None:
    cluster = settled(node("a"), node("b"))
    apply(cluster, workload("DaemonSet", "agent"))
    assert placed(cluster) == {"agent-a": "a", "agent-b": "b"}


def test_a_node_goes_with_its_pods_and_they_are_made_elsewhere() -> None:
    cluster = settled(node("a"), workload("DaemonSet", "agent"), workload("ReplicaSet", "web", 2), pod("alone"))
    apply(cluster, node("b"))
    assert cluster.delete("Node", "", "a")
    cluster.settle()
    assert placed(cluster) == {"agent-b": "b", "web-2": "b", "web-3": "b"}
    assert not cluster.delete("Node", "", "a")


def test_workloads_are_scaled_up_and_down() -> None:
    cluster = settled(node("a"), workload("Deployment", "web", 2))
    before = set(placed(cluster))
    apply(cluster, workload("Deployment", "web", 4))
    assert len(placed(cluster)) == 4
    assert before < set(placed(cluster))
    apply(cluster, workload("Deployment", "web", 1))
    assert set(placed(cluster)) < before
    assert len(placed(cluster)) == 1
    assert cluster.scheduler.table.pod_count.sum() == 1


def test_pods_that_wait_are_the_first_to_go() -> None:
    cluster = settled(node("a", pods="2"), workload("StatefulSet", "db", 3))
    assert len(placed(cluster)) == 2
    apply(cluster, workload("StatefulSet", "db", 2))
    assert (len(placed(cluster)), pending(cluster)) == (2, {})


def test_a_new_template_replaces_the_pods() -> None:
    cluster = settled(node("a"), workload("Deployment", "web", 2, template=spec(cpu="2")))
    before = set(placed(cluster))
    apply(cluster, workload("Deployment", "web", 2, template=spec(cpu="1")))
    assert len(placed(cluster)) == 2
    assert not before & set(placed(cluster))


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "Job", "DaemonSet"])
def test_a_workload_goes_with_its_pods(kind: str) -> None:
    cluster = settled(node("a"), workload(kind, "web", 2), pod("other"))
    assert cluster.delete(kind, "default", "web")
    cluster.settle()
    assert placed(cluster) == {"other": "a"}
    assert not cluster.objects.owners
    assert not cluster.delete(kind, "default", "web")


@pytest.mark.parametrize("body", [priority_class("high", 1), storage_class("Immediate"), claim("data")])
def test_other_objects_can_be_deleted_once(body: Object) -> None:
    cluster = settled(body)
    assert cluster.delete(body["kind"], "default", body["metadata"]["name"])
    assert not cluster.delete(body["kind"], "default", body["metadata"]["name"])


def test_pods_of_unknown_owners_are_not_replaced() -> None:
    cluster = settled(node("a"), owned_by("ReplicaSet", "gone", pod("web", on="a")))
    cluster.objects.remove_pod(cluster.pods["default/web"])
    assert not cluster.pods


# ---------------------------------------------------------------------- time


def test_the_agenda_is_kept_in_order() -> None:
    cluster = filled(node("a"))
    seen: list[tuple[float, str]] = []
    for when, name in ((5.0, "b"), (1.0, "a"), (5.0, "c")):
        cluster.at(when, lambda name=name: seen.append((cluster.clock.now(), name)))  # type: ignore[misc]
    cluster.settle()
    assert seen == [(1.0, "a"), (5.0, "b"), (5.0, "c")]


def test_stuck_pods_are_tried_again_after_five_minutes() -> None:
    times: list[float] = []

    class Times:
        def attempted(self, _attempt: Attempt) -> None:
            times.append(cluster.clock.now())

    cluster = filled(node("a"), pod("web", cpu="8"), listeners=[Times()])
    cluster.at(3600, lambda: None)
    cluster.settle()
    assert times[0] == 0
    assert 300 < times[1] < 310
    assert cluster.clock.now() == 3600


def test_the_wall_clock_goes_on_from_when_the_simulation_began() -> None:
    cluster = started(clock=SimulatedClock(1_000_000.0))
    assert (cluster.clock.now(), cluster.clock.wall()) == (0, 1_000_000)
    cluster.clock.advance_to(60)
    assert (cluster.clock.now(), cluster.clock.wall()) == (60, 1_000_060)


def test_years_pass_quickly() -> None:
    tries: list[str] = []

    class Tries:
        def attempted(self, attempt: Attempt) -> None:
            tries.append(attempt.pod.name)

    cluster = filled(node("a"), *(pod(f"web-{number}", cpu="8") for number in range(20)), listeners=[Tries()])
    cluster.at(10 * 365 * 24 * 3600, lambda: None)
    cluster.settle()
    assert len(tries) < 200


def test_binding_refuses_what_is_not_there_or_bound() -> None:
    cluster = settled(node("a"), pod("web"))
    web = cluster.pods["default/web"]
    assert cluster.objects.bind(web, "a").reason == 'pod web is already assigned to node "a"'
    cluster.objects.finish_pod(web)
    assert cluster.objects.bind(web, "a").reason == 'pods "web" not found'
    assert cluster.objects.evict([web], web, "a").reason == 'pods "web" not found'
    assert not cluster.objects.preemptions
