"""Test harness: real servers that store objects, and a real scheduler that binds pods."""

import json
from collections import Counter
from typing import Final

import pytest

from tools.testbed import build
from tools.testbed.client import ApiError, Client, Credentials, Object
from tools.testbed.cluster import Cluster, pod
from tools.testbed.nodes import LEASES, FakeNodes
from tools.testbed.servers import NOBODY, Access, ApiServer, Servers, StartKubeScheduler
from tools.testbed.waiting import wait_until

PRIORITY_CLASS: Final[Object] = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}


def test_the_api_server_is_the_release_that_go_mod_names(servers: Servers) -> None:
    version = json.loads(servers.api.client().request("GET", "/version"))
    assert version["gitVersion"] == build.kubernetes_version()
    assert (version["major"], version["minor"]) == ("1", "36")


def test_kube_scheduler_binds_all_pods(
    cluster: Cluster, fake_nodes: FakeNodes, start_kube_scheduler: StartKubeScheduler
) -> None:
    fake_nodes.create(50, labels=lambda number: {"zone": f"zone-{number % 3}"})
    cluster.create_all(pod(f"pod-{number}", nodeSelector={"zone": "zone-1"}) for number in range(100))
    start_kube_scheduler()
    placements = cluster.wait_bound()
    assert len(placements) == 100
    in_zone = {name for name in fake_nodes.names if int(name.rpartition("-")[2]) % 3 == 1}
    assert set(placements.values()) <= in_zone
    assert max(Counter(placements.values()).values()) <= 10  # spread over 17 nodes


def test_kube_scheduler_says_why_a_pod_has_no_node(
    cluster: Cluster, fake_nodes: FakeNodes, start_kube_scheduler: StartKubeScheduler
) -> None:
    fake_nodes.create(2, capacity={"cpu": "1"})
    cluster.create(pod("too-big", cpu="2"))
    scheduler = start_kube_scheduler()
    wait_until(lambda: "2 Insufficient cpu" in cluster.describe(), 30, "the reason to be told", cluster.describe)
    assert (
        'scheduler_schedule_attempts_total{profile="default-scheduler",result="unschedulable"}' in scheduler.metrics()
    )


@pytest.mark.parametrize("crash", [False, True], ids=["stopped", "killed"])
@pytest.mark.parametrize("name", ["api", "etcd"])
def test_a_restarted_server_has_its_data(servers: Servers, cluster: Cluster, name: str, crash: bool) -> None:
    created = cluster.create(pod("kept"))
    server = servers.api if name == "api" else servers.etcd
    pid = server.pid
    server.restart(crash=crash)
    assert server.pid != pid
    kept = wait_until(lambda: cluster.get("Pod", "kept"), 30, "the pod to be read")
    assert kept["metadata"]["uid"] == created["metadata"]["uid"]
    wait_until(lambda: cluster.create(pod("new")), 30, "a new pod to be made")


def test_a_user_without_rights_gets_403_until_it_has_them(servers: Servers, cluster: Cluster) -> None:
    nobody = servers.api.client(NOBODY)
    with pytest.raises(ApiError, match='User "nobody" cannot list resource "pods"') as refused:
        nobody.request("GET", "/api/v1/pods")
    assert refused.value.status == 403
    cluster.allow(NOBODY, [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}])
    wait_until(lambda: nobody.request("GET", "/api/v1/pods"), 10, "the right to list pods")
    with pytest.raises(ApiError, match='cannot list resource "nodes"'):
        nobody.request("GET", "/api/v1/nodes")


def test_an_unknown_token_gets_401(servers: Servers) -> None:
    stranger = Client(servers.api.port, servers.api.authority.certificate, Credentials("stranger", token="wrong"))
    try:
        with pytest.raises(ApiError) as refused:
            stranger.request("GET", "/api/v1/pods")
        assert refused.value.status == 401
    finally:
        stranger.close()


