"""Plugins from `pluginConfig` entries with a `guestURL`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.errors import KubewaspError
from kubewasp.framework.config.model import ConfigError, Problem
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_log import LOGGER_SINK, GuestLogSink
from kubewasp.wasm.hook_caller import NO_OBSERVER, GuestObserver
from kubewasp.wasm.limits import Limits
from kubewasp.wasm.plugin import WasmPlugin
from kubewasp.wasm.purity import CHECK_EVERY
from kubewasp.wasm.source import GuestSources

if TYPE_CHECKING:
    from collections.abc import Collection

    from kubewasp.framework.config.model import WasmPluginSettings
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.wasm.repeatable import Repeatable

# The extension point of each hook.
_POINTS = {
    "preenqueue": "preEnqueue",
    "queuesort": "queueSort",
    "prefilter": "preFilter",
    "signpod": "preFilter",
    "filter": "filter",
    "postfilter": "postFilter",
    "prescore": "preScore",
    "score": "score",
    "reserve": "reserve",
    "unreserve": "reserve",
    "permit": "permit",
    "prebind": "preBind",
    "bind": "bind",
    "postbind": "postBind",
}


class GuestLoader:
    """Loads each guest once, for all profiles; makes a plugin per profile. Implements `WasmHost`.

    A guest needs no scheduler to start: the extension points come from a loaded guest, and the handle goes with each
    pod's cycle.
    """

    def __init__(
        self,
        observer: GuestObserver = NO_OBSERVER,
        logs: GuestLogSink = LOGGER_SINK,
        repeatable: Repeatable | None = None,
        sources: GuestSources | None = None,
        check_every: int = CHECK_EVERY,
    ) -> None:
        self._observer = observer
        self._logs = logs
        self._repeatable = repeatable
        self._sources = sources or GuestSources()
        self._check_every = check_every
        self._guests: dict[tuple[str, int], tuple[WasmPluginSettings, Guest]] = {}

    def points(self, name: str, settings: WasmPluginSettings) -> Collection[str]:
        """The extension points whose hooks the guest implements."""
        return {_POINTS[hook] for hook in self._guest(name, settings).hooks if hook in _POINTS}

    def asks_each_node(self, name: str, settings: WasmPluginSettings) -> bool:
        """Whether the guest filters or scores, and neither signs pods nor is pure: it is called for every node."""
        guest = self._guest(name, settings)
        is_shared = guest.may_sign or (guest.purity is not None and guest.purity.is_believed)
        return not is_shared and any(hook in guest.hooks for hook in ("filter", "score"))

    def create(self, name: str, settings: WasmPluginSettings, handle: SchedulerHandle) -> WasmPlugin:
        return WasmPlugin(name, self._guest(name, settings), handle, check_every=self._check_every)

    def _guest(self, name: str, settings: WasmPluginSettings) -> Guest:
        key = (name, id(settings))  # the settings are kept with the guest, so the id stays theirs
        if key not in self._guests:
            try:
                self._guests[key] = settings, self._load(name, settings)
            except KubewaspError as error:
                raise ConfigError([Problem("", f'plugin "{name}": {error}')]) from None
        return self._guests[key][1]

    def _load(self, name: str, settings: WasmPluginSettings) -> Guest:
        return Guest.load(
            settings.guest_url,
            name=name,
            sha256=settings.sha256 or None,
            config=settings.guest_config,
            log_severity=settings.log_severity,
            args=settings.args,
            limits=Limits.from_config(settings.limits),
            failure_policy=settings.failure_policy,
            observer=self._observer,
            logs=self._logs,
            repeatable=self._repeatable,
            pull_policy=settings.image_pull_policy,
            sources=self._sources,
        )
