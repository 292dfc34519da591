"""Configuration of a command: a file, and plugins given as guests."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from kubewasp.framework.config.reading import default_config, load_config
from kubewasp.k8s.errors import ManifestError
from kubewasp.wasm.limits import limits_problem
from kubewasp.wasm.source import without_credentials

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from kubewasp.framework.config.model import SchedulerConfig


def configure(
    config: Path | None, plugins: Sequence[str] = (), plugin_configs: Mapping[str, str] | None = None
) -> tuple[SchedulerConfig, Collection[str]]:
    """The configuration with the given plugins added, and their names. Guests are paths or URLs."""
    settings = load_config(config, check_limits=limits_problem) if config is not None else default_config()
    given = plugin_configs or {}
    named = _named(plugins)
    for name, guest in named.items():
        settings = settings.with_wasm_plugin(name, guest, given.get(name))
    unknown = [name for name in given if name not in named]
    if unknown:
        there = f"there are {', '.join(named)}" if named else "there is none"
        raise ManifestError("", f"--plugin-config {unknown[0]}: there is no --plugin of that name; {there}")
    return settings, named


def _named(plugins: Sequence[str]) -> dict[str, str]:
    """Guests by file name."""
    named: dict[str, str] = {}
    for guest in plugins:
        name = PurePath(without_credentials(guest).split("?")[0]).stem
        if name in named:
            raise ManifestError("", f"--plugin {guest} and {named[name]} have the same name; configure them in a file")
        named[name] = guest
    return named
