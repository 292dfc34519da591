"""What-if questions: drained, lost and added nodes, and scaled workloads, against the input as it is."""

import pytest

from kubewasp.lab.what_if import questions
from kubewasp.lab.what_if.node_selection import selected_nodes
from kubewasp.lab.what_if.scaling import parse_target
from kubewasp.lab.what_if.what_if_errors import WhatIfError
from kubewasp.lab.what_if.what_if_trial import Answer
from tests.lab.what_if.asking import asking, budget, owned, workload
from tests.simulation.simulating import Object, node, pod, priority_class

NODES = (node("a", zone="x"), node("b", zone="y"), node("c", zone="y"))


def kinds(answer: Answer) -> dict[str, int]:
    found: dict[str, int] = {}
    for change in answer.changes:
        found[change.kind] = found.get(change.kind, 0) + 1
    return found


def test_a_drain_moves_pods_with_a_controller_and_says_where_each_goes() -> None:
    trial = asking(*NODES, workload("Deployment", "web", 6))
    on_a = {pod.key for pod in trial.cluster.objects.pods_on("a")}
    found = questions.drain_nodes(trial, ["a"])
    assert {change.pod for change in found.answer.changes} == on_a
    assert {change.kind for change in found.answer.changes} == {"moved"}
    for change in found.answer.changes:
        assert change.node == "a"
        assert trial.cluster.pods[change.successor].node == change.to in ("b", "c")
        assert change.cause == "evicted from a"
    assert trial.cluster.objects.pods_on("a") == []
    assert found.drain.flags == ()


def test_pods_of_daemonsets_and_static_pods_stay_and_bare_pods_are_lost() -> None:
    static = owned("etcd-a", "Node", "a", on="a")
    mirror = pod("proxy", on="a")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "hash"}
    trial = asking(*NODES, workload("DaemonSet", "agent"), static, mirror, pod("bare", on="a"))
    found = questions.drain_nodes(trial, ["a"])
    assert {kept.pod: kept.reason for kept in found.answer.kept} == {
        "default/agent-a": "of DaemonSet agent",
        "default/etcd-a": "static pod of the node",
        "default/proxy": "static pod of the node",
    }
    assert [(change.pod, change.kind) for change in found.answer.changes] == [("default/bare", "lost")]
    assert found.drain.flags == ("--ignore-daemonsets", "--force")


def test_a_drain_names_the_flag_for_local_data() -> None:
    trial = asking(*NODES, workload("Deployment", "web", 3, volumes=[{"name": "tmp", "emptyDir": {}}]))
    assert questions.drain_nodes(trial, ["a"]).drain.flags == ("--delete-emptydir-data",)


def test_evictions_wait_for_replacements_if_a_budget_wants_it() -> None:
    trial = asking(*NODES, workload("Deployment", "web", 6, cpu="500m"), budget("web", maxUnavailable=1))
    on_nodes = len([pod for pod in trial.cluster.pods.values() if pod.node in ("a", "b")])
    found = questions.drain_nodes(trial, ["a", "b"])
    assert found.drain.rounds == on_nodes >= 3
    assert found.answer.blocked == []
    assert kinds(found.answer) == {"moved": on_nodes}


def test_a_pod_without_room_elsewhere_stays_if_its_budget_says_so() -> None:
    trial = asking(
        node("a", cpu="2"), node("b", cpu="1"), workload("Deployment", "web", 3), budget("web", minAvailable=2)
    )
    found = questions.drain_nodes(trial, ["a"])
    assert kinds(found.answer) == {"displaced": 1}
    (blocked,) = found.answer.blocked
    assert blocked.node == "a"
    assert blocked.reason == "PodDisruptionBudget web: 2 of 3 pods healthy, 2 must be"
    (change,) = found.answer.changes
    assert "Insufficient cpu" in change.message
    assert "NodeResourcesFit" in change.plugins


def test_the_status_of_a_budget_in_a_dump_does_not_freeze_it() -> None:
    frozen = budget("web", maxUnavailable=1) | {"status": {"disruptionsAllowed": 0}}
    found = questions.drain_nodes(asking(*NODES, workload("Deployment", "web", 6), frozen), ["a"])
    assert found.answer.blocked == []


def test_a_pod_with_two_budgets_cannot_be_evicted() -> None:
    trial = asking(*NODES, workload("Deployment", "web", 3), budget("web", "one"), budget("web", "two"))
    found = questions.drain_nodes(trial, ["a"])
    assert [kept.reason for kept in found.answer.blocked] == [
        "more than one PodDisruptionBudget: one, two; such a pod cannot be evicted"
    ]


