"""A scheduler that serves a cluster: watches it, is the leader or waits to be, schedules, and ends in order."""

from __future__ import annotations

import asyncio
import gc
import logging
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from kubewasp.apiserver.api_resources import PODS, RESOURCES
from kubewasp.apiserver.client import wait_for_server
from kubewasp.apiserver.errors import ApiError, ServerTooOldError
from kubewasp.apiserver.lease import LeaderElection
from kubewasp.apiserver.reflector import OutageLog, Reflector
from kubewasp.apiserver.writes import ClusterWrites
from kubewasp.clock import SystemClock
from kubewasp.live.dispatcher import ClusterReporter
from kubewasp.live.inbox import LiveScheduler
from kubewasp.live.mirror import Feed, Intake
from kubewasp.scheduler import profiles
from kubewasp.scheduler.scheduler import Scheduler

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence

    from kubewasp.apiserver.client import ApiClient
    from kubewasp.framework.config.model import Profile, SchedulerConfig
    from kubewasp.scheduler.scheduler import Attempt

logger = logging.getLogger(__name__)

# In this order they are taken in: pods last, when all that decides about them is there.
WATCHED: Final = (
    "namespaces",
    "storageclasses",
    "csidrivers",
    "csinodes",
    "csistoragecapacities",
    "volumeattachments",
    "persistentvolumes",
    "persistentvolumeclaims",
    "services",
    "replicationcontrollers",
    "replicasets",
    "statefulsets",
    "poddisruptionbudgets",
    "nodes",
    "pods",
)
NOT_FINISHED: Final = "status.phase!=Succeeded,status.phase!=Failed"
_DRAIN_SECONDS: Final = 20.0
# Changes that wait to be taken in, at most (and what one read from a watch brings on top), and when to look again.
_MOST_WAITING: Final = 10_000
_LOOK_AGAIN: Final = 0.02


class ProcessError(Exception):
    """The scheduler cannot go on; the text says why and what to do."""


