"""Releases: loaded versions of a wasm plugin, with counts of their calls."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import orjson

from kubewasp.wasm.guest_loader import GuestLoader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.framework.config.model import WasmPluginSettings
    from kubewasp.trust.policy import TrustPolicy
    from kubewasp.wasm.guest import Guest
    from kubewasp.wasm.guest_log import GuestLogSink, HookLog
    from kubewasp.wasm.hook_caller import GuestObserver

_SHOWN_DIGITS = 12


class GuestMeter:
    """Counts of one release, in front of the metrics. A muted one, a shadow's, is not among the plugin's metrics.

    Its thread is that of the guest's calls. Implements `GuestObserver`.
    """

    def __init__(self, inner: GuestObserver, *, is_muted: bool = False) -> None:
        self.is_muted = is_muted
        self.errors = 0
        self.timeouts = 0
        self.seconds = 0.0
        self._inner = inner

    def guest_call(self, plugin: str, hook: str, seconds: float, failure: str) -> None:
        self.seconds += seconds
        if failure:
            self._count(failure)
        if not self.is_muted:
            self._inner.guest_call(plugin, hook, seconds, failure)

    def guest_failed(self, plugin: str, hook: str, kind: str) -> None:
        self._count(kind)
        if not self.is_muted:
            self._inner.guest_failed(plugin, hook, kind)

    def _count(self, kind: str) -> None:
        if kind == "timeout":
            self.timeouts += 1
        else:
            self.errors += 1


class ReleaseLog:
    """Log of one release: the lines of a version on trial are marked as such. Implements `GuestLogSink`."""

    def __init__(self, inner: GuestLogSink) -> None:
        self.mark = ""
        self._inner = inner

    def write(self, call: HookLog) -> None:
        self._inner.write(replace(call, plugin=f"{call.plugin} ({self.mark})") if self.mark else call)


@dataclass(frozen=True, slots=True)
class ReleaseKey:
    """Identity of a version: content of the guest, and a digest of its settings."""

    digest: str
    settings: str


def settings_digest(settings: WasmPluginSettings) -> str:
    """Digest of the settings that a guest depends on. Its address is not one of them: the content counts."""
    seen = [
        settings.guest_config,
        settings.log_severity,
        list(settings.args),
        dict(settings.limits),
        settings.failure_policy,
    ]
    return hashlib.sha256(orjson.dumps(seen, option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(frozen=True, eq=False, slots=True)
class Release:
    """A loaded guest. `reference` is the meaning of its address when it was loaded, such as a manifest's digest.

    `digest` is that of the wasm, as `sha256:…`; `source` is the address for messages. `trust` is the policy that it was
    checked with last.
    """

    plugin: str
    settings: WasmPluginSettings
    digest: str
    reference: str
    source: str
    guest: Guest
    meter: GuestMeter
    log: ReleaseLog
    trust: TrustPolicy | None = None

    @property
    def key(self) -> ReleaseKey:
        return ReleaseKey(self.digest, settings_digest(self.settings))

    @property
    def short(self) -> str:
        return short(self.digest)

    def with_settings(self, settings: WasmPluginSettings, trust: TrustPolicy | None) -> Release:
        """The same guest, checked with the policy; the settings differ in what it does not depend on."""
        is_same = settings is self.settings and trust is self.trust
        return self if is_same else replace(self, settings=settings, trust=trust)

    def enter(self, stage: str, *, decides: bool = True) -> None:
        """Marks log lines with a stage, or not; a release that does not decide is not in the plugin's metrics."""
        self.log.mark = stage
        self.meter.is_muted = not decides


def short(digest: str) -> str:
    """The beginning of a digest, for tables and messages."""
    return digest.removeprefix("sha256:")[:_SHOWN_DIGITS]


class ReleaseHost(GuestLoader):
    """Loader of plugins whose guests are loaded already: releases by profile and plugin."""

    def __init__(self, releases: Mapping[tuple[str, str], Release]) -> None:
        super().__init__()
        self._releases = {(plugin, id(release.settings)): release for (_, plugin), release in releases.items()}

    def _load(self, name: str, settings: WasmPluginSettings) -> Guest:
        return self._releases[name, id(settings)].guest
