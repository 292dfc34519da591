"""The writing side of a live scheduler around fakes: outbox, dispatcher, status reporter, event recorder."""

import asyncio
import functools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from kubewasp.apiserver.api_resources import request_info
from kubewasp.apiserver.errors import ApiError
from kubewasp.apiserver.event_series import Write
from kubewasp.framework.cluster_events import RecordedEvent
from kubewasp.framework.status import Status
from kubewasp.k8s.pods import Pod
from kubewasp.live.dispatcher import Dispatcher
from kubewasp.live.event_recorder import EventRecorder
from kubewasp.live.inbox import Inbox
from kubewasp.live.outbox import Outbox, StatusPatches
from kubewasp.live.status_reporter import StatusReporter
from kubewasp.scheduler.attempt import Attempt
from tests.plugins.building import FakeClock, make_pod

if TYPE_CHECKING:
    from kubewasp.apiserver.writes import ClusterWrites
    from kubewasp.scheduler.scheduler import Scheduler

POD = make_pod("web")
SOON = 60.0


def asynchronous(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    @functools.wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


class WriteError(ApiError):
    """An error of the API server whose text is just that."""

    def __init__(self, text: str) -> None:
        super().__init__(request_info("GET", "/"), 0, "", text)
        self._text = text

    def __str__(self) -> str:
        return self._text


class FakeWrites:
    """Records requests and raises the given errors."""

    def __init__(self, **errors: str) -> None:
        self.errors = errors
        self.made: list[tuple[Any, ...]] = []

    async def _note(self, what: str, *details: Any) -> None:
        self.made.append((what, *details))
        if self.errors.get(what):
            raise WriteError(self.errors[what])

    async def bind(self, pod: Pod, node: str, annotations: Mapping[str, str] | None = None) -> None:
        await self._note("bind", pod.name, node, *([dict(annotations)] if annotations else ()))

    async def patch_status(self, pod: Pod, status: Mapping[str, Any]) -> None:
        await self._note("patch", pod.name, status)

    async def delete(self, pod: Pod) -> None:
        await self._note("delete", pod.name)

    async def update(self, manifest: Mapping[str, Any]) -> None:
        await self._note("update", manifest)

    async def event(self, write: Write) -> None:
        await self._note("event", write.manifest.get("reason", "series"), write.manifest.get("note", ""))

    def of(self, what: str) -> list[tuple[Any, ...]]:
        return [made[1:] for made in self.made if made[0] == what]


class FakeScheduler:
    """Notes the results of writes; stands for what the status reporter asks of a scheduler."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, ...]] = []
        self.waits = True
        self.asked = 0
        self.clock = FakeClock()
        self.binding = SimpleNamespace(is_held_up=lambda _uid: False)
        self.queue = SimpleNamespace(get=lambda uid: uid)

    def bound(self, uid: str, status: Status) -> None:
        self.heard.append(("bound", uid, status.reason))

    def is_left_waiting(self, _uid: str) -> bool:
        self.asked += 1
        return self.waits

    def evicting(self, victim: Pod, preemptor: Pod) -> None:
        self.heard.append(("evicting", victim.name, preemptor.name))

    def evicted(self, victim: Pod, preemptor: Pod) -> None:
        self.heard.append(("evicted", victim.name, preemptor.name))

    def not_evicted(self, victim: Pod, preemptor: Pod) -> None:
        self.heard.append(("not evicted", victim.name, preemptor.name))


class _Immediate(Inbox):
    """Runs actions at once."""

    def post(self, action: Callable[[], None]) -> None:
        action()


class Writing:
    """All parts, connected as in a process."""

    def __init__(self, writes: FakeWrites, *, leads: bool = True) -> None:
        self.scheduler, inbox, clock = FakeScheduler(), _Immediate(), FakeClock()
        sent = cast("ClusterWrites", writes)
        self.outbox = Outbox(asyncio.get_running_loop())
        self.patches = StatusPatches(sent, lambda: leads)
        self.events = EventRecorder(
            sent, self.outbox, clock, controller="default-scheduler", may_write=lambda: leads, hostname="host"
        )
        self.dispatcher = Dispatcher(
            writes=sent,
            outbox=self.outbox,
            inbox=inbox,
            patches=self.patches,
            events=self.events,
            clock=clock,
            may_write=lambda: leads,
        )
        self.dispatcher.subscribe(self.scheduler)
        scheduler = cast("Scheduler", self.scheduler)
        self.reporter = StatusReporter(scheduler, inbox, self.outbox, self.patches, self.events)

    async def drained(self, timeout: float = SOON) -> bool:
        return await self.outbox.drained(timeout)

    def bind(self, pod: Pod, node: str, annotations: Mapping[str, str] | None = None) -> Status:
        return self.dispatcher.bind(pod, node, annotations)

    def update(self, manifest: Mapping[str, Any]) -> Status:
        return self.dispatcher.update(manifest)

    def evict(self, victims: Sequence[Pod], preemptor: Pod, node: str) -> Status:
        return self.dispatcher.evict(victims, preemptor, node)

    def record(self, event: RecordedEvent) -> None:
        self.events.plugin_event(event)

    def scheduled(self, pod: Pod, node: str) -> None:
        self.reporter.attempted(Attempt(pod, node=node))

    def failed(self, pod: Pod, reason: str, message: str) -> None:
        self.reporter.attempted(Attempt(pod, message=message, is_error=reason == "SchedulerError"))

    def expected(self, pod: Pod, node: str) -> None:
        self.reporter.attempted(Attempt(pod, node=node, is_waiting=True))

    def forget(self, pod: Pod) -> None:
        self.reporter.forget(pod)
