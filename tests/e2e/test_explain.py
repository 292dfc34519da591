"""`kubewasp explain` on a real API server: the decisions of `kubewasp run`, without writes."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kubewasp.apiserver.api_resources import RESOURCES
from kubewasp.live.cluster_watch import WATCHED
from tests.e2e import commands
from tests.e2e.commands import Ended
from tests.e2e.kubewasp import SOON, ours, wait_events, wait_node, wait_unschedulable
from tests.guests.build import example
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster, pod
from tools.testbed.kubewasp import NAME, StartKubewasp, profile
from tools.testbed.nodes import FakeNodes
from tools.testbed.servers import ADMIN, ApiServer, Servers
from tools.testbed.waiting import wait_until

READER: Final = "alice"
POINTS: Final = 1000  # the weight of a guest


def written(folder: Path, profiles: Sequence[Mapping[str, Any]]) -> Path:
    content = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": list(profiles),
    }
    path = folder / "explained.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


Explain = Callable[..., Ended]


@pytest.fixture
def explain(servers: Servers, cluster: Cluster, tmp_path: Path) -> Explain:
    """Explains a pod of the test's namespace, as JSON, with the profile of `Kubewasp`."""

    def run(
        name: str,
        *words: str | Path,
        user: str = ADMIN,
        api: ApiServer = servers.api,
        profiles: Sequence[Mapping[str, Any]] = (),
    ) -> Ended:
        config = written(tmp_path, profiles or [profile()])
        where = ("--config", config, "--kubeconfig", api.kubeconfig(user))
        return commands.run("explain", name, "-n", cluster.namespace, *where, "-o", "json", *words)

    return run


def nodes_of(found: Object) -> dict[str, Object]:
    return {item["name"]: item for item in found["nodes"]}


# ---------------------------------------------------------------------- agreement with `kubewasp run`


def test_the_node_it_names_is_the_one_that_run_binds_the_pod_to(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, explain: Explain
) -> None:
    nodes = fake_nodes.create(5, capacity={"cpu": "8", "memory": "16Gi"})
    for number, node in enumerate(nodes):
        cluster.create(pod(f"running-{number}", cpu=str(1 + number), memory=f"{1 + number}Gi", nodeName=node))
    worn = {"key": "worn", "value": "yes", "effect": "PreferNoSchedule"}
    cluster.client.patch("Node", nodes[0], {"spec": {"taints": [worn]}})
    cluster.create(ours("pending", cpu="1", memory="1Gi"))
    found = explain("pending").found
    totals = sorted((item["total"] for item in found["nodes"]), reverse=True)
    assert len(totals) == 5
    assert totals[0] > totals[1]  # one is the best
    start_kubewasp()
    assert wait_node(cluster, "pending") == found["node"] == found["nodes"][0]["name"] == nodes[1]


def test_why_a_pod_fits_nowhere_is_worded_as_in_its_event(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, explain: Explain
) -> None:
    small = fake_nodes.create(2, capacity={"cpu": "2"})
    (tainted,) = fake_nodes.create(1, taints=[{"key": "gpu", "effect": "NoSchedule"}])
    cluster.create(pod("running", cpu="1", nodeName=small[0]))
    cluster.create(ours("pending", cpu="2500m"))
    found = explain("pending").found
    assert (found["node"], found["nominated_node"]) == (None, None)
    nodes = nodes_of(found)
    assert nodes[tainted]["rejected_by"] == "TaintToleration"
    assert nodes[tainted]["hints"] == ["toleration of gpu:NoSchedule"]
    lacking = [["1500m more cpu (allocatable 2)"], ["500m more cpu (allocatable 2)"]]
    assert [nodes[name]["hints"] for name in small] == lacking
    start_kubewasp()
    (event,) = wait_events(cluster, "pending", "FailedScheduling")
    assert found["message"] == event["note"]


