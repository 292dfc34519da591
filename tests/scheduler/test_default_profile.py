"""Default profile: messages, totals and plugin order of kube-scheduler 1.36."""

from typing import Any

import pytest

from kubewasp.framework.decision_record import DecisionRecord
from kubewasp.k8s.pods import Pod
from tests.plugins.building import ZONE, affinity, make_node, make_pod, spread, term
from tests.scheduler.building import Cluster, default_cluster

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
WEB = {"app": "web"}


def message(cluster: Cluster, **pod: Any) -> str:
    cluster.pod("p", **pod)
    return cluster.one().message


def on_nodes(*names: str) -> dict[str, Any]:
    """Affinity of a DaemonSet pod."""
    fields = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]} for name in names]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": fields}}}


# ---------------------------------------------------------------------- messages


def test_nothing_fits_and_there_is_nobody_to_preempt() -> None:
    cluster = default_cluster([make_node("a", taints=["x=:NoSchedule"]), make_node("b"), make_node("c")])
    for name in "bc":
        cluster.pod(f"on-{name}", node=name, requests={"cpu": "3"})
    assert message(cluster, requests={"cpu": "2"}) == (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, "
        "2 No preemption victims found for incoming pod."
    )


def test_no_node_can_ever_take_the_pod() -> None:
    cluster = default_cluster(make_node(name) for name in "abc")
    assert message(cluster, nodeSelector={"disk": "ssd"}) == (
        "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, "
        "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )


def test_preemption_succeeds() -> None:
    cluster = default_cluster([make_node("a")])
    cluster.victims_linger = True
    cluster.pod("low", node="a", requests={"cpu": "4"})
    assert message(cluster, requests={"cpu": "1"}, priority=5) == "0/1 nodes are available: 1 Insufficient cpu."
    assert cluster.evicted == ["low"]


def test_the_pod_may_not_preempt() -> None:
    cluster = default_cluster([make_node("a")])
    cluster.pod("low", node="a", requests={"cpu": "4"})
    assert message(cluster, requests={"cpu": "1"}, priority=5, preemptionPolicy="Never") == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: not eligible due to preemptionPolicy=Never."
    )


def test_prefilter_ends_before_dynamic_resources_has_its_turn() -> None:
    cluster = default_cluster(make_node(name) for name in "abc")
    store = cluster.scheduler.store
    store.put(
        {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "p", "volumeBindingMode": "Immediate"}
    )
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    metadata = {"name": "c", "namespace": "default"}
    store.put({"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": claim, "status": {"phase": "Pending"}})
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    assert message(cluster, volumes=volumes, priority=5) == (
        "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
    )


def test_a_claim_is_missing() -> None:
    cluster = default_cluster([make_node("a")])
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    text = '0/1 nodes are available: persistentvolumeclaim "c" not found. not found'
    assert message(cluster, volumes=volumes) == text


def test_terms_that_name_different_nodes_conflict() -> None:
    cluster = default_cluster([make_node("a"), make_node("b")])
    both = on_nodes("a")
    fields = both["nodeAffinity"][REQUIRED]["nodeSelectorTerms"][0]["matchFields"]
    fields.append({"key": "metadata.name", "operator": "In", "values": ["b"]})
    assert message(cluster, affinity=both) == "0/2 nodes are available: pod affinity terms conflict. not found"


def test_a_pod_of_a_daemon_set() -> None:
    cluster = default_cluster(make_node(name) for name in "abc")
    cluster.pod("full", node="b", requests={"cpu": "4"})
    assert message(cluster, affinity=on_nodes("b"), requests={"cpu": "1"}) == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
        "no new claims to deallocate, preemption: 0/3 nodes are available: "
        "1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
    )


def test_there_are_no_nodes() -> None:
    assert message(default_cluster()) == "no nodes available to schedule pods"


def test_numbers_of_nodes_are_sorted_as_texts() -> None:
    plain = [make_node(f"n{number}", cpu="1") for number in range(10)]
    cordoned = [make_node(f"m{number}", unschedulable=True) for number in range(2)]
    text = message(default_cluster([*cordoned, *plain]), requests={"cpu": "2"}, preemptionPolicy="Never")
    assert text.startswith("0/12 nodes are available: 10 Insufficient cpu, 2 node(s) were unschedulable. ")