@dataclass(slots=True)
class ClusterProcess:
    """One of the schedulers of a cluster, of which one is the leader."""

    config: SchedulerConfig
    client: ApiClient
    identity: str
    on_made: Callable[[Scheduler], None] = lambda _scheduler: None  # told before it begins
    on_attempt: Callable[[Attempt], None] = lambda _attempt: None  # told on the scheduler's thread
    is_synced: bool = False
    election: LeaderElection | None = None
    profiles: Sequence[Profile] = ()
    scheduler: Scheduler = field(init=False)
    intake: Intake = field(init=False)
    live: LiveScheduler = field(init=False)
    reporter: ClusterReporter = field(init=False)
    reflectors: list[Reflector] = field(default_factory=list)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _problem: BaseException | None = None
    _is_begun: bool = False
    _leads: bool = False

    def stop(self) -> None:
        """Ends `run` in order. To be called on the event loop."""
        self._stop.set()

    @property
    def is_alive(self) -> bool:
        """Whether all goes as it should: the scheduler's thread runs, or does not run yet, or was told to end."""
        return not self._is_begun or self.is_stopping or self.live.is_alive

    @property
    def is_stopping(self) -> bool:
        return self._stop.is_set()

    @property
    def is_leader(self) -> bool:
        return self.election is None or self.election.is_leader

    @property
    def leads(self) -> bool:
        """Whether it schedules: it knows the cluster, and is the leader."""
        return self._leads and self.is_leader

    @property
    def has_lost_lease(self) -> bool:
        """Whether it still schedules although its lease was not renewed in time."""
        return self._leads and not self.is_leader

    async def run(self) -> None:
        """Serves the cluster until it is stopped, or cannot go on."""
        loop = asyncio.get_running_loop()
        clock = SystemClock()
        writes = ClusterWrites(self.client.guarded(lambda: self.is_leader))
        self.reporter = ClusterReporter(writes, loop, clock, may_write=lambda: self.is_leader)
        self.scheduler = Scheduler(clock, self.reporter)
        self.profiles = profiles.start(self.scheduler, self.config)
        self.on_made(self.scheduler)
        self.live = LiveScheduler(
            self.scheduler, self.reporter, on_end=partial(self._thread_ended, loop), on_attempt=self.on_attempt
        )
        self.reporter.live = self.live
        controller = self.config.profiles[0].scheduler_name
        self.scheduler.on_event = partial(self.reporter.record, controller=controller)
        if self.config.leader_election.leader_elect:
            self.election = self._election()
        self.intake = Intake(self.scheduler, on_gone=self.reporter.forget)
        self.live.start()
        self._is_begun = True
        tasks = [asyncio.create_task(wait_for_server(self.client))]
        try:
            await self._until_stopped(tasks)
            if self._problem is None and not self._stop.is_set():
                tasks = self._watch()
                await self._until_stopped(tasks)
        finally:
            await self._end(tasks)
        if self._problem is not None:
            raise self._problem

    # ------------------------------------------------------------------ beginning

    def _election(self) -> LeaderElection:
        settings = self.config.leader_election
        return LeaderElection(
            self.client.sibling(),
            settings.resource_namespace,
            settings.resource_name,
            self.identity,
            lease_duration=settings.lease_duration,
            renew_deadline=settings.renew_deadline,
            retry_period=settings.retry_period,
            on_started=self._lead,
            on_stopped=self._deposed,
        )

    def _watch(self) -> list[asyncio.Task[None]]:
        outages = OutageLog()
        for name in WATCHED:
            resource = RESOURCES[name]
            selector = NOT_FINISHED if resource is PODS else ""
            feed = Feed(resource.kind, self.intake, self.live.post)
            self.reflectors.append(
                Reflector(
                    self.client, resource, feed, field_selector=selector, outages=outages, has_room=self._inbox_has_room
                )
            )
        tasks = [asyncio.create_task(reflector.run()) for reflector in self.reflectors]
        tasks.append(asyncio.create_task(self.reporter.write_due_events()))
        tasks.append(asyncio.create_task(self._begin()))
        return tasks

    async def _inbox_has_room(self) -> None:
        """Watches are read no faster than the scheduler takes in what they say, so that memory stays bounded."""
        while self.live.backlog > _MOST_WAITING and not self._stop.is_set():
            await asyncio.sleep(_LOOK_AGAIN)

    async def _begin(self) -> None:
        """Schedules once everything is known; with an election, once it is won."""
        for reflector in self.reflectors:
            await reflector.synced.wait()
        foreign = await self._taken_in()
        self.is_synced = True
        gc.freeze()  # most of what is known now stays: the collector need not look at it over and over
        nodes, waiting, served = len(self.scheduler.table), len(self.scheduler.queue), list(self.scheduler.frameworks)
        told = {"profiles": served, "foreign": dict(foreign)}
        logger.info("the cluster is known: %d nodes, %d pods to schedule", nodes, waiting, extra=told)
        if not nodes:
            logger.warning("there are no nodes yet: pods wait until there are")
        if foreign and not waiting:
            logger.warning("no pod names a profile of this scheduler; all that wait are for others", extra=told)
        if self.election is not None:
            await self.election.run()
        else:
            self._lead()
            await self._stop.wait()

    async def _taken_in(self) -> Counter[str]:
        """Waits until the scheduler has taken in what was posted to it; then, whose other pods wait."""
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Counter[str]] = loop.create_future()

        def tell() -> None:
            foreign = self.intake.foreign_pods()
            loop.call_soon_threadsafe(lambda: None if found.done() else found.set_result(foreign))

        self.live.post(tell)
        return await found

    # ------------------------------------------------------------------ leading

    def _lead(self) -> None:
        logger.info("%s schedules", self.identity)
        self._leads = True
        self.live.set_active(True)

    def _deposed(self) -> None:
        """Another one leads: what this process knows of its own pods may be wrong from now on, so it ends."""
        self.live.set_active(False)
        self._leads = False
        if not self._stop.is_set():
            self._problem = ProcessError("this scheduler is no longer the leader")
            self._stop.set()

    # ------------------------------------------------------------------ ending

    async def _until_stopped(self, tasks: list[asyncio.Task[None]]) -> None:
        stopped = asyncio.create_task(self._stop.wait())
        try:
            done, _ = await asyncio.wait([stopped, *tasks], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if task is not stopped and (error := task.exception()) is not None:
                    is_told = isinstance(error, ApiError | ServerTooOldError)
                    self._problem = ProcessError(str(error)) if is_told else error
        finally:
            stopped.cancel()

    async def _end(self, tasks: list[asyncio.Task[None]]) -> None:
        """No new pod; what is being bound is brought to an end; then the lease is given back (by its own task)."""
        self._stop.set()
        self.live.set_active(False)
        stopped = await asyncio.to_thread(self.live.stop, _DRAIN_SECONDS)
        # Who is deposed has nothing to wait for: what it has not sent by now is not to be sent.
        drained = await self.reporter.drained(_DRAIN_SECONDS if self.is_leader else 0.0)
        if not (stopped and drained):
            logger.warning("%d requests had not ended when the scheduler stopped", self.reporter.under_way)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _thread_ended(self, loop: asyncio.AbstractEventLoop, error: BaseException | None) -> None:
        def note() -> None:
            if error is not None:
                self._problem = error
            self._stop.set()

        loop.call_soon_threadsafe(note)
