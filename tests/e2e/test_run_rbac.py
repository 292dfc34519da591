"""Rights of the deployment files: sufficient for all requests of the scheduler, and none unused.

The audit log of the API server has all requests of one run; the tests read it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from tests.deploy.manifests import cluster_rules, lease_rules
from tests.deploy.rbac import triples
from tests.e2e.kubewasp import EVENTS, SOON, events_of, is_gone, ours, wait_node, wait_unschedulable
from tests.e2e.test_run_gang import member, wait_expected
from tests.e2e.test_run_volumes import (
    SELECTED_NODE,
    bind_claim,
    claim,
    local_volume,
    make_available,
    make_class,
    promised_volume,
    using,
)
from tests.guests.build import ROOT, project_guest
from tools.testbed.client import ApiError, Object
from tools.testbed.cluster import RBAC, Cluster
from tools.testbed.kubewasp import NAME, Kubewasp, profile
from tools.testbed.nodes import LEASES, FakeNodes
from tools.testbed.servers import Access, ApiServer, Servers
from tools.testbed.waiting import wait_until

QUICK: Final = {"leaseDuration": "20s", "renewDeadline": "15s", "retryPeriod": "500ms"}
# So slow that a bind waits for its turn long enough for somebody else to be quicker.
SLOW: Final = {"qps": 10, "burst": 60}


@dataclass(frozen=True, slots=True)
class Record:
    """Requests of the scheduler, and the refused ones."""

    asked: set[Access]
    refused: set[Access]
    log: str


@pytest.fixture(scope="module")
def record(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Record]:
    servers.ensure_running()
    folders = tmp_path_factory
    cluster = Cluster(servers.api.client(), "rbac")
    with (
        ApiServer(folders.mktemp("kube-apiserver"), servers.etcd, audit=True) as api,
        FakeNodes(cluster.client, prefix=f"{cluster.namespace}-node") as nodes,
    ):
        _give_rights(cluster, api)
        election = {"leaderElect": True, "resourceName": NAME, "resourceNamespace": cluster.namespace, **QUICK}
        config: Object = {"leaderElection": election}
        guests = {"gang": project_guest(ROOT / "examples" / "plugins" / "gang")}
        folder = folders.mktemp(NAME)
        with Kubewasp(folder, api, user=NAME, config=config, profiles=[profile(guests=guests)]) as scheduler:
            _preempt(cluster, nodes)
            _repeat_an_event(cluster, nodes)
            _wait_for_each_other(cluster, nodes)
            _bind_volumes(cluster, nodes)
        with Kubewasp(folder, api, user=NAME, config={**config, "clientConnection": SLOW}) as scheduler:
            _lose_binds(cluster, scheduler, api)
        yield Record(api.accesses(NAME), api.refusals(NAME), scheduler.log_text)
    cluster.client.delete_all("Lease", version=LEASES, namespace=cluster.namespace)
    cluster.remove()


def _give_rights(cluster: Cluster, api: ApiServer) -> None:
    """Rights of the deployment files, for a user instead of a service account."""
    cluster.allow(NAME, cluster_rules())
    named = {"metadata": {"name": NAME}, "apiVersion": RBAC}
    cluster.create({**named, "kind": "Role", "rules": lease_rules()})
    group = "rbac.authorization.k8s.io"
    role = {"apiGroup": group, "kind": "Role", "name": NAME}
    subject = {"apiGroup": group, "kind": "User", "name": NAME}
    cluster.create({**named, "kind": "RoleBinding", "roleRef": role, "subjects": [subject]})
    reviewed = {"verb": "create", "group": "coordination.k8s.io", "resource": "leases", "namespace": cluster.namespace}
    for attributes in (reviewed, {"verb": "list", "resource": "pods"}):
        wait_until(lambda: _allowed(api, attributes), SOON, f"the right to {attributes}")  # noqa: B023 called at once


def _allowed(api: ApiServer, attributes: Object) -> bool:
    """The admin asks: what the scheduler's user asks is recorded."""
    spec = {"user": NAME, "resourceAttributes": attributes}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {}, "spec": spec}
    return bool(api.client().create(review)["status"]["allowed"])


