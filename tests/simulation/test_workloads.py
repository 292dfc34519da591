import pytest

from kubewasp.simulation.workloads import Expansion, controller_of, expand, replacement, surplus, wanted
from tests.simulation.simulating import Object, node, owned_by, pod, spec, workload


def names(made: Expansion) -> list[str]:
    return [item["metadata"]["name"] for item in made.pods]


def finished(body: Object, phase: str = "Succeeded") -> Object:
    return {**body, "status": {"phase": phase}}


# ---------------------------------------------------------------------- how many


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController", "StatefulSet", "Job"])
def test_a_workload_becomes_its_pods(kind: str) -> None:
    made = expand([workload(kind, "web", 3)], [], [])
    assert names(made) == ["web-0", "web-1", "web-2"]
    assert made.pods[0]["metadata"]["labels"]["app"] == "web"
    assert controller_of(made.pods[0]) == (kind, "default", "web")


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "Job"])
def test_one_pod_is_the_default_and_none_is_possible(kind: str) -> None:
    assert len(expand([workload(kind, "web")], [], []).pods) == 1
    assert not expand([workload(kind, "web", 0)], [], []).pods


def test_a_deployment_becomes_a_replica_set() -> None:
    made = expand([workload("Deployment", "web", 2)], [], [])
    [owner] = made.owners
    digest = owner["metadata"]["labels"]["pod-template-hash"]
    assert owner["metadata"]["name"] == f"web-{digest}"
    assert owner["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": digest}
    assert controller_of(owner) == ("Deployment", "default", "web")
    assert names(made) == [f"web-{digest}-0", f"web-{digest}-1"]
    assert made.pods[0]["metadata"]["labels"] == {"app": "web", "pod-template-hash": digest}


def test_the_name_of_a_replica_set_depends_on_the_template_only() -> None:
    [first] = expand([workload("Deployment", "web", 2)], [], []).owners
    [second] = expand([workload("Deployment", "web", 5)], [], []).owners
    [other] = expand([workload("Deployment", "web", 2, template=spec(cpu="2"))], [], []).owners
    assert first["metadata"]["name"] == second["metadata"]["name"] != other["metadata"]["name"]


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "Job"])
def test_pods_that_are_there_count(kind: str) -> None:
    there = [owned_by(kind, "web", pod("web-0", on="node-1")), owned_by(kind, "web", pod("web-1"))]
    assert names(expand([workload(kind, "web", 3)], there, [])) == ["web-2"]


def test_pods_with_names_of_their_own_count_too() -> None:
    there = [owned_by("ReplicaSet", "web", pod(name)) for name in ("web-x7k2p", "web-0", "web-9zzzz")]
    assert names(expand([workload("ReplicaSet", "web", 4)], there, [])) == ["web-1"]
    assert not expand([workload("ReplicaSet", "web", 2)], there, []).pods


def test_a_dump_of_a_deployment_is_not_doubled() -> None:
    replica_set = owned_by("Deployment", "web", workload("ReplicaSet", "web-5c9f", 2))
    there = [owned_by("ReplicaSet", "web-5c9f", pod(f"web-5c9f-{tail}")) for tail in ("abcde", "fghij")]
    made = expand([workload("Deployment", "web", 2), replica_set], there, [])
    assert not made.pods
    assert made.owners == [replica_set]


def test_a_name_that_another_pod_has_is_not_given_again() -> None:
    made = expand([workload("ReplicaSet", "web", 2), workload("Job", "web", 1)], [pod("web-0")], [])
    assert names(made) == ["web-1", "web-2", "web-3"]
    elsewhere = pod("web-0", namespace="other")
    assert names(expand([workload("ReplicaSet", "web", 1)], [elsewhere], [])) == ["web-0"]


def test_failed_pods_are_made_again() -> None:
    there = [finished(owned_by("ReplicaSet", "web", pod("web-abcde")), "Failed")]
    assert len(expand([workload("ReplicaSet", "web", 2)], there, []).pods) == 2


# ---------------------------------------------------------------------- jobs


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({"parallelism": 3}, 3),
        ({"parallelism": 3, "completions": 2}, 2),
        ({"completions": 5}, 1),
        ({"parallelism": 2, "suspend": True}, 0),
        ({"parallelism": 0}, 0),
    ],
)
def test_a_job_has_its_parallelism(fields: Object, count: int) -> None:
    assert wanted(workload("Job", "batch", **fields)) == count


def test_what_a_job_has_done_is_not_done_again() -> None:
    job = workload("Job", "batch", 3, completions=4)
    done = [finished(owned_by("Job", "batch", pod(f"batch-{number}"))) for number in (1, 2)]
    assert len(expand([job], done, []).pods) == 2
    assert len(expand([{**job, "status": {"succeeded": 3}}], [], []).pods) == 1


@pytest.mark.parametrize("end", ["Complete", "Failed"])
def test_a_job_that_has_ended_makes_no_pods(end: str) -> None:
    job = {**workload("Job", "batch", 3), "status": {"conditions": [{"type": end, "status": "True"}]}}
    assert not expand([job], [], []).pods


# ---------------------------------------------------------------------- stateful sets