def test_a_node_may_be_short_of_several_things() -> None:
    node = make_node("a", cpu="1", memory="1Gi", pods="0")
    text = message(default_cluster([node]), requests={"cpu": "2", "memory": "2Gi"}, preemptionPolicy="Never")
    assert text.startswith("0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Too many pods. ")


@pytest.mark.parametrize(
    ("node", "others", "pod", "reason"),
    [
        ({}, [], {"requests": {"example.com/gpu": "1"}}, "Insufficient example.com/gpu"),
        ({}, [{"containers": [{"name": "c", "ports": [{"hostPort": 80}]}]}], {}, ""),
        (
            {},
            [{"containers": [{"name": "c", "ports": [{"hostPort": 80}]}]}],
            {"containers": [{"name": "c", "ports": [{"hostPort": 80}]}]},
            "node(s) didn't have free ports for the requested pod ports",
        ),
        ({}, [], {"hostNetwork": True, "hostUsers": False}, "node(s) didn't match Pod's required features"),
        (
            {},
            [],
            {"topologySpreadConstraints": [spread(ZONE, match=WEB)]},
            "node(s) didn't match pod topology spread constraints (missing required label)",
        ),
        ({}, [], {"affinity": affinity([term(ZONE, WEB)])}, "node(s) didn't match pod affinity rules"),
        (
            {"labels": {ZONE: "z"}},
            [{"labels": WEB}],
            {"affinity": affinity(anti=[term(ZONE, WEB)])},
            "node(s) didn't match pod anti-affinity rules",
        ),
        (
            {"labels": {ZONE: "z"}},
            [{"affinity": affinity(anti=[term(ZONE, WEB)])}],
            {"labels": WEB},
            "node(s) didn't satisfy existing pods anti-affinity rules",
        ),
    ],
)
def test_each_plugin_has_its_say(node: Any, others: Any, pod: Any, reason: str) -> None:
    cluster = default_cluster([make_node("a", **node)])
    for number, other in enumerate(others):
        cluster.pod(f"other{number}", node="a", **other)
    text = message(cluster, preemptionPolicy="Never", **pod)
    assert text.startswith(f"0/1 nodes are available: 1 {reason}. " if reason else "")
    assert bool(text) is bool(reason)


# ---------------------------------------------------------------------- scores


def recorded(cluster: Cluster, pod: Pod) -> tuple[DecisionRecord, str]:
    record = DecisionRecord()
    cluster.put(pod)
    return record, cluster.scheduler.evaluate(pod, record).node


def test_a_total_with_all_its_parts() -> None:
    cluster = default_cluster([make_node("n1"), make_node("n2")])
    cluster.pod("busy", node="n2", requests={"cpu": "500m", "memory": "8Gi"})
    record, node = recorded(cluster, make_pod("p", requests={"cpu": "1", "memory": "2Gi"}))
    assert node == "n1"
    assert {item.plugin: (item.weight, item.normalized.tolist()) for item in record.scores} == {
        "TaintToleration": (3, [100, 100]),
        "NodeResourcesFit": (1, [81, 49]),
        "DynamicResources": (2, [0, 0]),
        "NodeResourcesBalancedAllocation": (1, [71, 78]),
        "ImageLocality": (1, [0, 0]),
    }
    assert record.totals is not None
    assert record.totals.tolist() == [452, 427]


