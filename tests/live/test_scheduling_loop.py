"""The scheduling loop on its thread."""

import threading
from typing import Any

import pytest

from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.live.inbox import Inbox, OwnerThread
from kubewasp.live.scheduling_loop import SchedulingLoop
from kubewasp.scheduler.attempt import Attempt
from tests.framework.fakes import Scripted
from tests.scheduler.building import Cluster, cluster_of

SOON = 60.0


class Attempts:
    """Notes attempts, and lets a test wait for them."""

    def __init__(self) -> None:
        self.made: list[Attempt] = []
        self.threads: set[str] = set()
        self._changed = threading.Condition()

    def attempted(self, attempt: Attempt) -> None:
        with self._changed:
            self.made.append(attempt)
            self.threads.add(threading.current_thread().name)
            self._changed.notify_all()

    def wait_for(self, count: int) -> list[Attempt]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.made) >= count, SOON), self.made
            return list(self.made)


class Running:
    """A scheduler on its thread, around a cluster of the tests."""

    def __init__(self, **script: Any) -> None:
        self.inbox = Inbox()
        self.attempts = Attempts()
        plugin = Scripted("A", [], **script)
        environment = {"wake": self.inbox.wake, "listeners": [self.attempts]}
        self.cluster: Cluster = cluster_of(plugin, nodes=("n0",), environment=environment)
        self.scheduler = self.cluster.scheduler
        self.loop = SchedulingLoop(self.scheduler, self.inbox)
        self.ended: list[BaseException | None] = []
        self.thread = OwnerThread(self.inbox, self.loop.step, name="scheduler", on_end=self.ended.append)
        self.thread.start()

    def settled(self) -> None:
        """All actions posted so far have run."""
        done = threading.Event()
        self.inbox.post(done.set)
        assert done.wait(SOON)


@pytest.fixture
def running() -> Any:
    made: list[Running] = []

    def make(**script: Any) -> Running:
        made.append(Running(**script))
        return made[-1]

    yield make
    for item in made:
        assert item.thread.stop(SOON)


def test_a_pod_that_is_posted_is_scheduled_on_the_thread(running: Any) -> None:
    run = running()
    run.loop.set_active(True)
    run.inbox.post(lambda: run.cluster.pod("p"))
    (attempt,) = run.attempts.wait_for(1)
    assert (attempt.pod.name, attempt.node) == ("p", "n0")
    assert run.attempts.threads == {"scheduler"}


def test_nothing_is_scheduled_before_the_loop_is_active(running: Any) -> None:
    run = running()
    run.inbox.post(lambda: run.cluster.pod("p"))
    run.settled()
    assert run.attempts.made == []
    run.loop.set_active(True)
    assert run.attempts.wait_for(1)[0].node == "n0"


def test_a_pod_without_a_node_has_its_message(running: Any) -> None:
    run = running(filter={"n0": Status(Code.UNSCHEDULABLE, "no room")})
    run.loop.set_active(True)
    run.inbox.post(lambda: run.cluster.pod("p"))
    (attempt,) = run.attempts.wait_for(1)
    assert (attempt.message, attempt.is_error) == ("0/1 nodes are available: 1 no room.", False)


def test_an_error_of_a_plugin_is_an_error_of_the_attempt(running: Any) -> None:
    run = running(pre_filter=Status(Code.ERROR, "broken"))
    run.loop.set_active(True)
    run.inbox.post(lambda: run.cluster.pod("p"))
    assert run.attempts.wait_for(1)[0].is_error


def test_a_bind_that_ends_later_is_an_attempt_that_ends_later(running: Any) -> None:
    run = running(bind=Status(Code.WAIT))
    run.loop.set_active(True)
    run.inbox.post(lambda: run.cluster.pod("p"))
    assert run.attempts.wait_for(1)[0].is_binding
    run.inbox.post(lambda: run.scheduler.bound("default/p", SUCCESS))
    ended = run.attempts.wait_for(2)[1]
    assert (ended.node, ended.is_binding) == ("n0", False)


def test_a_bind_that_failed_is_an_attempt_without_a_node(running: Any) -> None:
    run = running(bind=Status(Code.WAIT))
    run.loop.set_active(True)
    pods: list[Any] = []
    run.inbox.post(lambda: pods.extend(run.cluster.pod(name) for name in ("gone", "taken", "left")))
    run.attempts.wait_for(3)
    run.loop.set_active(False)
    run.inbox.post(lambda: run.cluster.delete(pods[0]))
    run.inbox.post(lambda: run.cluster.pod("taken", node="elsewhere"))
    for pod in pods:
        run.inbox.post(lambda pod=pod: run.scheduler.bound(pod.uid, Status(Code.ERROR, "no")))
    run.settled()
    ended = run.attempts.made[3:]
    assert [(attempt.pod.name, attempt.is_error) for attempt in ended] == [
        ("gone", True),
        ("taken", True),
        ("left", True),
    ]
    assert [pod.name for pod in pods if run.scheduler.queue.get(pod.uid) is not None] == ["left"]


def test_the_time_of_a_waiting_pod_runs_out_on_the_thread(running: Any) -> None:
    run = running(permit=(Status(Code.WAIT), 10.0))
    run.loop.set_active(True)
    run.inbox.post(lambda: run.cluster.pod("p"))
    assert run.attempts.wait_for(1)[0].is_waiting
    run.inbox.post(lambda: run.cluster.pass_time(11))
    assert "timeout after waiting 10s" in run.attempts.wait_for(2)[1].message