def test_pods_of_a_stateful_set_have_their_number() -> None:
    made = expand([workload("StatefulSet", "db", 2, ordinals={"start": 5})], [], [])
    assert names(made) == ["db-5", "db-6"]
    labels = made.pods[0]["metadata"]["labels"]
    assert labels["statefulset.kubernetes.io/pod-name"] == "db-5"
    assert labels["apps.kubernetes.io/pod-index"] == "5"


def test_a_hole_in_a_stateful_set_is_filled() -> None:
    there = [owned_by("StatefulSet", "db", pod(name)) for name in ("db-0", "db-2")]
    assert names(expand([workload("StatefulSet", "db", 3)], there, [])) == ["db-1"]


def test_a_stateful_set_makes_claims() -> None:
    template = {"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}
    made = expand([workload("StatefulSet", "db", 2, volumeClaimTemplates=[template])], [], [])
    assert [claim["metadata"]["name"] for claim in made.claims] == ["data-db-0", "data-db-1"]
    assert made.claims[0]["spec"] == {"storageClassName": "fast"}
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1"}}
    assert made.pods[1]["spec"]["volumes"] == [volume]


# ---------------------------------------------------------------------- daemon sets

GPU = {"key": "gpu", "effect": "NoSchedule"}
NODES = [node("a", disk="ssd"), node("b"), node("c", taints=[GPU])]


def daemons(**template: object) -> dict[str, str]:
    """The node that each pod is meant for."""
    made = expand([workload("DaemonSet", "agent", template=spec(**template))], [], NODES)
    found = {}
    for item in made.pods:
        required = item["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        [term] = required["nodeSelectorTerms"]
        [field] = term["matchFields"]
        found[item["metadata"]["name"]] = field["values"][0]
    return found


def test_a_daemon_set_has_a_pod_for_every_node_that_it_may_be_on() -> None:
    assert daemons() == {"agent-a": "a", "agent-b": "b"}
    assert daemons(tolerations=[{"key": "gpu", "operator": "Exists"}]) == {
        "agent-a": "a",
        "agent-b": "b",
        "agent-c": "c",
    }
    assert daemons(nodeSelector={"disk": "ssd"}) == {"agent-a": "a"}
    terms = [{"matchExpressions": [{"key": "disk", "operator": "DoesNotExist"}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    assert daemons(affinity={"nodeAffinity": required}) == {"agent-b": "b"}


def test_a_daemon_set_is_on_nodes_that_are_closed_to_others() -> None:
    closed = {**node("a", taints=[{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}])}
    network = node("b", taints=[{"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}])
    plain = expand([workload("DaemonSet", "agent")], [], [closed, network])
    assert names(plain) == ["agent-a"]
    hosted = expand([workload("DaemonSet", "agent", template=spec(hostNetwork=True))], [], [closed, network])
    assert names(hosted) == ["agent-a", "agent-b"]


def test_a_node_that_has_its_daemon_gets_no_other() -> None:
    bound = owned_by("DaemonSet", "agent", pod("agent-x7k2p", on="a"))
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    waiting = owned_by("DaemonSet", "agent", pod("agent-9zzzz", affinity={"nodeAffinity": required}))
    assert not expand([workload("DaemonSet", "agent")], [bound, waiting], NODES).pods


# ---------------------------------------------------------------------- changes


def test_a_deployment_that_is_applied_again_keeps_its_replica_set() -> None:
    [before] = expand([workload("Deployment", "web", 2)], [], []).owners
    made = expand([workload("Deployment", "web", 5)], [], [], [before])
    assert [(item["metadata"]["name"], item["spec"]["replicas"]) for item in made.owners] == [
        (before["metadata"]["name"], 5)
    ]


def test_a_new_template_takes_the_old_pods_away() -> None:
    [before] = expand([workload("Deployment", "web", 2)], [], []).owners
    made = expand([workload("Deployment", "web", 3, template=spec(cpu="2"))], [], [], [before])
    assert [item["spec"]["replicas"] for item in made.owners] == [0, 3]
    assert len(made.pods) == 3


def test_surplus_pods_go() -> None:
    assert surplus(workload("ReplicaSet", "web", 1), ["a", "b", "c"]) == ["b", "c"]
    assert not surplus(workload("DaemonSet", "agent"), ["a", "b", "c"])


def test_a_lost_pod_is_replaced() -> None:
    lost = pod("web-1", on="a")
    again = replacement(workload("StatefulSet", "web", 3), lost, {"web-0", "web-2"}, {})
    assert again is not None
    assert again["metadata"]["name"] == "web-1"
    another = replacement(workload("ReplicaSet", "web", 3), lost, {"web-0", "web-2", "web-3"}, {})
    assert another is not None
    assert another["metadata"]["name"] == "web-4"


def test_a_lost_daemon_comes_back_on_its_node_only() -> None:
    agent = workload("DaemonSet", "agent")
    lost = pod("agent-a", on="a")
    again = replacement(agent, lost, set(), {"a": NODES[0]})
    assert again is not None
    assert again["metadata"]["name"] == "agent-a"
    assert replacement(agent, lost, set(), {}) is None
