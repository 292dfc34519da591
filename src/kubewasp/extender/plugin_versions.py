"""Versions of an extender's plugins: swapped between two requests, without trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.extender import verb_plugins
from kubewasp.framework.config.model import ConfigError, Problem
from kubewasp.framework.runtime import Framework
from kubewasp.rollout import rollout_events as events
from kubewasp.rollout import rollout_status
from kubewasp.rollout.planning import Running
from kubewasp.rollout.process_version import resolved, unchanged
from kubewasp.rollout.reload_thread import ReloadThread
from kubewasp.rollout.reloader import ConfigChanges, Reloader
from kubewasp.rollout.rollout_events import RolloutEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from kubewasp.framework.config.model import Profile, SchedulerConfig
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.observer import SchedulerObserver
    from kubewasp.framework.plugin import Plugin
    from kubewasp.rollout.process_version import Version
    from kubewasp.rollout.release import Release
    from kubewasp.rollout.reload_source import ReloadSource
    from kubewasp.rollout.reload_thread import ReloadRequests
    from kubewasp.rollout.rollout_events import RolloutListener
    from kubewasp.rollout.rollout_status import RolloutHistory
    from kubewasp.rollout.staging import Stager

    Releases = Mapping[tuple[str, str], Release]


class PluginVersions:
    """The plugins in use, by profile. `apply` is for the worker thread, on which no request is in progress then."""

    def __init__(
        self,
        version: Version,
        handle: SchedulerHandle,
        *,
        observer: SchedulerObserver,
        added: Collection[str],
        all_plugins: bool,
        background: Callable[[Callable[[], None]], None],
        listeners: Sequence[RolloutListener],
    ) -> None:
        self.running = Running(version)
        self._handle = handle
        self._observer = observer
        self._added = added
        self._all_plugins = all_plugins
        self._background = background
        self._listeners = listeners
        self._ended: list[Callable[[Sequence[Plugin]], None]] = []
        self._users: list[Callable[[Mapping[str, Framework]], None]] = []
        self.profiles: Sequence[Profile] = self._restricted(version)
        self.needs_all_objects = verb_plugins.needs_all_objects(self.profiles)
        self.frameworks: Mapping[str, Framework] = {}
        self.frameworks = self._made(version, version)

    def subscribe(self, user: Callable[[Mapping[str, Framework]], None]) -> None:
        """Calls a user of the plugins with those of another version, on the worker thread."""
        self._users.append(user)

    def on_ended(self, listener: Callable[[Sequence[Plugin]], None]) -> None:
        """Calls the listener with plugins that are out of use."""
        self._ended.append(listener)

    def plugins(self) -> list[Plugin]:
        """All plugins in use. Any thread."""
        return [plugin for framework in self.frameworks.values() for plugin in framework.plugins.values()]

    def plan(self, config: SchedulerConfig, releases: Releases) -> tuple[Running, Running]:
        version = resolved(config, releases, self._observer, added=self._added)
        profiles = self._restricted(version)
        if verb_plugins.needs_all_objects(profiles) and not self.needs_all_objects:
            text = "a plugin needs objects that are not watched: restart the extender"
            raise ConfigError([Problem("profiles", text)], source=config.source)
        return self.running, Running(version)

    def apply(self, basis: Running, new: Running, config: SchedulerConfig, releases: Releases) -> None:  # noqa: ARG002
        """Swaps the plugins. Requests in progress are none: they run on this thread."""
        before, old = basis.version, self.frameworks
        made = self._made(new.version, before)
        self.profiles, self.frameworks, self.running = self._restricted(new.version), made, new
        for user in self._users:
            user(made)
        kept = {id(plugin) for plugin in self.plugins()}
        earlier = (plugin for framework in old.values() for plugin in framework.plugins.values())
        ended = [plugin for plugin in earlier if id(plugin) not in kept]
        for plugin in ended:
            plugin.close()
        for told in self._ended:
            told(ended)
        guests = {id(release.guest) for release in new.version.releases.values()}
        for release in {id(item.guest): item for item in before.releases.values()}.values():
            if id(release.guest) not in guests:
                self._background(release.guest.close)
        for listener in self._listeners:
            listener.happened(RolloutEvent(events.RELOADED, "Configuration reloaded"))

    def _restricted(self, version: Version) -> Sequence[Profile]:
        return verb_plugins.restricted(
            version.setup.profiles, all_plugins=self._all_plugins, source=version.config.source
        )

    def _made(self, version: Version, before: Version) -> Mapping[str, Framework]:
        found = {}
        for profile in self._restricted(version):
            name = profile.scheduler_name
            old = self.frameworks.get(name)
            kept = unchanged(profile, old, version, before)
            points = version.setup.registry.create(profile, self._handle, kept)
            found[name] = Framework(name, points, self._observer, before=old)
        return found


class ExtenderReload:
    """Reloads of an extender. `post` runs an action on the worker thread, between two requests."""

    def __init__(
        self,
        versions: PluginVersions,
        requests: ReloadRequests,
        *,
        source: ReloadSource,
        stager: Stager,
        history: RolloutHistory,
        post: Callable[[Callable[[], None]], None],
        listeners: Sequence[RolloutListener],
    ) -> None:
        self._versions = versions
        self._requests = requests
        self._ledger = source.ledger
        self._history = history
        reloader = Reloader(read=source.read, stager=stager, controller=versions, post=post, listeners=listeners)
        changes = ConfigChanges(source.file, versions, stager, source.ledger)
        self._thread = ReloadThread(requests, changes, reloader.reload)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._thread.stop()

    def reload(self, cause: str, *, forgive: bool = False) -> None:
        if forgive:
            self._requests.do(self._ledger.forgive)
        self._requests.ask(cause)

    def status(self) -> dict[str, Any]:
        return rollout_status.document(self._versions.running, self._history, list(self._ledger.all_bad()))
