"""What an API server says of a cluster, as the scheduler takes it in."""

from typing import Any

import pytest

from kubewasp.k8s.codec import encode
from kubewasp.live.mirror import Intake
from kubewasp.scheduler.scheduler import Scheduler
from kubewasp.state.object_kinds import NAMESPACE, SERVICE
from tests.framework.fakes import Scripted, make_framework
from tests.plugins.building import FakeClock


class NoClient:
    """Nothing is written in these tests."""

    def bind(self, *_arguments: Any) -> None:
        return None

    def update(self, *_arguments: Any) -> str:
        return ""

    def evict(self, *_arguments: Any) -> str:
        return ""


@pytest.fixture
def intake() -> Intake:
    scheduler = Scheduler(FakeClock(), NoClient())
    scheduler.start([make_framework(Scripted())])
    return Intake(scheduler)


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


def queued(intake: Intake) -> list[str]:
    return [item.pod.name for item in intake._scheduler.queue]


def cpu(intake: Intake, name: str) -> int:
    table = intake._scheduler.table
    return int(table.requested["cpu"][table.row(name)])


def test_a_list_fills_the_table_and_the_queue(intake: Intake) -> None:
    intake.replaced("Node", [node("a"), node("b")])
    intake.replaced("Pod", [pod("running", node="a"), pod("pending")])
    assert (len(intake._scheduler.table), cpu(intake, "a"), queued(intake)) == (2, 1000, ["pending"])


def test_pods_of_other_schedulers_count_on_their_nodes_and_are_not_queued(intake: Intake) -> None:
    intake.replaced("Node", [node("a")])
    intake.replaced("Pod", [pod("theirs", schedulerName="other"), pod("bound", node="a", schedulerName="other")])
    assert (queued(intake), cpu(intake, "a")) == ([], 1000)


def test_what_a_new_list_does_not_have_is_gone(intake: Intake) -> None:
    intake.replaced("Node", [node("a"), node("b")])
    intake.replaced("Pod", [pod("one", node="a"), pod("two")])
    intake.replaced("Pod", [])
    intake.replaced("Node", [node("b")])
    assert (queued(intake), list(intake._scheduler.table.objects), intake.pods) == ([], ["b"], {})


def test_what_is_known_already_is_no_change(intake: Intake) -> None:
    intake.replaced("Node", [node("a")])
    intake.replaced("Pod", [pod("one", node="a")])
    generation = intake._scheduler.table.generation
    intake.replaced("Pod", [pod("one", node="a")])
    intake.changed("Pod", "MODIFIED", pod("one", node="a"))
    assert (intake._scheduler.table.generation, cpu(intake, "a")) == (generation, 1000)


def test_a_pod_of_the_same_name_is_another_one(intake: Intake) -> None:
    intake.replaced("Node", [node("a")])
    intake.changed("Pod", "ADDED", pod("web", uid="first", node="a"))
    intake.changed("Pod", "MODIFIED", pod("web", uid="second", version="2"))
    assert (cpu(intake, "a"), queued(intake)) == (0, ["web"])


def test_a_finished_pod_takes_up_no_room(intake: Intake) -> None:
    intake.replaced("Node", [node("a")])
    intake.changed("Pod", "ADDED", pod("job", node="a"))
    intake.changed("Pod", "MODIFIED", pod("job", node="a", version="2", phase="Succeeded"))
    assert (cpu(intake, "a"), intake.pods) == (0, {})


@pytest.mark.parametrize("kind", ["Pod", "Node", "StorageClass"])
def test_an_object_that_cannot_be_read_is_told_and_left_out(
    kind: str, intake: Intake, caplog: pytest.LogCaptureFixture
) -> None:
    intake.replaced("Node", [node("a")])
    assert intake.changed(kind, "ADDED", b"\xff\xff\xff") is None
    assert f"a {kind} cannot be read and is left out" in caplog.text
    assert len(intake._scheduler.table) == 1


def test_other_objects_go_into_the_store_and_out_of_it(intake: Intake) -> None:
    store = intake._scheduler.store
    namespaces = [encode("Namespace", {"metadata": {"name": name, "labels": {"team": name}}}) for name in ("a", "b")]
    intake.replaced("Namespace", namespaces)
    assert store.get(NAMESPACE, "b").labels["team"] == "b"
    intake.changed("Namespace", "DELETED", namespaces[1])
    intake.replaced("Namespace", [])
    assert list(store.all(NAMESPACE)) == []


def test_namespaced_objects_are_known_by_their_namespace(intake: Intake) -> None:
    def service(namespace: str) -> bytes:
        spec = {"selector": {"app": namespace}}
        return encode("Service", {"metadata": {"name": "web", "namespace": namespace}, "spec": spec})

    intake.replaced("Service", [service("one"), service("two")])
    intake.changed("Service", "DELETED", service("one"))
    assert intake._scheduler.store.get(SERVICE, "web", "one") is None
    assert intake._scheduler.store.get(SERVICE, "web", "two") is not None


def test_who_wants_to_know_is_told_of_each_pod_that_is_gone(intake: Intake) -> None:
    gone: list[str] = []
    told = Intake(intake._scheduler, on_gone=lambda pod: gone.append(pod.uid))
    told.replaced("Pod", [pod("deleted"), pod("finished"), pod("again", uid="first"), pod("missing"), pod("kept")])
    told.changed("Pod", "DELETED", pod("deleted"))
    told.changed("Pod", "MODIFIED", pod("finished", version="2", phase="Failed"))
    told.changed("Pod", "MODIFIED", pod("again", uid="second", version="2"))
    told.replaced("Pod", [pod("again", uid="second", version="2"), pod("kept")])
    assert gone == ["uid-deleted", "uid-finished", "first", "uid-missing"]


def test_pods_that_wait_for_other_schedulers_are_counted(intake: Intake) -> None:
    named = {"a": "theirs", "b": "theirs", "c": "another", "d": "default-scheduler"}
    intake.replaced("Pod", [pod(name, schedulerName=scheduler) for name, scheduler in named.items()])
    intake.changed("Pod", "ADDED", pod("bound", schedulerName="theirs", node="n1"))
    assert intake.foreign_pods() == {"theirs": 2, "another": 1}
