"""Candidates with the wasm of their plugins in memory, and digests by content.

Equal digests mean equal decisions: names, paths and addresses of guests do not count, their bytes do.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import orjson

from kubewasp.framework.config.default_plugins import BUILT_IN
from kubewasp.framework.config.writing import as_template
from kubewasp.framework.registry import ENTRY_POINTS
from kubewasp.input_file import HeldFile, StandardInput
from kubewasp.registry.settings import RegistrySettings
from kubewasp.wasm.limits import Limits
from kubewasp.wasm.source import GuestSources

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.framework.config.model import ProfileConfig, SchedulerConfig, WasmPluginSettings
    from kubewasp.lab.experiments.experiment import Candidate


@dataclass(frozen=True, slots=True)
class FixedCandidate:
    """A candidate that needs no file, and its digest."""

    candidate: Candidate
    digest: str


class GuestContents:
    """Guests, each read and verified once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str | None], tuple[HeldFile, str]] = {}

    def fixed(self, candidate: Candidate) -> FixedCandidate:
        settings = candidate.settings
        sources = GuestSources(settings.registries, settings.trust)
        plain = replace(settings, trust=None, registries=RegistrySettings(), source="", warnings=())
        held = _with_guests(plain, lambda wasm: replace(wasm, guest_url=self._guest(wasm, sources)[0], sha256=None))
        named = _with_guests(plain, lambda wasm: replace(wasm, guest_url=self._guest(wasm, sources)[1], sha256=None))
        content = [as_template(named), sorted(candidate.added), _python_plugins(settings)]
        return FixedCandidate(replace(candidate, settings=held), digest_of(content))

    def _guest(self, wasm: WasmPluginSettings, sources: GuestSources) -> tuple[HeldFile, str]:
        """The content of a guest, and its digest."""
        key = str(wasm.guest_url), wasm.sha256
        if key not in self._found:
            if isinstance(wasm.guest_url, HeldFile):
                held = wasm.guest_url
                self._found[key] = held, f"sha256:{hashlib.sha256(held.content).hexdigest()}"
            else:
                fetched = sources.fetch(
                    wasm.guest_url,
                    sha256=wasm.sha256 or None,
                    max_bytes=Limits.from_config(wasm.limits).guest_size,
                    pull_policy=wasm.image_pull_policy,
                )
                address = wasm.guest_url if isinstance(wasm.guest_url, StandardInput) else fetched.source
                self._found[key] = HeldFile(str(address), fetched.wasm), fetched.digest
        return self._found[key]


def digest_of(content: Any) -> str:
    """The digest of plain values; the order of keys does not count."""
    return f"sha256:{hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()}"


def _with_guests(
    settings: SchedulerConfig, change: Callable[[WasmPluginSettings], WasmPluginSettings]
) -> SchedulerConfig:
    def changed(profile: ProfileConfig) -> ProfileConfig:
        return replace(profile, wasm={name: change(wasm) for name, wasm in profile.wasm.items()})

    return replace(settings, profiles=tuple(map(changed, settings.profiles)))


def _python_plugins(settings: SchedulerConfig) -> dict[str, str]:
    """In-process plugins with the packages and versions that they come from."""
    wanted = {
        name
        for profile in settings.profiles
        for name in profile.plugin_names
        if name not in BUILT_IN and name not in profile.wasm
    }
    if not wanted:
        return {}
    return {
        entry.name: f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.value
        for entry in entry_points(group=ENTRY_POINTS)
        if entry.name in wanted
    }