def test_it_knows_whom_run_preempts(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, explain: Explain
) -> None:
    nodes = fake_nodes.create(2, capacity={"cpu": "4"})
    names = {level: f"{cluster.namespace}-{level}" for level in ("low", "high")}
    for value, name in enumerate(names.values(), 1):
        cluster.create(
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        )
    slowly = {"cpu": "3", "terminationGracePeriodSeconds": 300}
    cluster.create(ours("plain", nodeName=nodes[0], **slowly))
    cluster.create(ours("better", nodeName=nodes[1], priorityClassName=names["low"], **slowly))
    cluster.create(ours("preemptor", cpu="3", priorityClassName=names["high"]))
    found = explain("preemptor").found
    assert (found["node"], found["nominated_node"]) == (None, nodes[0])
    assert found["victims"] == [f"{cluster.namespace}/plain"]
    victims = {candidate["node"]: candidate["victims"] for candidate in found["candidates"]}
    assert victims == {
        node: [f"{cluster.namespace}/{name}"] for node, name in zip(nodes, ("plain", "better"), strict=True)
    }
    assert "deletionTimestamp" not in cluster.get("Pod", "plain")["metadata"]
    assert "nominatedNodeName" not in cluster.get("Pod", "preemptor")["status"]

    start_kubewasp()
    told = wait_unschedulable(cluster, "preemptor")
    assert told["message"] == found["message"]
    assert cluster.get("Pod", "preemptor")["status"]["nominatedNodeName"] == found["nominated_node"]
    wait_until(
        lambda: "deletionTimestamp" in cluster.get("Pod", "plain")["metadata"], SOON, "the victim", cluster.describe
    )
    cluster.create(ours("thief", cpu="1", nodeSelector={"kubernetes.io/hostname": nodes[0]}))
    wait_unschedulable(cluster, "thief", "Insufficient cpu")
    stolen = nodes_of(explain("thief").found)[nodes[0]]  # there is room, but it is the preemptor's
    assert (stolen["feasible"], stolen["reasons"]) == (False, ["Insufficient cpu"])


def test_a_guest_takes_part_with_its_scores(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, explain: Explain
) -> None:
    fake_nodes.create(3)
    profiles = [profile(guests={"nodenumber": example("nodenumber")})]
    cluster.create(ours("pending-2"))
    found = explain("pending-2", profiles=profiles).found
    scores = {name: item["scores"]["nodenumber"] for name, item in nodes_of(found).items()}
    assert scores == {name: 10 * POINTS if name.endswith("2") else 0 for name in fake_nodes.names}
    start_kubewasp(profiles=profiles)
    assert wait_node(cluster, "pending-2") == found["node"] == fake_nodes.names[1]


# ---------------------------------------------------------------------- pods of all sorts


def test_a_bound_pod_is_explained_as_if_it_were_not(cluster: Cluster, fake_nodes: FakeNodes, explain: Explain) -> None:
    full, small = fake_nodes.create(2, capacity={"cpu": "4"})
    cluster.create(pod("running", cpu="3", nodeName=small))
    cluster.create(ours("bound", cpu="3", nodeName=full))
    found = explain("bound").found
    assert found["node"] == full
    assert found["notes"] == [f"bound to {full}: explained as pending, without its requests there"]
    assert nodes_of(found)[small]["hints"] == ["2 more cpu"]


def test_a_pod_of_another_scheduler_is_explained_with_a_profile(
    cluster: Cluster, fake_nodes: FakeNodes, explain: Explain
) -> None:
    (node,) = fake_nodes.create(1)
    cluster.create(pod("theirs"))
    refusal = explain("theirs").refusal
    assert refusal == (
        f"no profile has the schedulerName default-scheduler of pod {cluster.namespace}/theirs; there are: {NAME}. "
        "Choose one of them with --profile"
    )
    found = explain("theirs", "--profile", NAME).found
    assert (found["node"], found["notes"]) == (
        node,
        [f"schedulerName default-scheduler: explained with profile {NAME}"],
    )


def test_pods_that_wait_for_no_node_are_told_as_such(cluster: Cluster, fake_nodes: FakeNodes, explain: Explain) -> None:
    (node,) = fake_nodes.create(1)
    cluster.create(ours("gated", schedulingGates=[{"name": "example.com/budget"}]))
    cluster.create(ours("done", nodeName=node))
    cluster.patch("Pod", "done", {"status": {"phase": "Succeeded"}}, sub="status")
    place = cluster.namespace
    held = f"pod {place}/gated is gated by SchedulingGates: waiting for scheduling gates: [example.com/budget]"
    assert explain("gated").refusal == held
    assert explain("done").refusal == f"pod {place}/done has finished (Succeeded) and is not scheduled again"
    assert explain("dome").refusal == f"there is no pod dome in namespace {place}; did you mean done?"
    missing = explain("done", "-n", f"{place}-x").refusal
    assert missing == f"there is no namespace {place}-x; did you mean {place}?"
    assert explain("done", "-n", "default").refusal == (
        f"there is no pod done in namespace default, but there is one in {place}"
    )