def unready(name: str, node: str) -> Object:
    made = owned(name, "ReplicaSet", "web", on=node)
    return made | {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}


def test_unready_pods_use_up_a_budget() -> None:
    pods = [owned("web-1", "ReplicaSet", "web", "a"), owned("web-2", "ReplicaSet", "web", "b"), unready("web-3", "c")]
    found = questions.drain_nodes(asking(*NODES, *pods, budget("web", minAvailable=2)), ["a"])
    assert [kept.pod for kept in found.answer.blocked] == ["default/web-1"]


def test_an_unready_pod_may_be_evicted_while_enough_others_are_ready() -> None:
    pods = [owned("web-1", "ReplicaSet", "web", "a"), owned("web-2", "ReplicaSet", "web", "b"), unready("web-3", "c")]
    found = questions.drain_nodes(asking(*NODES, *pods, budget("web", minAvailable=2)), ["c"])
    assert kinds(found.answer) == {"moved": 1}


@pytest.mark.parametrize("kind", ["ReplicaSet", "PyTorchJob", "Job", "ReplicationController"])
def test_a_pod_whose_controller_is_not_in_the_input_is_replaced(kind: str) -> None:
    trial = asking(*NODES, owned("web-x", kind, "web", on="a"), owned("web-y", kind, "web", on="b"))
    assert kinds(questions.drain_nodes(trial, ["a"]).answer) == {"moved": 1}
    assert len(trial.cluster.pods) == 2


def test_a_pod_of_a_statefulset_outside_the_input_keeps_its_name_and_claim() -> None:
    first = owned("db-3", "StatefulSet", "db", on="a")
    first["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-3"}}]
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-db-3"},
        "spec": {"storageClassName": "s", "volumeName": "pv", "accessModes": ["ReadWriteOnce"]},
        "status": {"phase": "Bound"},
    }
    trial = asking(*NODES, first, claim)
    questions.drain_nodes(trial, ["a"])
    assert list(trial.cluster.pods) == ["default/db-3"]
    assert trial.cluster.pods["default/db-3"].spec.volumes[0].claim == "data-db-3"


def test_pods_that_were_pending_before_are_not_blamed_on_the_change() -> None:
    trial = asking(*NODES, workload("Deployment", "web", 3), pod("huge", cpu="99"))
    found = questions.drain_nodes(trial, ["a"]).answer
    assert [waiting.pod for waiting in found.waiting] == ["default/huge"]
    assert "default/huge" not in {change.pod for change in found.changes}
    assert found.as_dict()["totals"] == {"pendingBefore": 1, "pendingAfter": 1, "moved": 1, "blocked": 0}


def test_lost_nodes_take_their_pods_with_them_whatever_budgets_say() -> None:
    objects = (workload("Deployment", "web", 6), workload("DaemonSet", "agent", cpu="0"), budget("web", minAvailable=6))
    trial = asking(*NODES, *objects, pod("bare", on="b"))
    found = questions.remove_nodes(trial, ["b", "c"])
    assert kinds(found) == {"moved": 2, "displaced": 2, "lost": 1, "removed": 2}
    assert {change.cause for change in found.changes} == {"b is gone", "c is gone"}
    assert list(trial.cluster.objects.node_manifests) == ["a"]


def test_a_pod_preempted_by_a_moved_one_names_it() -> None:
    trial = asking(
        node("a", cpu="1"),
        node("b", cpu="1"),
        priority_class("high", 9),
        workload("Deployment", "vip", 1, priorityClassName="high"),
        workload("Deployment", "low", 1),
    )
    vip = next(pod for pod in trial.cluster.pods.values() if pod.labels["app"] == "vip")
    found = questions.remove_nodes(trial, [vip.node])
    (low,) = [change for change in found.changes if change.workload == "default/low"]
    assert low.kind == "displaced"
    assert low.cause.startswith("preempted by default/vip-")


def test_copies_of_a_node_take_pending_pods_and_are_fresh() -> None:
    first = node("a", cpu="1", zone="x", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])
    first["spec"] |= {"providerID": "cloud://1", "podCIDR": "10.0.0.0/24", "unschedulable": True}
    first["metadata"]["uid"] = "u"
    trial = asking(first, workload("Deployment", "web", 3), workload("DaemonSet", "agent", cpu="0"))
    found, names = questions.add_like(trial, "a", 2)
    assert names == ["a-copy-1", "a-copy-2"]
    assert kinds(found) == {"placed": 4}
    assert len(found.waiting) == 1
    copy = trial.cluster.objects.node_manifests["a-copy-1"]
    assert copy["metadata"] == {
        "name": "a-copy-1",
        "labels": {"kubernetes.io/hostname": "a-copy-1", "topology.kubernetes.io/zone": "x"},
    }
    assert copy["spec"] == {}


