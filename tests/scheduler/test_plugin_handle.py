"""Thread safety of the plugin handle: every method of `Handle` on any thread."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kubewasp.framework.cluster_events import ObjectReference, RecordedEvent
from kubewasp.framework.handle import DetachedHandle, Handle
from kubewasp.k8s.pods import Pod
from kubewasp.live.inbox import Inbox, OwnerThread
from kubewasp.live.scheduling_loop import SchedulingLoop
from kubewasp.scheduler.attempt import Attempt
from tests.framework.fakes import WAIT, Scripted
from tests.scheduler.building import Cluster, cluster_of

SOON = 60.0
OWNER = "scheduler"


class Threads(Scripted):
    """Holds every pod back, and notes the thread of each hook."""

    def __init__(self) -> None:
        super().__init__("A", [], permit=(WAIT, 600.0))
        self.threads: dict[str, set[str]] = {}

    def _answer(self, hook: str, default: Any) -> Any:
        self.threads.setdefault(hook, set()).add(threading.current_thread().name)
        return super()._answer(hook, default)


class Running:
    """A scheduler that runs on its own thread; pods wait on Permit."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self.plugin = Threads()
        self.recorded: list[RecordedEvent] = []
        self._changed = threading.Condition()
        self._attempts: list[Attempt] = []
        environment = {"wake": self.inbox.wake, "listeners": [self], "record_event": self.recorded.append}
        self.cluster: Cluster = cluster_of(self.plugin, nodes=("n0",), environment=environment)
        self.handle: Handle = self.cluster.scheduler.handle
        self.loop = SchedulingLoop(self.cluster.scheduler, self.inbox)
        self.thread = OwnerThread(self.inbox, self.loop.step, name=OWNER, on_end=lambda _error: None)

    def attempted(self, attempt: Attempt) -> None:
        with self._changed:
            self._attempts.append(attempt)
            self._changed.notify_all()

    def wait_for(self, wanted: Callable[[Attempt], bool], count: int = 1) -> list[Attempt]:
        def found() -> list[Attempt]:
            return [attempt for attempt in self._attempts if wanted(attempt)]

        with self._changed:
            assert self._changed.wait_for(lambda: len(found()) >= count, SOON)
            return found()

    def waiting(self, *names: str) -> list[Pod]:
        """Pods of those names that wait on Permit."""
        pods: list[Pod] = []
        self.inbox.post(lambda: pods.extend(self.cluster.pod(name) for name in names))
        self.wait_for(lambda attempt: attempt.is_waiting and attempt.pod.name in names, len(names))
        return pods


@pytest.fixture
def running() -> Iterator[Running]:
    made = Running()
    made.thread.start()
    made.loop.set_active(True)
    yield made
    assert made.thread.stop(SOON)


def elsewhere(call: Callable[[], Any]) -> Any:
    """The result of a call on a new thread."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(call()), name="elsewhere")
    thread.start()
    thread.join(SOON)
    return found[0]


def is_bound(attempt: Attempt) -> bool:
    return bool(attempt.node) and not attempt.is_waiting


def test_a_pod_that_another_thread_allows_is_bound_on_the_schedulers_thread(running: Running) -> None:
    (pod,) = running.waiting("p")
    assert elsewhere(lambda: running.handle.allow_waiting_pod(pod.uid, "A")) is True
    running.wait_for(is_bound)
    for hook in ("pre_bind", "bind", "post_bind"):
        assert running.plugin.threads[hook] == {OWNER}


def test_a_pod_that_another_thread_rejects_is_undone_on_the_schedulers_thread(running: Running) -> None:
    (pod,) = running.waiting("p")
    assert elsewhere(lambda: running.handle.reject_waiting_pod(pod.uid, "A", "not now")) is True
    (attempt,) = running.wait_for(lambda attempt: not attempt.node)
    assert attempt.message == "0/1 nodes are available: 1 not now."
    assert running.plugin.threads["unreserve"] == {OWNER}


def test_a_decision_of_another_thread_counts_at_once_and_takes_effect_later(running: Running) -> None:
    (pod,) = running.waiting("p")
    free, entered = threading.Event(), threading.Event()

    def occupy() -> None:
        entered.set()
        free.wait(SOON)

    running.inbox.post(occupy)
    assert entered.wait(SOON)
    assert elsewhere(lambda: running.handle.allow_waiting_pod(pod.uid, "A")) is True
    assert elsewhere(lambda: running.handle.allow_waiting_pod(pod.uid, "A")) is False
    assert elsewhere(lambda: running.handle.get_waiting_pod(pod.uid)) is None
    assert "bind" not in running.plugin.threads, "the scheduler's thread is busy"
    free.set()
    running.wait_for(is_bound)


def test_of_many_threads_that_decide_on_a_pod_one_does(running: Running) -> None:
    pods = running.waiting(*(f"p{number}" for number in range(20)))
    answers: list[bool] = []
    lock, start = threading.Lock(), threading.Barrier(8)

    def decide(number: int) -> None:
        start.wait(SOON)
        for pod in pods:
            if number % 2:
                found = running.handle.allow_waiting_pod(pod.uid, "A")
            else:
                found = running.handle.reject_waiting_pod(pod.uid, "B", "no")
            with lock:
                answers.append(found)

    running.loop.set_active(False)  # rejected pods are not tried again meanwhile
    threads = [threading.Thread(target=decide, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    assert (answers.count(True), answers.count(False)) == (20, 140)
    running.wait_for(lambda attempt: not attempt.is_waiting, 20)
    for hook in ("bind", "unreserve"):
        assert running.plugin.threads.get(hook, {OWNER}) == {OWNER}


def test_waiting_pods_can_be_read_while_they_come_and_go(running: Running) -> None:
    errors: list[Exception] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                for encoded in running.handle.waiting_pods():
                    assert isinstance(encoded, bytes)
                running.handle.get_waiting_pod("default/p1")
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    for number in range(50):
        (pod,) = running.waiting(f"p{number}")
        assert running.handle.get_waiting_pod(pod.uid) is not None
        running.handle.allow_waiting_pod(pod.uid, "A")
    running.wait_for(is_bound, 50)
    done.set()
    thread.join(SOON)
    assert errors == []
    assert list(running.handle.waiting_pods()) == []


def test_events_of_all_threads_are_recorded(running: Running) -> None:
    def record(number: int) -> None:
        for place in range(100):
            about = ObjectReference()
            event = RecordedEvent(about, about, "Normal", "Because", "Doing", f"{number}/{place}")
            running.handle.record_event(event)

    threads = [threading.Thread(target=record, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    assert len({event.note for event in running.recorded}) == 400


def test_the_clock_can_be_read_on_any_thread(running: Running) -> None:
    assert elsewhere(running.handle.clock.now) == running.cluster.clock.now()


def test_a_handle_without_a_scheduler_has_no_waiting_pods() -> None:
    handle: Handle = DetachedHandle()
    assert (handle.get_waiting_pod("u"), list(handle.waiting_pods())) == (None, [])
    assert not handle.allow_waiting_pod("u", "A")
    assert not handle.reject_waiting_pod("u")
