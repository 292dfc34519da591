"""Reload of a scheduler's configuration: read, stage, plan, hand over to the scheduler's thread, report."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from kubewasp.errors import KubewaspError
from kubewasp.framework.config.guest_urls import local_path
from kubewasp.framework.unexpected import described
from kubewasp.rollout import rollout_events as events
from kubewasp.rollout.file_watch import FileWatch
from kubewasp.rollout.planning import check_fixed
from kubewasp.rollout.rollout_events import RolloutEvent
from kubewasp.rollout.staging import is_tag_followed
from kubewasp.wasm.compilation import in_background
from kubewasp.wasm.guest_files import signature_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kubewasp.framework.config.model import SchedulerConfig, WasmPluginSettings
    from kubewasp.rollout.ledger import Ledger
    from kubewasp.rollout.planning import Running
    from kubewasp.rollout.release import Release
    from kubewasp.rollout.rollout_events import RolloutListener
    from kubewasp.rollout.staging import Stager

logger = logging.getLogger(__name__)
# Seconds until a busy scheduler's thread must have taken a version over.
_HAND_OVER: Final = 60.0
_PATIENCE: Final = 1.0


class HandOverError(KubewaspError):
    """The scheduler's thread did not take a new version."""


class Versions(Protocol):
    """Owner of the versions of a process: a `RolloutController`, or one without trials."""

    running: Running

    def plan(self, config: SchedulerConfig, releases: Mapping[tuple[str, str], Release]) -> tuple[Running, Running]: ...

    def apply(
        self, basis: Running, new: Running, config: SchedulerConfig, releases: Mapping[tuple[str, str], Release]
    ) -> None: ...


class Reloader:
    """Reloads on the thread that stages. `read` gives the configuration of the file, with options of the command line.

    `post` runs an action on the scheduler's thread.
    """

    def __init__(
        self,
        *,
        read: Callable[[], SchedulerConfig],
        stager: Stager,
        controller: Versions,
        post: Callable[[Callable[[], None]], None],
        listeners: Sequence[RolloutListener],
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._read = read
        self._stager = stager
        self._controller = controller
        self._post = post
        self._listeners = listeners
        self._is_stopping = is_stopping
        self._failure = ""

    def reload(self, cause: str) -> str:
        """Reloads; returns the failure, or an empty text. A failure changes nothing."""
        try:
            self._reload(cause)
        except Exception as error:
            is_known = isinstance(error, KubewaspError)
            text = str(error) if is_known else described(error)
            if text != self._failure:  # a retry that fails alike is counted only
                fields = {"cause": cause, "err": text}
                trace = None if is_known else error
                logger.error("Reload failed, the version in use stays", extra=fields, exc_info=trace)  # noqa: TRY400
            self._tell(RolloutEvent(events.RELOAD_FAILED, text))
            self._failure = text
            return text
        self._failure = ""
        return ""

    def _reload(self, cause: str) -> None:
        logger.info("Reloading", extra={"cause": cause})
        controller, config = self._controller, self._read()
        check_fixed(controller.running.version.config, config)
        known = controller.running.releases()
        with in_background():
            releases = self._stager.stage(config, known)
        try:
            basis, new = controller.plan(config, releases)
            self._on_owner(lambda: controller.apply(basis, new, config, releases))
        except BaseException:
            self._stager.discard(releases.values(), controller.running.releases())
            raise

    def _on_owner(self, action: Callable[[], None]) -> None:
        """Runs an action on the scheduler's thread, and waits for it."""
        done, claimed, raised = threading.Event(), threading.Lock(), list[Exception]()

        def run() -> None:
            if not claimed.acquire(blocking=False):
                return  # given up
            try:
                action()
            except Exception as error:  # noqa: BLE001 - raised where it was asked for
                raised.append(error)
            finally:
                done.set()

        self._post(run)
        waited = 0.0
        while not done.wait(_PATIENCE):
            waited += _PATIENCE
            if (waited >= _HAND_OVER or self._is_stopping()) and claimed.acquire(blocking=False):
                raise HandOverError("the scheduler's thread did not take the new version in time")
        if raised:
            raise raised[0]

    def _tell(self, event: RolloutEvent) -> None:
        for listener in self._listeners:
            listener.happened(event)


class ConfigChanges:
    """Changes of a configuration file and of the guests that it names. Implements `Changes`."""

    def __init__(self, config_file: str, controller: Versions, stager: Stager, ledger: Ledger) -> None:
        self._config_file = config_file
        self._controller = controller
        self._stager = stager
        self._ledger = ledger
        self._files = FileWatch()
        self._failing: set[str] = set()
        self._files.follow(self._watched())

    @property
    def interval(self) -> float | None:
        settings = self._controller.running.version.config.reload
        return settings.interval if settings.watch else None

    def in_files(self) -> Sequence[str]:
        self._files.follow(self._watched())
        return self._files.changed()

    def in_tags(self) -> Sequence[str]:
        config = self._controller.running.version.config
        sources, known, found = self._stager.sources(config), self._known(), []
        for plugin, settings in _guests(config):
            url = str(settings.guest_url)
            if not is_tag_followed(settings):
                continue
            try:
                meaning = sources.resolve(url)
            except KubewaspError as error:
                if url not in self._failing:
                    self._failing.add(url)
                    logger.warning("Tag not checked", extra={"plugin": plugin, "err": str(error)})
                continue
            self._failing.discard(url)
            if (plugin, meaning) not in known:
                found.append(url)
        return found

    def _known(self) -> set[tuple[str, str]]:
        """Meanings of addresses that need no reload: in use, on trial, or judged bad."""
        used = {(release.plugin, release.reference) for release in self._controller.running.releases()}
        return used | {(plugin, bad.reference) for plugin, bad in self._ledger.all_bad()}

    def _watched(self) -> Iterator[str]:
        if self._config_file:
            yield self._config_file
        for _, settings in _guests(self._controller.running.version.config):
            path = local_path(settings.guest_url) if isinstance(settings.guest_url, str) else None
            if path:
                yield path
                yield from map(str, signature_files(Path(path)))


def _guests(config: SchedulerConfig) -> Iterator[tuple[str, WasmPluginSettings]]:
    """The enabled wasm plugins of all profiles."""
    for profile in config.profiles:
        for plugin in profile.plugin_names:
            if plugin in profile.wasm:
                yield plugin, profile.wasm[plugin]
