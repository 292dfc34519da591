"""Staging: the guests of a configuration, fetched, verified, compiled and started beside those in use.

All of it runs on another thread than the scheduler's. Guests that have not changed are not loaded again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kubewasp.errors import KubewaspError
from kubewasp.framework.config.model import ConfigError, Problem
from kubewasp.rollout.guest_sources import FetchedGuest
from kubewasp.rollout.release import GuestMeter, Release, ReleaseKey, ReleaseLog, settings_digest, short
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kubewasp.framework.config.model import SchedulerConfig, WasmPluginSettings
    from kubewasp.rollout.guest_sources import GuestSources
    from kubewasp.rollout.ledger import Ledger
    from kubewasp.wasm.guest_log import GuestLogSink
    from kubewasp.wasm.hook_caller import GuestObserver

logger = logging.getLogger(__name__)


class Stager:
    """Loads releases. For one thread; the ledger is used there as well."""

    def __init__(self, sources: GuestSources, ledger: Ledger, observer: GuestObserver, logs: GuestLogSink) -> None:
        self._sources = sources
        self._ledger = ledger
        self._observer = observer
        self._logs = logs

    def stage(self, config: SchedulerConfig, known: Sequence[Release]) -> dict[tuple[str, str], Release]:
        """The releases of all enabled wasm plugins, by profile and plugin. Raises ConfigError; then none is kept.

        A version that was judged bad is not loaded: the one in use stays or, at the start, the last good one.
        """
        found: dict[tuple[str, str], Release] = {}
        try:
            for profile in config.profiles:
                for plugin in profile.plugin_names:
                    if plugin in profile.wasm:
                        have = [*found.values(), *known]
                        found[profile.scheduler_name, plugin] = self._staged(plugin, profile.wasm[plugin], have)
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

    def last_good(self, release: Release) -> Release | None:
        """The last good version of a release's plugin, with its present settings; None if it cannot be loaded."""
        good, settings = self._ledger.good(release.plugin), release.settings
        if good is None or good.key.digest == release.digest:
            return None
        try:
            limits = Limits.from_config(settings.limits)
            fetched = self._fetched_again(settings, good.reference, good.key, limits)
            return None if fetched is None else self._loaded(release.plugin, settings, limits, fetched)
        except KubewaspError as error:
            fields = {"plugin": release.plugin, "digest": short(good.key.digest), "err": str(error)}
            logger.warning("Last good version not loaded: there is no way back to it", extra=fields)
            return None

    def _staged(self, plugin: str, settings: WasmPluginSettings, known: Sequence[Release]) -> Release:
        try:
            return self._release(plugin, settings, [release for release in known if release.plugin == plugin])
        except ConfigError:
            raise
        except KubewaspError as error:
            raise ConfigError([Problem("", f'plugin "{plugin}": {error}')]) from None

    def _release(self, plugin: str, settings: WasmPluginSettings, known: Sequence[Release]) -> Release:
        wanted = settings_digest(settings)
        reference = self._sources.resolve(settings.guest_url)
        same = [release for release in known if reference and release.reference == reference]
        if same and same[0].key.settings == wanted:
            return same[0].with_settings(settings)
        limits = Limits.from_config(settings.limits)
        fetched = self._sources.fetch(settings.guest_url, sha256=settings.sha256, max_bytes=limits.guest_size)
        key = ReleaseKey(fetched.digest, wanted)
        bad = self._ledger.bad(plugin, key)
        if bad is not None:
            return self._instead(plugin, settings, known, f"{short(key.digest)} was rolled back: {bad.reason}")
        loaded = next((release for release in known if release.key == key), None)
        if loaded is not None:
            return loaded.with_settings(settings)
        return self._loaded(plugin, settings, limits, fetched)

    def _instead(self, plugin: str, settings: WasmPluginSettings, known: Sequence[Release], reason: str) -> Release:
        """The release in use, or the last good one, in place of a bad one."""
        good = self._ledger.good(plugin)
        fields = {"plugin": plugin, "reason": reason}
        if known:
            logger.warning("Version not used, the one in use stays", extra=fields | {"inUse": known[0].short})
            return known[0]
        limits = Limits.from_config(settings.limits)
        fetched = None if good is None else self._fetched_again(settings, good.reference, good.key, limits)
        if good is None or fetched is None:
            text = f"{reason}; no earlier version is known. Publish another one, or remove the ledger of versions"
            raise ConfigError([Problem("", f'plugin "{plugin}": {text}')])
        logger.warning(
            "Version not used, starting the last good one", extra=fields | {"digest": short(good.key.digest)}
        )
        return self._loaded(plugin, settings, limits, fetched)

    def _fetched_again(
        self, settings: WasmPluginSettings, reference: str, key: ReleaseKey, limits: Limits
    ) -> FetchedGuest | None:
        if self._sources.has_versions(settings.guest_url):
            return self._sources.fetch_version(str(settings.guest_url), reference, max_bytes=limits.guest_size)
        wasm = self._ledger.wasm(key.digest)
        return None if wasm is None else FetchedGuest(wasm, key.digest, reference, str(settings.guest_url))

    def _loaded(self, plugin: str, settings: WasmPluginSettings, limits: Limits, fetched: FetchedGuest) -> Release:
        meter, log = GuestMeter(self._observer), ReleaseLog(self._logs)
        guest = Guest.load(
            fetched.wasm,
            name=plugin,
            config=settings.guest_config,
            log_severity=settings.log_severity,
            args=settings.args,
            limits=limits,
            failure_policy=settings.failure_policy,
            observer=meter,
            logs=log,
        )
        if not self._sources.has_versions(settings.guest_url):
            self._ledger.keep(fetched.digest, fetched.wasm)
        return Release(plugin, settings, fetched.digest, fetched.reference, fetched.source, guest, meter, log)
