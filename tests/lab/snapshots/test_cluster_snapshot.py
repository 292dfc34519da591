"""Snapshots from manifests and from other snapshots: heads, summaries, decisions."""

import io
from pathlib import Path

from kubewasp.lab.snapshots.cluster_snapshot import ClusterSnapshot, of_cluster, of_manifests
from kubewasp.lab.snapshots.snapshot_fields import KeptFields
from kubewasp.simulation import loading
from tests.apiserver.fake_server import FakeServer
from tests.apiserver.running import FakeClock, asynchronous, client_of
from tests.live.test_cluster_lists import Listener, lay_out
from tests.live.test_snapshot import stored
from tests.simulation.simulating import Object, added, node, pod, priority_class, workload


def snapshot(*objects: Object) -> ClusterSnapshot:
    return of_manifests(added(*objects), KeptFields())


def written(found: ClusterSnapshot, path: Path) -> Path:
    file = io.BytesIO()
    found.write(file)
    path.write_bytes(file.getvalue())
    return path


async def taken_from_a_server(*objects: Object) -> ClusterSnapshot:
    async with FakeServer() as server, client_of(server) as client:
        lay_out(server, *map(stored, objects))
        return await of_cluster(client, KeptFields(), FakeClock(), Listener())


@asynchronous
async def test_the_head_of_a_cluster_has_its_time_version_and_counts() -> None:
    head = (await taken_from_a_server(node("a"), node("b"), pod("web"))).head
    assert (head.taken, head.server, head.is_anonymized) == ("1970-01-01T00:16:40Z", "v1.36.0", False)
    assert {kind: count for kind, count in head.counts.items() if count} == {"Node": 2, "Pod": 1}


@asynchronous
async def test_a_snapshot_of_a_snapshot_keeps_where_it_comes_from(tmp_path: Path) -> None:
    found = await taken_from_a_server(node("a"), pod("web"))
    again = of_manifests(loading.read([written(found, tmp_path / "file")]), KeptFields())
    assert (again.head.taken, again.head.server) == (found.head.taken, found.head.server)
    assert sorted(again.objects) == sorted(found.objects)
    hidden = again.anonymized(b"salt", KeptFields())
    read = of_manifests(loading.read([written(hidden, tmp_path / "hidden")]), KeptFields())
    assert read.head.is_anonymized


def test_snapshots_and_manifests_are_joined(tmp_path: Path) -> None:
    first = written(snapshot(node("a")), tmp_path / "first.kwsnap")
    second = written(snapshot(node("b"), pod("web")), tmp_path / "second.kwsnap")
    found = of_manifests(loading.read([first, second]), KeptFields())
    assert found.head.counts == {"Node": 2, "Pod": 1}
    assert found.head.taken == ""


def test_a_summary_counts_what_bound_pods_request() -> None:
    done: Object = {**pod("done", on="a", cpu="3"), "status": {"phase": "Succeeded"}}
    found = snapshot(
        priority_class("gold", 1),
        node("a", cpu="4", memory="8Gi"),
        node("b", cpu="2", memory="8Gi"),
        workload("Deployment", "api", 3),
        pod("bound", on="a", cpu="1500m", memory="1Gi"),
        pod("waiting", cpu="64"),
        done,
    ).summary()
    assert found["pods"] == {"bound": 1, "pending": 1}
    assert found["resources"] == [
        {"resource": "cpu", "allocatable": 6000, "requested": 1500},
        {"resource": "memory", "allocatable": 16 * 2**30, "requested": 2**30},
    ]
    assert found["counts"] == {"PriorityClass": 1, "Node": 2, "Deployment": 1, "Pod": 3}
