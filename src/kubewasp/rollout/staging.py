"""Staging: the guests of a configuration, fetched, verified, compiled and started beside those in use.

All of it runs on another thread than the scheduler's. Guests that have not changed are not loaded again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from kubewasp.errors import KubewaspError
from kubewasp.framework.config.model import ConfigError, Problem
from kubewasp.input_file import StandardInput
from kubewasp.registry.references import Reference, is_reference
from kubewasp.rollout.release import GuestMeter, Release, ReleaseKey, ReleaseLog, settings_digest, short
from kubewasp.trust.source_patterns import STANDARD_INPUT
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.limits import Limits
from kubewasp.wasm.source import FetchedGuest, GuestSources

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from kubewasp.framework.config.model import SchedulerConfig, WasmPluginSettings
    from kubewasp.registry.settings import PullPolicy
    from kubewasp.rollout.ledger import GoodVersion, Ledger
    from kubewasp.wasm.guest_log import GuestLogSink
    from kubewasp.wasm.hook_caller import GuestObserver
    from kubewasp.wasm.repeatable import Repeatable

logger = logging.getLogger(__name__)


class Sources(Protocol):
    """Fetches guests: `GuestSources`, in the form that staging needs."""

    def resolve(self, source: str) -> str: ...

    def fetch(
        self,
        source: str | os.PathLike[str] | StandardInput,
        *,
        sha256: str | None = None,
        max_bytes: int,
        pull_policy: PullPolicy | None = None,
    ) -> FetchedGuest: ...


def sources_of(config: SchedulerConfig) -> Sources:
    """The sources with the registries and the trust of a configuration."""
    return GuestSources(config.registries, config.trust)


class Stager:
    """Loads releases. For one thread; the ledger is used there as well."""

    def __init__(
        self,
        ledger: Ledger,
        observer: GuestObserver,
        logs: GuestLogSink,
        *,
        make_sources: Callable[[SchedulerConfig], Sources] = sources_of,
        repeatable: Repeatable | None = None,
        keep: Callable[[str, bytes], None] = lambda _digest, _wasm: None,
    ) -> None:
        """`repeatable` replaces random numbers and clock of guests; `keep` gets each loaded one by its digest."""
        self._ledger = ledger
        self._observer = observer
        self._logs = logs
        self._make_sources = make_sources
        self._repeatable = repeatable
        self._keep = keep
        self._current: tuple[SchedulerConfig, Sources] | None = None

    def sources(self, config: SchedulerConfig) -> Sources:
        """The sources of a configuration; the same as long as its registries and its trust are."""
        known = self._current
        if known is None or (known[0].registries, known[0].trust) != (config.registries, config.trust):
            known = self._current = config, self._make_sources(config)
        return known[1]

    def stage(self, config: SchedulerConfig, known: Sequence[Release]) -> dict[tuple[str, str], Release]:
        """The releases of all enabled wasm plugins, by profile and plugin. Raises ConfigError; then none is kept.

        `known` are loaded: none at the start of a process. A version that was judged bad is not loaded: the one in use
        stays or, at the start, the last good one.
        """
        found: dict[tuple[str, str], Release] = {}
        try:
            for profile in config.profiles:
                for plugin in profile.plugin_names:
                    if plugin in profile.wasm:
                        have = [release for release in (*found.values(), *known) if release.plugin == plugin]
                        staged = self._staged(config, plugin, profile.wasm[plugin], have)
                        found[profile.scheduler_name, plugin] = staged
        except BaseException:
            self.discard(found.values(), known)
            raise
        return found

    def discard(self, releases: Iterable[Release], known: Sequence[Release]) -> None:
        """Closes guests that will not be used."""
        kept = {id(release.guest) for release in known}
        for release in releases:
            if id(release.guest) not in kept:
                release.guest.close()

    def last_good(self, config: SchedulerConfig, release: Release) -> Release | None:
        """The last good version of a release's plugin, with its present settings; None if it cannot be loaded."""
        good, settings = self._ledger.good(release.plugin), release.settings
        if good is None or good.key.digest == release.digest:
            return None
        try:
            limits = Limits.from_config(settings.limits)
            fetched = self._fetched_again(config, settings, good, limits)
            return None if fetched is None else self._loaded(config, release.plugin, settings, fetched)
        except KubewaspError as error:
            fields = {"plugin": release.plugin, "digest": short(good.key.digest), "err": str(error)}
            logger.warning("Last good version not loaded: there is no way back to it", extra=fields)
            return None

    def _staged(
        self, config: SchedulerConfig, plugin: str, settings: WasmPluginSettings, known: Sequence[Release]
    ) -> Release:
        try:
            return self._release(config, plugin, settings, known)
        except ConfigError:
            raise
        except KubewaspError as error:
            raise ConfigError([Problem("", f'plugin "{plugin}": {error}')]) from None

    def _release(
        self, config: SchedulerConfig, plugin: str, settings: WasmPluginSettings, known: Sequence[Release]
    ) -> Release:
        sources, wanted = self.sources(config), settings_digest(settings)
        address: str | StandardInput = settings.guest_url
        if isinstance(address, StandardInput) and known:  # it can be read once
            self._check_again(config, known[0])
            return known[0].with_settings(settings, config.trust)
        if known and is_tag_followed(settings):
            # A tag that moves between two steps changes nothing: from here on the digest counts.
            try:
                meaning = sources.resolve(str(address))
            except KubewaspError as error:
                same = next((item for item in known if _is_alike(item.settings, settings)), None)
                if same is None:
                    raise
                logger.warning("Tag not checked, its version stays", extra={"plugin": plugin, "err": str(error)})
                meaning = same.reference
            same = next((item for item in known if item.reference == meaning and item.key.settings == wanted), None)
            if same is not None:
                self._check_again(config, same)
                return same.with_settings(settings, config.trust)
            address = str(Reference.parse(str(address)).at(meaning))
        limits, policy = Limits.from_config(settings.limits), settings.image_pull_policy
        fetched = sources.fetch(address, sha256=settings.sha256, max_bytes=limits.guest_size, pull_policy=policy)
        key = ReleaseKey(fetched.digest, wanted)
        bad = self._ledger.bad(plugin, key)
        if bad is not None:
            return self._instead(config, plugin, settings, known, f"{short(key.digest)} was rolled back: {bad.reason}")
        loaded = next((release for release in known if release.key == key), None)
        if loaded is not None:
            return loaded.with_settings(settings, config.trust)
        return self._loaded(config, plugin, settings, fetched)

    def _check_again(self, config: SchedulerConfig, release: Release) -> None:
        """GuestLoadError if a loaded release is not trusted by a policy that has changed since it was checked."""
        if config.trust is None or config.trust == release.trust:
            return
        address = release.settings.guest_url
        if isinstance(address, str) and is_reference(address):
            pinned = str(Reference.parse(address).at(release.reference))
            self.sources(config).fetch(pinned, max_bytes=Limits.from_config(release.settings.limits).guest_size)
        elif config.trust.rule_for(STANDARD_INPUT if isinstance(address, StandardInput) else address).required:
            text = "the version in use cannot be verified with the new trust policy, its signature is not kept: restart"
            raise GuestLoadError(f"wasm: {short(release.digest)}: {text}")

    def _instead(
        self, config: SchedulerConfig, plugin: str, settings: WasmPluginSettings, known: Sequence[Release], reason: str
    ) -> Release:
        """The release in use, or the last good one, in place of a bad one."""
        good = self._ledger.good(plugin)
        fields = {"plugin": plugin, "reason": reason}
        usable = next((item for item in known if self._ledger.bad(plugin, item.key) is None), None)
        if usable is not None:
            self._check_again(config, usable)
            logger.warning("Version not used, the one in use stays", extra=fields | {"inUse": usable.short})
            return usable.with_settings(usable.settings, config.trust)
        limits = Limits.from_config(settings.limits)
        fetched = None if good is None else self._fetched_again(config, settings, good, limits)
        if good is None or fetched is None:
            text = f"{reason}; no earlier version is available. Publish another one, or delete {self._ledger.place}"
            raise ConfigError([Problem("", f'plugin "{plugin}": {text}')])
        fields["digest"] = short(good.key.digest)
        logger.warning("Version not used, starting the last good one", extra=fields)
        return self._loaded(config, plugin, settings, fetched)

    def _fetched_again(
        self, config: SchedulerConfig, settings: WasmPluginSettings, good: GoodVersion, limits: Limits
    ) -> FetchedGuest | None:
        """An earlier version: of a registry by its digest, and checked again; of other sources from the ledger."""
        address = settings.guest_url
        if isinstance(address, str) and is_reference(address):
            pinned = str(Reference.parse(address).at(good.reference))
            return self.sources(config).fetch(pinned, max_bytes=limits.guest_size)
        if config.trust is not None and config.trust.needs_signatures(str(address)):
            return None  # its signature is not kept
        wasm = self._ledger.wasm(good.key.digest)
        return None if wasm is None else FetchedGuest(wasm, good.key.digest, str(address), good.reference)

    def _loaded(
        self, config: SchedulerConfig, plugin: str, settings: WasmPluginSettings, fetched: FetchedGuest
    ) -> Release:
        meter, log = GuestMeter(self._observer), ReleaseLog(self._logs)
        guest = Guest.load(
            fetched.wasm,
            name=plugin,
            config=settings.guest_config,
            log_severity=settings.log_severity,
            args=settings.args,
            limits=Limits.from_config(settings.limits),
            failure_policy=settings.failure_policy,
            observer=meter,
            logs=log,
            repeatable=self._repeatable,
        )
        self._keep(fetched.digest, fetched.wasm)
        if not (isinstance(settings.guest_url, str) and is_reference(settings.guest_url)):
            self._ledger.keep(fetched.digest, fetched.wasm)
        version, source = fetched.version, fetched.source
        return Release(plugin, settings, fetched.digest, version, source, guest, meter, log, config.trust)


def is_tag_followed(settings: WasmPluginSettings) -> bool:
    """Whether the address is a tag of a registry that may come to mean something else."""
    url = settings.guest_url
    if not isinstance(url, str) or not is_reference(url) or settings.image_pull_policy == "Never":
        return False
    return not Reference.parse(url).digest


def _is_alike(one: WasmPluginSettings, other: WasmPluginSettings) -> bool:
    return one.guest_url == other.guest_url and settings_digest(one) == settings_digest(other)