def test_a_pod_with_preferences_is_scored_by_those_who_look_at_them() -> None:
    cluster = default_cluster([make_node(name, {ZONE: name}) for name in ("a", "b")])
    cluster.pod("web", WEB, node="a")
    preferred = {"weight": 10, "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}}
    together = affinity(preferred=[(10, term(ZONE, WEB))])
    together["nodeAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}
    constraint = spread(ZONE, when="ScheduleAnyway", match=WEB)
    record, _ = recorded(
        cluster, make_pod("p", WEB, affinity=together, topologySpreadConstraints=[constraint], requests={"cpu": "1"})
    )
    found = {item.plugin: item.normalized.tolist() for item in record.scores}
    assert (found["NodeAffinity"], found["PodTopologySpread"], found["InterPodAffinity"]) == (
        [0, 100],
        [0, 100],
        [100, 0],
    )
    assert [item.plugin for item in record.scores] == [
        "TaintToleration",
        "NodeAffinity",
        "NodeResourcesFit",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeResourcesBalancedAllocation",
        "ImageLocality",
    ]


def test_pods_without_requests_are_not_judged_by_balance() -> None:
    record, _ = recorded(default_cluster([make_node("a"), make_node("b")]), make_pod("p"))
    assert "NodeResourcesBalancedAllocation" not in {item.plugin for item in record.scores}


def test_equal_nodes_are_filled_in_turns_and_ties_are_decided_by_the_heap() -> None:
    """The order of visits is a1, b1, a2, b2; of the last two the heap brings up b2."""
    cluster = default_cluster(make_node(name, {ZONE: name[0]}) for name in ("a1", "a2", "b1", "b2"))
    for number in range(8):
        cluster.pod(f"p{number}", requests={"cpu": "1"})
    assert [attempt.node for attempt in cluster.all()] == ["a1", "b1", "b2", "a2"] * 2


def test_a_profile_may_change_the_scoring() -> None:
    args = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
    cluster = default_cluster([make_node("n1"), make_node("n2")], pluginConfig=[args])
    cluster.pod("busy", node="n2", requests={"cpu": "1", "memory": "4Gi"})
    cluster.pod("p", requests={"cpu": "1", "memory": "4Gi"})
    assert cluster.one().node == "n2"


def test_a_profile_may_ask_for_a_sample_of_nodes() -> None:
    nodes = [make_node(f"n{number}") for number in range(200)]
    assert default_cluster(nodes).one_of(make_pod("p")).feasible == 200
    assert default_cluster(nodes, percentageOfNodesToScore=50).one_of(make_pod("p")).feasible == 100


# ---------------------------------------------------------------------- over time


def test_a_pod_that_fits_nowhere_is_scheduled_when_room_is_made() -> None:
    cluster = default_cluster([make_node("a")])
    full = cluster.pod("full", node="a", requests={"cpu": "4"})
    pod = cluster.pod("p", requests={"cpu": "1"})
    cluster.one()
    assert cluster.place(pod) == "unschedulable"
    cluster.pod("other", node="b")
    assert cluster.place(pod) == "unschedulable"
    cluster.delete(full)
    assert [attempt.node for attempt in cluster.all()] == ["a"]


@pytest.mark.parametrize(
    ("before", "after", "pod"),
    [
        ({"taints": ["x=:NoSchedule"]}, {}, {}),
        ({"unschedulable": True}, {}, {}),
        ({"cpu": "1"}, {"cpu": "2"}, {"requests": {"cpu": "2"}}),
        ({}, {"labels": {"disk": "ssd"}}, {"nodeSelector": {"disk": "ssd"}}),
        ({}, {"declaredFeatures": ["UserNamespacesHostNetworkSupport"]}, {"hostNetwork": True, "hostUsers": False}),
    ],
)
def test_a_node_that_changes_for_the_better_gets_the_pod(before: Any, after: Any, pod: Any) -> None:
    cluster = default_cluster([make_node("a", **before)])
    waiting = cluster.pod("p", **pod)
    cluster.all()
    assert cluster.place(waiting) == "unschedulable"
    cluster.node("a", **after)
    assert [attempt.node for attempt in cluster.all()] == ["a"]


def test_the_first_node_of_a_cluster_gets_pods_that_waited_for_any() -> None:
    cluster = default_cluster()
    cluster.pod("p")
    cluster.all()
    cluster.node("a")
    assert cluster.all() == []
    cluster.pass_time(2)
    assert [attempt.node for attempt in cluster.all()] == ["a"]


def test_a_victim_with_a_budget_is_spared_where_another_node_will_do() -> None:
    cluster = default_cluster([make_node("a"), make_node("b")])
    cluster.pod("covered", WEB, node="a", requests={"cpu": "4"})
    cluster.pod("free", node="b", requests={"cpu": "4"}, priority=3)
    cluster.scheduler.store.put(
        {
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "budget", "namespace": "default"},
            "spec": {"selector": {"matchLabels": WEB}},
            "status": {"disruptionsAllowed": 0},
        }
    )
    cluster.pod("p", requests={"cpu": "1"}, priority=5)
    assert cluster.one().nominated_node == "b"
    assert cluster.evicted == ["free"]