def test_copies_may_have_other_amounts_and_labels() -> None:
    trial = asking(node("a", cpu="1"), pod("huge", cpu="7", nodeSelector={"size": "xl"}))
    found, _ = questions.add_like(trial, "a", 1, resources={"cpu": "8"}, labels={"size": "xl"})
    assert [(change.pod, change.to) for change in found.changes] == [("default/huge", "a-copy-1")]


def test_added_and_removed_again_gives_the_input() -> None:
    trial = asking(*NODES, workload("Deployment", "web", 6), workload("DaemonSet", "agent", cpu="0"))
    before = {pod.key: pod.node for pod in trial.cluster.pods.values()}
    _, names = questions.add_like(trial, "a", 3)
    questions.remove_nodes(trial, names)
    assert {pod.key: pod.node for pod in trial.cluster.pods.values()} == before
    assert list(trial.cluster.objects.node_manifests) == ["a", "b", "c"]


def test_limits_of_volumes_are_copied_with_a_node() -> None:
    csi = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": "a"},
        "spec": {"drivers": [{"name": "d", "nodeID": "1", "allocatable": {"count": 2}}]},
    }
    trial = asking(*NODES, csi)
    questions.add_like(trial, "a", 1)
    assert trial.cluster.objects.store.has("CSINode", "a-copy-1")


def test_several_workloads_are_scaled_at_once_up_and_down() -> None:
    trial = asking(*NODES, workload("Deployment", "web", 4), workload("StatefulSet", "db", 3), workload("Job", "j", 1))
    targets = [parse_target(text) for text in ("deploy/web=2", "statefulset/db=1", "default/job/j=12")]
    found = questions.scale(trial, targets)
    assert kinds(found) == {"removed": 4, "placed": 8, "pending": 3}
    assert {change.pod for change in found.changes if change.workload == "default/db"} == {
        "default/db-1",
        "default/db-2",
    }
    assert "Insufficient cpu" in found.of_kind("pending")[0].message


def test_the_pods_of_a_crowded_node_and_cheap_pods_go_first() -> None:
    pods = [owned(f"web-{n}", "ReplicaSet", "web", on=place) for n, place in enumerate("aab")]
    pods.append(owned("web-3", "ReplicaSet", "web", on="c"))
    pods[3]["metadata"]["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": "-5"}
    found = questions.scale(asking(*NODES, *pods), [parse_target("rs/web=2")])
    assert [change.pod for change in found.changes] == ["default/web-1", "default/web-3"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("web=3", "expected [NAMESPACE/]KIND/NAME=COUNT"),
        ("deploy/web", "expected [NAMESPACE/]KIND/NAME=COUNT"),
        ("deploy/web=-1", "expected [NAMESPACE/]KIND/NAME=COUNT"),
        ("ds/web=1", 'kind "ds" has no number of pods'),
        ("deploy/web=100001", "up to 100,000"),
    ],
)
def test_a_target_that_is_none(text: str, problem: str) -> None:
    with pytest.raises(WhatIfError, match=problem.replace("[", r"\[")):
        parse_target(text)


def test_names_outside_the_input_are_errors_with_a_guess() -> None:
    trial = asking(*NODES, workload("Deployment", "web", 1))
    with pytest.raises(WhatIfError, match='there is no node "copy" in the input'):
        questions.add_like(trial, "copy", 1)
    with pytest.raises(WhatIfError, match=r'there is no Deployment "default/wbe".*did you mean "default/web"'):
        questions.scale(trial, [parse_target("deploy/wbe=1")])


def test_nodes_are_chosen_by_name_zone_and_labels() -> None:
    nodes = {each["metadata"]["name"]: each for each in (*NODES, node("d", zone="y", pool="gpu"))}
    assert selected_nodes(nodes, names=["c", "a"], zone="", labels={}) == ["c", "a"]
    assert selected_nodes(nodes, names=["a"], zone="y", labels={}) == ["a", "b", "c", "d"]
    assert selected_nodes(nodes, names=[], zone="y", labels={"pool": "gpu"}) == ["d"]
    with pytest.raises(WhatIfError, match="no node has zone z; zones of the input: x, y"):
        selected_nodes(nodes, names=[], zone="z", labels={})
