"""Rollout of a running scheduler: composition of controller, staging thread and status."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kubewasp.rollout import rollout_status
from kubewasp.rollout.controller import RolloutController
from kubewasp.rollout.planning import started
from kubewasp.rollout.process_version import LeaderVersions, resolved
from kubewasp.rollout.reload_thread import ReloadRequests, ReloadThread
from kubewasp.rollout.reloader import ConfigChanges, Reloader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubewasp.framework.config.model import Profile, SchedulerConfig
    from kubewasp.framework.observer import SchedulerObserver
    from kubewasp.rollout.ledger import BadVersion
    from kubewasp.rollout.planning import Running
    from kubewasp.rollout.reload_source import ReloadSource
    from kubewasp.rollout.rollout_events import RolloutEvent, RolloutListener
    from kubewasp.rollout.rollout_status import RolloutHistory
    from kubewasp.rollout.staging import Stager
    from kubewasp.scheduler.scheduler import Scheduler

logger = logging.getLogger(__name__)
Result = TypeVar("Result")


def load_version(source: ReloadSource, config: SchedulerConfig, stager: Stager, observer: SchedulerObserver) -> Running:
    """Loads the guests of a configuration at the start of a process. Raises ConfigError."""
    version = resolved(config, stager.stage(config, ()), observer)
    return started(version, source.ledger, partial(stager.last_good, config))


class EventLog:
    """Log of rollout events. Failures of reloads are logged where they happen. Implements `RolloutListener`."""

    def happened(self, event: RolloutEvent) -> None:
        fields = {"plugin": event.plugin, "digest": event.digest, "stage": event.stage}
        extra = {name: value for name, value in fields.items() if value}
        if event.plugin or not event.is_warning:
            logger.log(logging.WARNING if event.is_warning else logging.INFO, "%s", event.message, extra=extra)

    def swapped(self, seconds: float) -> None:
        logger.debug("Profiles swapped", extra={"seconds": round(seconds, 6)})

    def compared(self, trial: object, found: object) -> None:
        pass

    def canary_decides(self, trial: object) -> None:
        pass


class RolloutService:
    """Reloads and rollouts of one scheduler. `post` runs an action on its thread, between two pods."""

    def __init__(
        self,
        scheduler: Scheduler,
        running: Running,
        *,
        source: ReloadSource,
        stager: Stager,
        observer: SchedulerObserver,
        history: RolloutHistory,
        post: Callable[[Callable[[], None]], None],
        requeue: Callable[[frozenset[str]], None],
        listeners: Sequence[RolloutListener] = (),
    ) -> None:
        ledger = source.ledger
        self._post = post
        self._ledger = ledger
        self.history = history
        told: list[RolloutListener] = [history, EventLog(), *listeners]
        self._is_stopping = False
        self._requests = ReloadRequests()
        self.controller = RolloutController(
            scheduler,
            running,
            observer=observer,
            ledger=ledger,
            background=self._requests.do,
            reload=partial(self._requests.ask, "a trial has ended"),
            requeue=requeue,
            listeners=told,
        )
        self._reloader = Reloader(
            read=source.read,
            stager=stager,
            controller=self.controller,
            post=post,
            listeners=told,
            is_stopping=lambda: self._is_stopping,
        )
        changes = ConfigChanges(source.file, self.controller, stager, ledger)
        self.thread = ReloadThread(self._requests, changes, self._reloader.reload)

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        self._is_stopping = True
        self.thread.stop()

    # ------------------------------------------------------------------ any thread

    @property
    def running(self) -> Running:
        return self.controller.running

    @property
    def config(self) -> SchedulerConfig:
        return self.running.version.config

    @property
    def profiles(self) -> Sequence[Profile]:
        return self.running.version.setup.profiles

    @property
    def bad_versions(self) -> list[tuple[str, BadVersion]]:
        return list(self._ledger.all_bad())

    def status(self) -> dict[str, Any]:
        return rollout_status.document(self.running, self.history, self.bad_versions)

    @property
    def versions(self) -> LeaderVersions:
        """The versions of this process, for its standbys."""
        version, bad = self.running.version, dict[str, list[str]]()
        for plugin, found in self.bad_versions:
            bad.setdefault(plugin, []).append(found.key.digest)
        references = {release.plugin: release.reference for release in version.releases.values()}
        return LeaderVersions(version.digests, references, bad)

    def follow(self, leader: LeaderVersions) -> None:
        """Follows the versions of the leader, between two pods."""
        self._post(partial(self.controller.follow, leader))

    def reload(self, cause: str, *, forgive: bool = False) -> None:
        """Requests a reload; `forgive`: versions judged bad are tried again."""
        if forgive:
            self._requests.do(self._ledger.forgive)
        self._requests.ask(cause)

    # ------------------------------------------------------------------ event loop

    async def promote(self, plugin: str = "") -> str:
        return await self._asked(lambda: self.controller.promote(plugin))

    async def abort(self, plugin: str = "") -> str:
        return await self._asked(lambda: self.controller.abort(plugin))

    async def _asked(self, question: Callable[[], Result]) -> Result:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Result] = loop.create_future()

        def run() -> None:
            try:
                result = question()
            except Exception as error:  # noqa: BLE001 - raised where it was asked for
                loop.call_soon_threadsafe(answer.set_exception, error)
            else:
                loop.call_soon_threadsafe(answer.set_result, result)

        self._post(run)
        return await answer