# ---------------------------------------------------------------------- rights


@pytest.fixture
def audited(servers: Servers, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server with an audit log, on the same data."""
    with ApiServer(tmp_path_factory.mktemp("kube-apiserver"), servers.etcd, audit=True) as api:
        yield api


def test_it_only_reads_and_needs_no_other_right(
    cluster: Cluster, fake_nodes: FakeNodes, audited: ApiServer, explain: Explain
) -> None:
    (node,) = fake_nodes.create(1, capacity={"cpu": "4"})
    name = f"{cluster.namespace}-high"
    cluster.create(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 9}
    )
    cluster.create(ours("victim", cpu="3", nodeName=node))
    cluster.create(ours("preemptor", cpu="3", priorityClassName=name))
    refusal = explain("preemptor", user=READER, api=audited).refusal
    assert 'RBAC must allow the verb "get" on "pods" of API group ""' in refusal
    cluster.allow(READER, [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}])
    wanted = {(RESOURCES[resource].group, resource) for resource in WATCHED if resource != "pods"}

    def refused() -> set[tuple[str, str]]:
        lines = explain("preemptor", user=READER, api=audited).refusal.splitlines()
        return {pair for pair in wanted for line in lines if f'"list" on "{pair[1]}" of API group "{pair[0]}"' in line}

    wait_until(lambda: refused() == wanted, SOON, "the right on pods to be known, and all others to be missing")
    cluster.allow(READER, [{"apiGroups": [group], "resources": [name], "verbs": ["list"]} for group, name in wanted])
    ended = wait_until(
        lambda: found if (found := explain("preemptor", user=READER, api=audited)).code == 0 else None,
        SOON,
        "the rights to be known",
    )
    assert ended.found["victims"] == [f"{cluster.namespace}/victim"]
    asked = {(access.verb, access.group, access.resource) for access in audited.accesses(READER)}
    assert asked == {("get", "", "pods"), ("list", "", "pods"), *(("list", *pair) for pair in wanted)}


# ---------------------------------------------------------------------- decisions that were recorded


def test_a_running_scheduler_shows_what_it_has_decided(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    (node,) = fake_nodes.create(1, capacity={"cpu": "4"})
    scheduler = start_kubewasp(flags=["--decisions=1"])
    cluster.create(ours("fits", cpu="1"))
    cluster.create(ours("too-big", cpu="5"))
    wait_node(cluster, "fits")
    message = wait_unschedulable(cluster, "too-big")["message"]
    where = ("--recorded", f"http://127.0.0.1:{scheduler.port}", "-n", cluster.namespace, "-o", "json")
    decision = commands.run("explain", "fits", *where).found["decisions"][0]
    assert (decision["result"], decision["node"]) == ("binding", node)
    assert decision["nodes"][0]["scores"]["TaintToleration"] == 300
    (failed,) = commands.run("explain", "too-big", *where).found["failed"]
    assert (failed["result"], failed["message"]) == ("unschedulable", message)
    assert failed["nodes"][0]["hints"] == ["2 more cpu (allocatable 4)"]


def test_by_default_failures_are_recorded_and_with_0_nothing_is(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    fake_nodes.create(1, capacity={"cpu": "4"})
    cluster.create(ours("too-big", cpu="5"))
    scheduler = start_kubewasp()
    message = wait_unschedulable(cluster, "too-big")["message"]
    (failed,) = json.loads(scheduler.get(f"/debug/decisions?pod={cluster.namespace}/too-big"))["failed"]
    assert failed["message"] == message
    silent = start_kubewasp(flags=["--decisions=0"], profiles=[profile("silent")])
    refusal = commands.run("explain", "too-big", "--recorded", f"http://127.0.0.1:{silent.port}").refusal
    assert "no decisions are shown there" in refusal
