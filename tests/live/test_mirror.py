"""Mirror of the API server's objects in the cluster state."""

from dataclasses import dataclass
from typing import Any

import pytest

from kubewasp.framework.handle import ReadOnlyClient
from kubewasp.k8s.codec import encode
from kubewasp.live.mirror import Mirror
from kubewasp.scheduler.composition import Environment, compose
from kubewasp.scheduler.scheduler import Scheduler
from kubewasp.state.object_kinds import NAMESPACE, SERVICE
from tests.framework.fakes import Scripted, make_framework
from tests.plugins.building import FakeClock


@dataclass(frozen=True)
class Mirrored:
    scheduler: Scheduler
    mirror: Mirror


@pytest.fixture
def mirrored() -> Mirrored:
    environment = Environment(clock=FakeClock(), client=ReadOnlyClient())
    scheduler = compose(environment, lambda _handle: [make_framework(Scripted())])
    return Mirrored(scheduler, Mirror(scheduler.events, scheduler.store))


@pytest.fixture
def mirror(mirrored: Mirrored) -> Mirror:
    return mirrored.mirror


@pytest.fixture
def scheduler(mirrored: Mirrored) -> Scheduler:
    return mirrored.scheduler


def pod(name: str, *, uid: str = "", version: str = "1", node: str = "", phase: str = "Pending", **spec: Any) -> bytes:
    manifest = {
        "metadata": {"name": name, "namespace": "default", "uid": uid or f"uid-{name}", "resourceVersion": version},
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
            **({"nodeName": node} if node else {}),
            **spec,
        },
        "status": {"phase": phase},
    }
    return encode("Pod", manifest)


def node(name: str, cpu: str = "4") -> bytes:
    status = {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}}
    return encode("Node", {"metadata": {"name": name}, "status": status})


def queued(scheduler: Scheduler) -> list[str]:
    return [item.pod.name for item in scheduler.queue]


def cpu(scheduler: Scheduler, name: str) -> int:
    table = scheduler.table
    return int(table.requested["cpu"][table.row(name)])


def test_a_list_fills_the_table_and_the_queue(mirror: Mirror, scheduler: Scheduler) -> None:
    mirror.replaced("Node", [node("a"), node("b")])
    mirror.replaced("Pod", [pod("running", node="a"), pod("pending")])
    assert (len(scheduler.table), cpu(scheduler, "a"), queued(scheduler)) == (2, 1000, ["pending"])


def test_pods_of_other_schedulers_count_on_their_nodes_and_are_not_queued(mirror: Mirror, scheduler: Scheduler) -> None:
    mirror.replaced("Node", [node("a")])
    mirror.replaced("Pod", [pod("theirs", schedulerName="other"), pod("bound", node="a", schedulerName="other")])
    assert (queued(scheduler), cpu(scheduler, "a")) == ([], 1000)


def test_what_a_new_list_does_not_have_is_gone(mirror: Mirror, scheduler: Scheduler) -> None:
    mirror.replaced("Node", [node("a"), node("b")])
    mirror.replaced("Pod", [pod("one", node="a"), pod("two")])
    mirror.replaced("Pod", [])
    mirror.replaced("Node", [node("b")])
    assert (queued(scheduler), list(scheduler.table.objects), mirror.pods) == ([], ["b"], {})


def test_what_is_known_already_is_no_change(mirror: Mirror, scheduler: Scheduler) -> None:
    mirror.replaced("Node", [node("a")])
    mirror.replaced("Pod", [pod("one", node="a")])
    generation = scheduler.table.generation
    mirror.replaced("Pod", [pod("one", node="a")])
    mirror.changed("Pod", "MODIFIED", pod("one", node="a"))
    assert (scheduler.table.generation, cpu(scheduler, "a")) == (generation, 1000)