def _preempt(cluster: Cluster, nodes: FakeNodes) -> None:
    """A victim with grace: its condition, its deletion, the nomination of the preemptor, then a bind."""
    (node,) = nodes.create(1, capacity={"cpu": "4"})
    important = f"{cluster.namespace}-important"
    cluster.create(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": important}, "value": 9}
    )
    cluster.create(ours("victim", cpu="3", terminationGracePeriodSeconds=300))
    wait_node(cluster, "victim")
    cluster.create(ours("preemptor", cpu="3", priorityClassName=important))
    wait_until(
        lambda: "deletionTimestamp" in cluster.get("Pod", "victim")["metadata"], SOON, "a victim", cluster.describe
    )
    cluster.finish_deletions()
    assert wait_node(cluster, "preemptor") == node


def _repeat_an_event(cluster: Cluster, nodes: FakeNodes) -> None:
    """The second FailedScheduling of a pod makes a series of the first."""
    cluster.create(ours("too-big", cpu="100"))
    wait_unschedulable(cluster, "too-big")

    def repeated() -> bool:
        nodes.create(1, capacity={"cpu": "200"}, taints=[{"key": "other", "effect": "NoSchedule"}])
        return any("series" in event for event in events_of(cluster, "too-big", "FailedScheduling"))

    wait_until(repeated, SOON, "an event to be repeated", cluster.describe)
    cluster.delete("Pod", "too-big")


def _wait_for_each_other(cluster: Cluster, nodes: FakeNodes) -> None:
    nodes.create(2, capacity={"cpu": "4"})
    cluster.create(member("g-0", 2))
    wait_expected(cluster, "g-0")
    cluster.create(member("g-1", 2))
    for name in ("g-0", "g-1"):
        wait_node(cluster, name)


def _bind_volumes(cluster: Cluster, nodes: FakeNodes) -> None:
    """An existing volume gets a claimRef; for a provisioned one, a node is selected."""
    static = make_class(cluster, "static", provisioner="kubernetes.io/no-provisioner")
    volume = make_available(cluster, local_volume(f"{cluster.namespace}-local", static, nodes.names[-1]))
    cluster.create(claim("static", static))
    cluster.create(using("static", "static"))
    promised_volume(cluster, "static")
    bind_claim(cluster, "static", volume)
    wait_node(cluster, "static")
    cluster.create(claim("made", make_class(cluster, "made", provisioner="example.com/provisioner")))
    cluster.create(using("made", "made"))

    def selected() -> bool:
        metadata = cluster.get("PersistentVolumeClaim", "made")["metadata"]
        return SELECTED_NODE in metadata.get("annotations", {})

    wait_until(selected, SOON, "a node to be selected", cluster.describe)
    cluster.delete("Pod", "made")
    wait_until(lambda: is_gone(cluster, "made"), SOON, "the pod to be gone")


def _lose_binds(cluster: Cluster, scheduler: Kubewasp, api: ApiServer) -> None:
    """Another client binds pods with a pending bind: the scheduler reads their nodes."""
    wait_until(lambda: scheduler.leads, SOON, "it to lead", scheduler.log_tail)
    names = [f"many-{number}" for number in range(60)]
    cluster.create_all(ours(name, cpu="1m", memory="1Mi") for name in names)
    wait_node(cluster, names[0])
    node = cluster.list_all("Node")[0]["metadata"]["name"]
    cluster.client.each(lambda name: _bind(cluster, name, node), [name for name in names if not _node(cluster, name)])
    cluster.wait_bound(SOON)
    wait_until(lambda: Access("get", "", "pods") in api.accesses(NAME), SOON, "a lost bind", scheduler.log_tail)


def _bind(cluster: Cluster, name: str, node: str) -> None:
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    manifest = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    try:
        cluster.client.request("POST", cluster.client.path("Pod", "v1", cluster.namespace, name, "binding"), manifest)
    except ApiError as error:
        if error.status != 409:
            raise


def _node(cluster: Cluster, name: str) -> str:
    return str(cluster.get("Pod", name)["spec"].get("nodeName", ""))


RIGHTS: Final = {Access(*triple) for triple in triples([*cluster_rules(), *lease_rules()])}


def test_nothing_was_refused(record: Record) -> None:
    assert record.refused == set()
    assert "forbidden" not in record.log


def test_all_that_was_asked_for_is_in_the_roles(record: Record) -> None:
    assert record.asked - RIGHTS == set()


def test_all_that_is_in_the_roles_was_asked_for(record: Record) -> None:
    assert RIGHTS - record.asked == set()


def test_the_record_is_that_of_a_scheduler(record: Record) -> None:
    """It would be empty if the API server did not record, and the tests above would say little."""
    assert {Access("create", "", "pods/binding"), Access("patch", EVENTS.partition("/")[0], "events")} <= record.asked
