"""Worker processes of a web server: started, watched, replaced after a crash, reloaded and stopped together.

Each worker has a listening socket of its own for the same port, and the kernel spreads connections over them. The
supervisor keeps all sockets open: connections to a worker that has crashed wait for its successor.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kubewasp.errors import KubewaspError
from kubewasp.web import worker_metrics
from kubewasp.web.worker_link import WorkerLink

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubewasp.web.worker_metrics import Families

logger = logging.getLogger(__name__)
# More ends of workers in this time end the server.
MAX_ENDS: Final = 10
ENDS_SECONDS: Final = 60.0
# Pause before a worker is replaced that has not become ready: twice as long each time, up to the last one.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_REPORT_SECONDS: Final = 5.0


class WorkersError(KubewaspError):
    """Workers that cannot start, or end too often."""


@dataclass(frozen=True, slots=True)
class Report:
    """State of a worker: metrics, reloads, and its configuration without secrets."""

    metrics: Families = field(default_factory=list)
    reloads: dict[str, Any] = field(default_factory=dict)
    configuration: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Worker:
    """One process, and the channel to it."""

    process: asyncio.subprocess.Process
    link: WorkerLink
    began: asyncio.Future[str]  # its URL, or WorkersError
    report: Report = field(default_factory=Report)
    asked: asyncio.Future[None] | None = None

    @property
    def is_ready(self) -> bool:
        began = self.began
        return began.done() and not began.cancelled() and began.exception() is None and self.process.returncode is None


class WorkerGroup:
    """Workers of one server, on the running event loop."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        command: Callable[[int, int], Sequence[str]],
        *,
        standard_input: bytes = b"",
        grace_seconds: float = 30,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`command`: the command line of a worker for the descriptors of its listening socket and its channel."""
        self.failed: asyncio.Future[WorkersError] = asyncio.get_running_loop().create_future()
        self.restarts = 0
        self._sockets = sockets
        self._command = command
        self._standard_input = standard_input
        self._grace_seconds = grace_seconds
        self._clock = clock
        self._workers: dict[int, _Worker] = {}
        self._ended: Families = []
        self._ends: deque[float] = deque(maxlen=MAX_ENDS)
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_stopping = False
        self._collecting = asyncio.Lock()

    @property
    def ready(self) -> int:
        """Number of workers that serve requests."""
        return sum(worker.is_ready for worker in self._workers.values())

    async def start(self) -> str:
        """The URL, once all serve. The first one alone: it compiles the guests for all. Raises WorkersError."""
        first = await self._start(0)
        try:
            url = await first.began
            others = [await self._start(number) for number in range(1, len(self._sockets))]
            await asyncio.gather(*(worker.began for worker in others))
        except WorkersError:
            await self.stop()
            raise
        for number, worker in self._workers.items():
            self._run(self._watch(number, worker))
        return url

    async def stop(self) -> None:
        """Stops accepting, and waits for requests in progress."""
        self._is_stopping = True
        for task in self._tasks:
            task.cancel()
        for listening in self._sockets:
            listening.close()
        for worker in self._workers.values():
            worker.link.send("stop")
        workers = list(self._workers.values())
        ends = [asyncio.create_task(worker.process.wait()) for worker in workers]
        if ends:
            await asyncio.wait(ends, timeout=self._grace_seconds + _REPORT_SECONDS)
        for worker in workers:
            if worker.process.returncode is None:
                logger.error("Worker killed: it did not stop in time", extra={"pid": worker.process.pid})
                worker.process.kill()
                await worker.process.wait()
            await worker.link.close()

    # ------------------------------------------------------------------ for the operations endpoints

    def reload(self, cause: str, *, forgive: bool = False) -> None:  # noqa: ARG002 - no versions are judged here
        """Requests a reload in all workers."""
        for worker in self._workers.values():
            worker.link.send("reload", cause)

    def status(self) -> dict[str, Any]:
        """Reloads of the worker with the most failures, as of the last report."""
        found = [worker.report.reloads for worker in self._workers.values() if worker.report.reloads]
        return max(found, key=lambda one: one["reloads"]["failed"], default={"plugins": [], "reloads": {}})

    def configuration(self) -> dict[str, Any]:
        """As of the last report."""
        return next((worker.report.configuration for worker in self._workers.values()), {})

    async def metrics(self) -> Families:
        """Metrics of all workers, added up."""
        await self.collect()
        reports = [worker.report.metrics for worker in self._workers.values()]
        own = worker_metrics.of_group(self.ready, self.restarts)
        return [*worker_metrics.added_up([self._ended, *reports]), *own]

    async def collect(self) -> None:
        """Asks all workers for a report. A worker that does not answer in time keeps its last one."""
        async with self._collecting:
            asked = []
            for worker in self._workers.values():
                if worker.is_ready:
                    worker.asked = asyncio.get_running_loop().create_future()
                    asked.append(worker.asked)
                    worker.link.send("report")
            if asked:
                await asyncio.wait(asked, timeout=_REPORT_SECONDS)

    # ------------------------------------------------------------------ one worker

    async def _start(self, number: int) -> _Worker:
        ours, theirs = socket.socketpair()
        listening = self._sockets[number].fileno()
        command = self._command(listening, theirs.fileno())
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *command, pass_fds=(listening, theirs.fileno()), stdin=asyncio.subprocess.PIPE
            )
        if process.stdin is not None:
            process.stdin.write(self._standard_input)
            process.stdin.close()
        worker = _Worker(process, await WorkerLink.over(ours), asyncio.get_running_loop().create_future())
        self._workers[number] = worker
        self._run(self._listen(worker))
        return worker

    async def _listen(self, worker: _Worker) -> None:
        while (message := await worker.link.receive()) is not None:
            kind, content = message
            if kind == "ready" and not worker.began.done():
                worker.began.set_result(content)
            elif kind == "failed" and not worker.began.done():
                worker.began.set_exception(WorkersError(content))
            elif kind == "report":
                worker.report = Report(**content)
                if worker.asked is not None and not worker.asked.done():
                    worker.asked.set_result(None)
        if worker.asked is not None and not worker.asked.done():
            worker.asked.set_result(None)
        if not worker.began.done():
            code = await worker.process.wait()
            worker.began.set_exception(WorkersError(f"worker ended at its start: {_ending(code)}"))

    async def _watch(self, number: int, worker: _Worker) -> None:
        """Replaces a worker after its end."""
        pause = 0.0
        while True:
            code = await worker.process.wait()
            self._ended = worker_metrics.added_up([self._ended, worker_metrics.lasting(worker.report.metrics)])
            worker.report = Report()
            await worker.link.close()
            logger.error("Worker ended", extra={"worker": number, "pid": worker.process.pid, "end": _ending(code)})
            if self._gives_up():
                text = f"more than {MAX_ENDS} workers ended within {ENDS_SECONDS:g} s; the last one: {_ending(code)}"
                self.failed.set_result(WorkersError(text))
                return
            await asyncio.sleep(pause)
            self.restarts += 1
            worker = await self._start(number)
            try:
                await worker.began
            except WorkersError as error:
                pause = min(max(pause * 2, _FIRST_PAUSE), _LONGEST_PAUSE)
                logger.error("Worker not started", extra={"worker": number, "problem": str(error)})  # noqa: TRY400
            else:
                pause = 0.0
                logger.info("Worker started", extra={"worker": number, "pid": worker.process.pid})

    def _gives_up(self) -> bool:
        now = self._clock()
        often = len(self._ends) == MAX_ENDS and now - self._ends[0] < ENDS_SECONDS
        self._ends.append(now)
        return often and not self.failed.done()

    def _run(self, step: Any) -> None:
        task = asyncio.get_running_loop().create_task(step)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
