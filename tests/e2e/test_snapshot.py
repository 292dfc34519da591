"""`kubewasp snapshot` of a real API server: decisions as in the cluster, rights, pages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from kubewasp.apiserver.api_resources import RESOURCES
from kubewasp.live.cluster_lists import LISTED
from tests.deploy.manifests import snapshot_rules
from tests.e2e import commands
from tests.e2e.commands import Ended
from tests.e2e.kubewasp import SOON, ours
from tests.e2e.test_explain import audited, written
from tests.e2e.test_run_volumes import claim, local_volume, make_available, make_class, using
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster, pod
from tools.testbed.kubewasp import profile
from tools.testbed.nodes import FakeNodes
from tools.testbed.servers import ADMIN, ApiServer, Servers
from tools.testbed.waiting import wait_until

__all__ = ["audited"]

READER: Final = "bob"
MANY: Final = 520  # more than a page
Take = Callable[..., Ended]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cluster.kwsnap"


@pytest.fixture
def take(servers: Servers, cluster: Cluster, file: Path) -> Take:
    """Takes a snapshot into `file`; the summary as JSON."""

    def run(*words: object, user: str = ADMIN, api: ApiServer = servers.api) -> Ended:
        where = ("--kubeconfig", api.kubeconfig(user), "--out", file)
        return commands.run("snapshot", *where, "-o", "json", *words)

    return run


@pytest.fixture
def decided(servers: Servers, cluster: Cluster, tmp_path: Path) -> Callable[..., Object]:
    """The explanation of a pod, in the cluster or in a file."""

    def run(name: str, *paths: Path) -> Object:
        where: tuple[Any, ...] = paths or ("--kubeconfig", servers.api.kubeconfig(ADMIN))
        words = ("-n", cluster.namespace, "--config", written(tmp_path, [profile()]), "-o", "json")
        found = commands.run("explain", name, *where, *words).found
        found["notes"] = [note for note in found["notes"] if "other pending pod" not in note]
        return found

    return run


def test_every_pod_is_decided_as_in_the_cluster(
    cluster: Cluster, fake_nodes: FakeNodes, take: Take, file: Path, decided: Callable[..., Object]
) -> None:
    nodes = fake_nodes.create(4, capacity={"cpu": "8"})
    for number, node in enumerate(nodes):
        cluster.create(ours(f"running-{number}", cpu=str(1 + number), labels={"app": "web"}, nodeName=node))
    worn = {"key": "worn", "value": "yes", "effect": "PreferNoSchedule"}
    cluster.client.patch("Node", nodes[0], {"spec": {"taints": [worn]}})
    high = f"{cluster.namespace}-high"
    cluster.create(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": high}, "value": 9}
    )
    budget = {"minAvailable": 4, "selector": {"matchLabels": {"app": "web"}}}
    cluster.create(
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}, "spec": budget}
    )
    static = make_class(cluster, "static", provisioner="kubernetes.io/no-provisioner")
    make_available(cluster, local_volume(f"{cluster.namespace}-local", static, nodes[2]))
    cluster.create(claim("data", static))
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    cluster.create(ours("plain", cpu="1"))
    cluster.create(ours("spread", cpu="1", labels={"app": "web"}, topologySpreadConstraints=[spread]))
    cluster.create(ours("huge", cpu="100"))
    cluster.create(ours("important", cpu="8", priorityClassName=high))
    cluster.create(using("stored", "data"))
    summary = take().found
    assert summary["warnings"] == []
    assert summary["server"].startswith("v1.")
    assert summary["counts"]["Node"] == 4
    for name in ("plain", "spread", "huge", "important", "stored", "running-1"):
        assert decided(name, file) == decided(name), name
    assert decided("stored", file)["node"] == nodes[2]
    assert len(decided("important", file)["victims"]) == 1


def test_bound_pods_stay_and_pending_ones_are_scheduled(
    cluster: Cluster, fake_nodes: FakeNodes, take: Take, file: Path
) -> None:
    first, second = fake_nodes.create(2, capacity={"cpu": "4"})
    cluster.create(pod("bound", cpu="3", nodeName=first))
    cluster.create(pod("waiting", cpu="2"))
    cluster.create(pod("done", cpu="3", nodeName=second))
    cluster.patch("Pod", "done", {"status": {"phase": "Succeeded"}}, sub="status")
    assert take().found["pods"] == {"bound": 1, "pending": 1}
    found = commands.run("simulate", file, "-o", "json").found
    # Controllers that other tests left behind make pods, too.
    placed = [one for one in found["placements"] if one["pod"].startswith(f"{cluster.namespace}/")]
    assert placed == [{"pod": f"{cluster.namespace}/waiting", "node": second}]
    take("--anonymize", "--salt", "s")
    placed = commands.run("simulate", file, "-o", "json").found["placements"]
    assert placed
    assert all(one["node"].startswith("node-") for one in placed)
    assert second not in str(placed)


def test_lists_of_several_pages_are_complete(cluster: Cluster, fake_nodes: FakeNodes, take: Take) -> None:
    (node,) = fake_nodes.create(1)
    cluster.create_all(pod(f"p-{number}", nodeName=node) for number in range(MANY))
    summary = take().found
    assert (summary["pods"]["bound"], summary["warnings"]) == (MANY, [])


def test_it_only_lists_and_the_role_is_all_it_needs(
    cluster: Cluster, fake_nodes: FakeNodes, audited: ApiServer, take: Take
) -> None:
    fake_nodes.create(1)
    refusal = take(user=READER, api=audited).refusal
    assert 'RBAC must allow the verb "list" on "nodes" of API group ""' in refusal
    cluster.allow(READER, [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]}])
    ended = wait_until(
        lambda: found if (found := take(user=READER, api=audited)).code == 0 else None, SOON, "the rights to be known"
    )
    left_out = {line.split()[2].rstrip(":") for line in ended.err.splitlines()}
    assert left_out == set(LISTED) - {"nodes", "pods"}
    assert ended.err.startswith("warning: without ")
    cluster.allow(READER, snapshot_rules())
    wait_until(lambda: not take(user=READER, api=audited).err, SOON, "all rights to be known")
    asked = {(access.verb, access.group, access.resource) for access in audited.accesses(READER) if access.resource}
    lists = {("list", RESOURCES[name].group, name) for name in LISTED}
    assert lists <= asked
    assert {access for access in asked if access[0] != "list" and access[2] != "/version"} == set()