def test_a_pod_of_the_same_name_is_another_one(mirror: Mirror, scheduler: Scheduler) -> None:
    mirror.replaced("Node", [node("a")])
    mirror.changed("Pod", "ADDED", pod("web", uid="first", node="a"))
    mirror.changed("Pod", "MODIFIED", pod("web", uid="second", version="2"))
    assert (cpu(scheduler, "a"), queued(scheduler)) == (0, ["web"])


def test_a_finished_pod_takes_up_no_room(mirror: Mirror, scheduler: Scheduler) -> None:
    mirror.replaced("Node", [node("a")])
    mirror.changed("Pod", "ADDED", pod("job", node="a"))
    mirror.changed("Pod", "MODIFIED", pod("job", node="a", version="2", phase="Succeeded"))
    assert (cpu(scheduler, "a"), mirror.pods) == (0, {})


@pytest.mark.parametrize("kind", ["Pod", "Node", "StorageClass"])
def test_an_object_that_cannot_be_read_is_told_and_left_out(
    kind: str, mirror: Mirror, scheduler: Scheduler, caplog: pytest.LogCaptureFixture
) -> None:
    mirror.replaced("Node", [node("a")])
    assert mirror.changed(kind, "ADDED", b"\xff\xff\xff") is None
    (record,) = [item for item in caplog.records if item.getMessage() == "Unreadable object skipped"]
    assert record.kind == kind  # type: ignore[attr-defined]
    assert len(scheduler.table) == 1


def test_other_objects_go_into_the_store_and_out_of_it(mirror: Mirror, scheduler: Scheduler) -> None:
    store = scheduler.store
    namespaces = [encode("Namespace", {"metadata": {"name": name, "labels": {"team": name}}}) for name in ("a", "b")]
    mirror.replaced("Namespace", namespaces)
    assert store.get(NAMESPACE, "b").labels["team"] == "b"
    mirror.changed("Namespace", "DELETED", namespaces[1])
    mirror.replaced("Namespace", [])
    assert list(store.all(NAMESPACE)) == []


def test_namespaced_objects_are_known_by_their_namespace(mirror: Mirror, scheduler: Scheduler) -> None:
    def service(namespace: str) -> bytes:
        spec = {"selector": {"app": namespace}}
        return encode("Service", {"metadata": {"name": "web", "namespace": namespace}, "spec": spec})

    mirror.replaced("Service", [service("one"), service("two")])
    mirror.changed("Service", "DELETED", service("one"))
    assert scheduler.store.get(SERVICE, "web", "one") is None
    assert scheduler.store.get(SERVICE, "web", "two") is not None


def test_who_wants_to_know_is_told_of_each_pod_that_is_gone(mirror: Mirror, scheduler: Scheduler) -> None:
    gone: list[str] = []
    told = Mirror(scheduler.events, scheduler.store, on_pod_gone=lambda pod: gone.append(pod.uid))
    told.replaced("Pod", [pod("deleted"), pod("finished"), pod("again", uid="first"), pod("missing"), pod("kept")])
    told.changed("Pod", "DELETED", pod("deleted"))
    told.changed("Pod", "MODIFIED", pod("finished", version="2", phase="Failed"))
    told.changed("Pod", "MODIFIED", pod("again", uid="second", version="2"))
    told.replaced("Pod", [pod("again", uid="second", version="2"), pod("kept")])
    assert gone == ["uid-deleted", "uid-finished", "first", "uid-missing"]


def test_pods_that_wait_for_other_schedulers_are_counted(mirror: Mirror, scheduler: Scheduler) -> None:
    named = {"a": "theirs", "b": "theirs", "c": "another", "d": "default-scheduler"}
    mirror.replaced("Pod", [pod(name, schedulerName=scheduler) for name, scheduler in named.items()])
    mirror.changed("Pod", "ADDED", pod("bound", schedulerName="theirs", node="n1"))
    assert mirror.foreign_pods(scheduler.frameworks) == {"theirs": 2, "another": 1}
