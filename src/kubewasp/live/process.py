"""Scheduler process of a real cluster: composition, leader election, start and orderly end."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kubewasp.apiserver.lease import LeaderElection
from kubewasp.apiserver.writes import ClusterWrites
from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.errors import KubewaspError
from kubewasp.framework.observer import NO_OBSERVER
from kubewasp.live.cluster_watch import ClusterWatch
from kubewasp.live.dispatcher import Dispatcher
from kubewasp.live.event_recorder import EventRecorder
from kubewasp.live.inbox import Inbox, OwnerThread, on_owner_thread
from kubewasp.live.mirror import Mirror
from kubewasp.live.outbox import Outbox, StatusPatches
from kubewasp.live.recording.header import header_of
from kubewasp.live.recording.recorder import Recorder
from kubewasp.live.recording.turn_log import NotedClient, NotedSampling
from kubewasp.live.rollout_reporter import RolloutReporter, leader_versions, lease_annotations, lease_reference
from kubewasp.live.scheduling_loop import SchedulingLoop
from kubewasp.live.status_reporter import StatusReporter
from kubewasp.rollout.reload_source import ReloadSource
from kubewasp.rollout.rollout_service import RolloutService, load_version
from kubewasp.rollout.rollout_status import RolloutHistory
from kubewasp.rollout.staging import Stager
from kubewasp.scheduler.attempt import NoRecorder
from kubewasp.scheduler.composition import Environment
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.guest_log import LOGGER_SINK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.apiserver.client import ApiClient
    from kubewasp.apiserver.event_series import Reference
    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.framework.handle import Client, ClientListener
    from kubewasp.framework.observer import SchedulerObserver
    from kubewasp.k8s.pods import Pod
    from kubewasp.live.mirror import ObjectSink
    from kubewasp.live.recording.recorder import Recording
    from kubewasp.live.scheduling_loop import Steps
    from kubewasp.rollout.rollout_events import RolloutListener
    from kubewasp.scheduler.attempt import AttemptListener, DecisionRecorder
    from kubewasp.scheduler.scheduler import Scheduler
    from kubewasp.wasm.guest_log import GuestLogSink

logger = logging.getLogger(__name__)

_DRAIN_SECONDS: Final = 20.0


class ProcessError(KubewaspError):
    """The scheduler cannot go on; the text has the cause and the remedy."""


class ClusterProcess:
    """One replica of a cluster's scheduler; one of them leads. To be built in a running event loop."""

    def __init__(
        self,
        config: SchedulerConfig,
        client: ApiClient,
        identity: str,
        *,
        stop: asyncio.Event,
        table: NodeTable | None = None,
        observer: SchedulerObserver = NO_OBSERVER,
        recorder: DecisionRecorder | None = None,
        listeners: Sequence[AttemptListener] = (),
        guest_logs: GuestLogSink = LOGGER_SINK,
        source: ReloadSource | None = None,
        own_pod: Reference | None = None,
        rollout_listeners: Sequence[RolloutListener] = (),
        recording: Recording | None = None,
    ) -> None:
        """Composes the live scheduler: inbox, writes, scheduler, reports, watches, thread, reloads. `stop` ends `run`.

        `source` gives the configuration again; `own_pod` is the pod that events about the scheduler are about.
        `recording` gets all that the scheduler's thread takes in and decides.
        """
        loop, clock, self._inbox = asyncio.get_running_loop(), SYSTEM_CLOCK, Inbox()
        self._identity = identity
        self._client = client
        self._stop = stop
        self._problem: BaseException | None = None
        self._is_begun = self._leads = False
        self.election = self._election(config) if config.leader_election.leader_elect else None

        writes = ClusterWrites(client.guarded(self._may_write))
        self._outbox = Outbox(loop)
        patches = StatusPatches(writes, self._may_write)
        controller = config.profiles[0].scheduler_name
        self.events = EventRecorder(writes, self._outbox, clock, controller=controller, may_write=self._may_write)
        dispatcher = Dispatcher(
            writes=writes,
            outbox=self._outbox,
            inbox=self._inbox,
            patches=patches,
            events=self.events,
            clock=clock,
            may_write=self._may_write,
        )
        source = ReloadSource(lambda: config) if source is None else source
        stager = _stager(source, observer, guest_logs, recording)
        running = load_version(source, config, stager, observer)
        noted = _noted(dispatcher, recorder, recording)
        self.scheduler: Scheduler = running.version.setup.scheduler(
            Environment(
                table=NodeTable() if table is None else table,
                listeners=listeners,
                record_event=self.events.plugin_event,
                wake=self._inbox.wake,
                **noted,
            )
        )
        reporter = StatusReporter(self.scheduler, self._inbox, self._outbox, patches, self.events)
        self.scheduler.subscribe(reporter)
        self._mirror = Mirror(self.scheduler.events, self.scheduler.store, on_pod_gone=reporter.forget)
        steps: Steps = self.scheduler
        sink: ObjectSink = self._mirror
        results: ClientListener = self.scheduler
        if recording is not None:
            tap = Recorder(recording, self.scheduler, self._mirror, lambda: header_of(self.rollout.running.version))
            steps, sink, results = tap, tap, tap
            rollout_listeners = [*rollout_listeners, tap]
        dispatcher.subscribe(results)
        self.watch = ClusterWatch(client, sink, self._inbox)
        self.rollout = RolloutService(
            self.scheduler,
            running,
            source=source,
            stager=stager,
            observer=observer,
            history=RolloutHistory(clock.wall),
            post=self._inbox.post,
            requeue=self._mirror.requeue,
            listeners=[RolloutReporter(self.events, own_pod or self._lease(config)), *rollout_listeners],
        )
        self._loop = SchedulingLoop(steps, self._inbox)
        self._thread = OwnerThread(
            self._inbox, self._loop.step, name="kubewasp-scheduler", on_end=partial(self._thread_ended, loop)
        )

    def _election(self, config: SchedulerConfig) -> LeaderElection:
        settings = config.leader_election
        return LeaderElection(
            self._client.sibling(),
            settings.resource_namespace,
            settings.resource_name,
            self._identity,
            lease_duration=settings.lease_duration,
            renew_deadline=settings.renew_deadline,
            retry_period=settings.retry_period,
            on_started=self._lead,
            on_stopped=self._deposed,
            annotations=lambda: lease_annotations(self.rollout.versions),
            on_followed=lambda annotations: self.rollout.follow(leader_versions(annotations)),
        )

    def _lease(self, config: SchedulerConfig) -> Reference | None:
        settings = config.leader_election
        is_there = settings.leader_elect
        return lease_reference(settings.resource_namespace, settings.resource_name) if is_there else None

    def _may_write(self) -> bool:
        return self.election is None or self.election.is_leader

    # ------------------------------------------------------------------ state, for health, metrics, console

    def pods(self) -> dict[str, Pod]:
        """The observed pods by `namespace/name`, without finished ones. Safe from any thread."""
        return self._mirror.pods.copy()

    @property
    def is_synced(self) -> bool:
        return self.watch.is_synced

    @property
    def is_alive(self) -> bool:
        """Whether the scheduler's thread runs, has not begun, or was stopped."""
        return not self._is_begun or self.is_stopping or self._thread.is_alive

    @property
    def is_stopping(self) -> bool:
        return self._stop.is_set()

    @property
    def leads(self) -> bool:
        """Whether it schedules: state synced, lease held."""
        return self._leads and self._may_write()

    @property
    def has_lost_lease(self) -> bool:
        """Whether it schedules with an expired lease."""
        return self._leads and not self._may_write()

    # ------------------------------------------------------------------ running

    async def run(self) -> None:
        """Schedules until stopped or failed."""
        self._thread.start()
        self.rollout.start()
        self._is_begun = True
        tasks = [
            asyncio.create_task(self.watch.run()),
            asyncio.create_task(self.events.write_series()),
            asyncio.create_task(self._begin()),
        ]
        try:
            await self._until_stopped(tasks)
        finally:
            await self._end(tasks)
        if self._problem is not None:
            raise self._problem

    async def _begin(self) -> None:
        """Starts scheduling once the state is synced and the election, if any, is won."""
        await self.watch.synced()
        profiles = self.scheduler.frameworks
        foreign = await on_owner_thread(self._inbox, lambda: self._mirror.foreign_pods(profiles))
        nodes, pending = len(self.scheduler.table), len(self.scheduler.queue)
        counts = {"nodes": nodes, "pending": pending, "profiles": list(profiles), "foreign": dict(foreign)}
        logger.info("Cluster state synced", extra=counts)
        if not nodes:
            logger.warning("No nodes: pods stay pending")
        if foreign and not pending:
            logger.warning("No pending pod names a profile of this scheduler", extra=counts)
        if self.election is not None:
            await self.election.run()
        else:
            self._lead()
            await self._stop.wait()

    def _lead(self) -> None:
        logger.info("Started scheduling", extra={"identity": self._identity})
        self._leads = True
        self._loop.set_active(True)

    def _deposed(self) -> None:
        """Ends the process after the loss of leadership, as its assumed pods may be wrong from now on."""
        self._loop.set_active(False)
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
                    self._problem = error
        finally:
            stopped.cancel()

    async def _end(self, tasks: list[asyncio.Task[None]]) -> None:
        """Stops scheduling and completes binds in progress; the election task releases the lease."""
        self._stop.set()
        self.rollout.stop()
        self._loop.set_active(False)
        stopped = await asyncio.to_thread(self._thread.stop, _DRAIN_SECONDS)
        # A deposed leader must not send pending writes.
        drained = await self._outbox.drained(_DRAIN_SECONDS if self._may_write() else 0.0)
        if not (stopped and drained):
            logger.warning("Stopped with requests in progress", extra={"requests": self._outbox.under_way})
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _thread_ended(self, loop: asyncio.AbstractEventLoop, error: BaseException | None) -> None:
        def note() -> None:
            if error is not None:
                self._problem = error
            self._stop.set()

        loop.call_soon_threadsafe(note)


def _stager(
    source: ReloadSource, observer: SchedulerObserver, logs: GuestLogSink, recording: Recording | None
) -> Stager:
    if recording is None:
        return Stager(source.ledger, observer, logs)
    keep = recording.writer.keep_guest
    return Stager(source.ledger, observer, logs, repeatable=recording.repeatable, keep=keep)


def _noted(client: Client, recorder: DecisionRecorder | None, recording: Recording | None) -> dict[str, Any]:
    """The parts of a scheduler's environment that a recording notes."""
    if recording is None:
        return {"clock": SYSTEM_CLOCK, "client": client, "recorder": recorder or NoRecorder()}
    return {
        "clock": recording.clock,
        "client": NotedClient(client, recording.notes),
        "recorder": NotedSampling(recorder, recording.notes),
        "make_random": recording.make_random,
        "seed": recording.seed,
    }