def test_heartbeats_renew_the_leases_of_nodes(cluster: Cluster) -> None:
    with FakeNodes(cluster.client, prefix=f"{cluster.namespace}-beating", heartbeat_seconds=0.1) as nodes:
        (name,) = nodes.create(1)

        def renewed() -> str:
            lease = cluster.client.get("Lease", name, version=LEASES, namespace="kube-node-lease")
            return str(lease["spec"]["renewTime"])

        first = renewed()
        wait_until(lambda: renewed() > first, 10, "the lease to be renewed")
    assert name not in {found["metadata"]["name"] for found in cluster.list_all("Node")}


def test_after_a_compaction_and_a_restart_old_pages_and_old_watches_end_in_410(
    servers: Servers, cluster: Cluster
) -> None:
    cluster.create_all(pod(f"pod-{number}") for number in range(4))
    path = cluster.client.path("Pod", namespace=cluster.namespace)
    page = json.loads(cluster.client.request("GET", path, query={"limit": 1}))["metadata"]
    cluster.delete("Pod", "pod-0")
    servers.etcd.compact()
    servers.api.restart()
    with pytest.raises(ApiError, match="410 Expired"):
        cluster.client.request("GET", path, query={"limit": 1, "continue": page["continue"]})
    with cluster.client.watch("Pod", resourceVersion=page["resourceVersion"]) as changes:
        kind, status = next(changes)
    assert (kind, status["code"]) == ("ERROR", 410)


def test_a_watch_tells_of_changes(cluster: Cluster) -> None:
    cluster.create(pod("before"))
    with cluster.client.watch("Pod", namespace=cluster.namespace) as changes:
        cluster.create(pod("seen"))
        cluster.delete("Pod", "seen")
        told = []
        for kind, found in changes:
            told.append((kind, found["metadata"]["name"]))
            if kind == "DELETED":
                break
    assert told == [("ADDED", "seen"), ("MODIFIED", "seen"), ("DELETED", "seen")]


def test_a_pod_deleted_with_grace_stays_until_its_end_is_told(cluster: Cluster, fake_nodes: FakeNodes) -> None:
    (name,) = fake_nodes.create(1)
    cluster.create(pod("slow", nodeName=name, terminationGracePeriodSeconds=30))
    cluster.delete("Pod", "slow")
    assert cluster.get("Pod", "slow")["metadata"]["deletionGracePeriodSeconds"] == 30
    assert cluster.finish_deletions() == 1
    assert cluster.list_all("Pod") == []


def test_the_audit_log_tells_what_a_user_asked_for(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> None:
    with ApiServer(tmp_path_factory.mktemp("audited"), servers.etcd, audit=True) as api:
        with pytest.raises(ApiError, match="403"):
            api.client(NOBODY).request("GET", "/apis/apps/v1/replicasets")
        with pytest.raises(ApiError, match="403"):
            api.client(NOBODY).request("GET", "/api/v1/namespaces/default/pods/one/status")
        expected = {Access("list", "apps", "replicasets"), Access("get", "", "pods/status")}
        wait_until(lambda: api.accesses(NOBODY) == expected, 10, "the audit log", lambda: api.accesses(NOBODY))


def test_a_server_that_does_not_come_up_shows_its_log(
    servers: Servers, tmp_path_factory: pytest.TempPathFactory
) -> None:
    broken = ApiServer(tmp_path_factory.mktemp("broken"), servers.etcd, flags=["--no-such-flag"])
    with pytest.raises(RuntimeError, match=r"kube-apiserver ended with code 1(?s:.)*unknown flag: --no-such-flag"):
        broken.start()
    assert not broken.running


def test_what_a_test_made_is_gone_after_it(servers: Servers) -> None:
    client = servers.api.client()
    cluster = Cluster(client)
    cluster.create_all(pod(f"pod-{number}", nodeName="nowhere") for number in range(3))
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "inside"}})
    cluster.create(priority_class := {**PRIORITY_CLASS, "metadata": {"name": f"{cluster.namespace}-high"}})
    cluster.remove()
    left = [
        *client.list_all("Pod", namespace=cluster.namespace),
        *client.list_all("ConfigMap", namespace=cluster.namespace),
    ]
    assert left == []
    for kind, version, name in (
        ("Namespace", "v1", cluster.namespace),
        ("PriorityClass", "scheduling.k8s.io/v1", priority_class["metadata"]["name"]),
    ):
        with pytest.raises(ApiError, match="404"):
            client.get(kind, name, version=version)
