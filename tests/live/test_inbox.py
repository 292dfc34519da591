"""The scheduler on its own thread."""

import threading
from typing import Any

import pytest

from kubewasp.framework.status import Code, Status
from kubewasp.k8s.pods import Pod
from kubewasp.live.inbox import LiveScheduler
from tests.framework.fakes import Scripted
from tests.scheduler.building import Cluster, cluster_of

SOON = 10.0


class Reports:
    """Takes note of what is told, and lets a test wait for it."""

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []
        self._changed = threading.Condition()

    def _note(self, *what: str) -> None:
        with self._changed:
            self.told.append(what)
            self._changed.notify_all()

    def scheduled(self, pod: Pod, node: str) -> None:
        self._note("scheduled", pod.name, node)

    def failed(self, pod: Pod, reason: str, message: str) -> None:
        self._note("failed", pod.name, reason, message)

    def expected(self, pod: Pod, node: str) -> None:
        self._note("expected", pod.name, node)

    def deleting(self, pod: Pod, message: str) -> None:
        self._note("deleting", pod.name, message)

    def wait_for(self, count: int) -> list[tuple[str, ...]]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.told) >= count, SOON), self.told
            return list(self.told)


class Running:
    """A live scheduler around a cluster of the tests."""

    def __init__(self, **script: Any) -> None:
        self.cluster: Cluster = cluster_of(Scripted("A", [], **script), nodes=("n0",))
        self.reports = Reports()
        self.ended: list[BaseException | None] = []
        self.attempts: list[tuple[str, str]] = []
        self.live = LiveScheduler(
            self.cluster.scheduler,
            self.reports,
            on_end=self.ended.append,
            on_attempt=lambda attempt: self.attempts.append((attempt.pod.name, attempt.node)),
        )

    def settled(self) -> None:
        """All that was posted has been taken."""
        done = threading.Event()
        self.live.post(done.set)
        assert done.wait(SOON)


@pytest.fixture
def running(request: pytest.FixtureRequest) -> Any:
    made: list[Running] = []

    def make(**script: Any) -> Running:
        made.append(Running(**script))
        made[-1].live.start()
        return made[-1]

    yield make
    for item in made:
        assert item.live.stop(SOON)


def test_a_pod_that_is_posted_is_scheduled_and_told(running: Any) -> None:
    run = running()
    run.live.set_active(True)
    run.live.post(lambda: run.cluster.pod("p"))
    assert run.reports.wait_for(1) == [("scheduled", "p", "n0")]


def test_every_attempt_is_told_on_the_thread(running: Any) -> None:
    run = running(filter={"n0": Status(Code.UNSCHEDULABLE, "no room")})
    run.live.set_active(True)
    run.live.post(lambda: run.cluster.pod("p"))
    run.reports.wait_for(1)
    assert run.attempts == [("p", "")]


def test_nothing_is_scheduled_before_it_is_allowed(running: Any) -> None:
    run = running()
    run.live.post(lambda: run.cluster.pod("p"))
    run.settled()
    assert run.reports.told == []
    run.live.set_active(True)
    assert run.reports.wait_for(1) == [("scheduled", "p", "n0")]


def test_why_a_pod_has_no_node_is_told_with_the_reason_of_its_condition(running: Any) -> None:
    run = running(filter={"n0": Status(Code.UNSCHEDULABLE, "no room")})
    run.live.set_active(True)
    run.live.post(lambda: run.cluster.pod("p"))
    (told,) = run.reports.wait_for(1)
    assert told == ("failed", "p", "Unschedulable", "0/1 nodes are available: 1 no room.")


def test_an_error_of_a_plugin_is_an_error_of_the_scheduler(running: Any) -> None:
    run = running(pre_filter=Status(Code.ERROR, "broken"))
    run.live.set_active(True)
    run.live.post(lambda: run.cluster.pod("p"))
    assert run.reports.wait_for(1)[0][2] == "SchedulerError"


def test_actions_are_taken_in_their_order(running: Any) -> None:
    run = running()
    seen: list[int] = []
    for number in range(3000):
        run.live.post(lambda number=number: seen.append(number))
    run.settled()
    assert seen == list(range(3000))


def test_a_bind_that_ends_later_is_told_when_it_has_ended(running: Any) -> None:
    run = running(bind=Status(Code.WAIT))
    run.live.set_active(True)
    run.live.post(lambda: run.cluster.pod("p"))
    begun = threading.Event()
    run.live.post(lambda: None)
    while not run.cluster.scheduler.binding:
        assert not begun.wait(0.001)
    assert run.reports.told == []
    run.live.post(lambda: run.cluster.scheduler.bound("default/p", ""))
    assert run.reports.wait_for(1) == [("scheduled", "p", "n0")]


def test_an_action_that_fails_ends_the_thread_and_is_told(running: Any) -> None:
    run = running()

    def broken() -> None:
        raise ZeroDivisionError

    run.live.post(broken)
    run.live._thread.join(SOON)
    assert [type(error) for error in run.ended] == [ZeroDivisionError]


def test_it_stops_when_it_is_told_to(running: Any) -> None:
    run = running()
    assert run.live.stop(SOON)
    assert run.ended == [None]


@pytest.mark.parametrize("script", [{"permit": Status(Code.WAIT)}, {"pre_bind": Status(Code.WAIT)}], ids=str)
def test_the_node_of_a_pod_that_has_to_wait_is_told(running: Any, script: dict[str, Any]) -> None:
    run = running(**script, timeout=60.0) if "permit" in script else running(**script)
    run.live.set_active(True)
    run.live.post(lambda: run.cluster.pod("p"))
    assert run.reports.wait_for(1) == [("expected", "p", "n0")]


def test_nothing_is_told_of_a_bind_that_failed_as_the_pod_is_gone_or_was_bound_by_another(running: Any) -> None:
    run = running(bind=Status(Code.WAIT))
    run.live.set_active(True)
    pods: list[Pod] = []
    run.live.post(lambda: pods.extend(run.cluster.pod(name) for name in ("gone", "taken", "left")))
    run.live.post(lambda: None)
    pause = threading.Event()
    while len(run.cluster.scheduler.binding) < 3:
        assert not pause.wait(0.001)
    run.live.post(lambda: run.cluster.delete(pods[0]))
    run.live.post(lambda: run.cluster.pod("taken", node="elsewhere"))
    for pod in pods:
        run.live.post(lambda pod=pod: run.cluster.scheduler.bound(pod.uid, "no"))
    run.settled()
    assert [told[:2] for told in run.reports.told] == [("failed", "left")]
