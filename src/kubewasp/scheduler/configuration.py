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
    named = _named(plugins)
    return configure_named(config, named, plugin_configs or {}, option="--plugin-config"), named


def configure_named(
    config: Path | None, named: Mapping[str, str], plugin_configs: Mapping[str, str], *, option: str
) -> SchedulerConfig:
    """The configuration with guests added by name; `option` is the source of their configurations, for errors."""
    settings = load_config(config, check_limits=limits_problem) if config is not None else default_config()
    for name, guest in named.items():
        settings = settings.with_wasm_plugin(name, guest, plugin_configs.get(name))
    unknown = [name for name in plugin_configs if name not in named]
    if unknown:
        there = f"there are {', '.join(named)}" if named else "there is none"
        raise ManifestError("", f"{option} {unknown[0]}: there is no plugin of that name; {there}")
    return settings


def baseline_of(config: Path | None, plugins: Sequence[str]) -> tuple[SchedulerConfig, str]:
    """The configuration without the given plugins or, if none is given, without its wasm plugins; and a name for it."""
    settings = configure_named(config, {}, {}, option="")
    if plugins:
        return settings, f"without {', '.join(_named(plugins))}"
    names = dict.fromkeys(name for profile in settings.profiles for name in profile.wasm)
    if not names:
        raise ManifestError(
            "",
            "--baseline: there is no wasm plugin to leave out; give a --plugin, or a --baseline-config to compare with",
        )
    return settings.without_wasm_plugins(), f"without {', '.join(names)}"


def _named(plugins: Sequence[str]) -> dict[str, str]:
    """Guests by file name."""
    named: dict[str, str] = {}
    for guest in plugins:
        name = PurePath(without_credentials(guest).split("?")[0]).stem
        if name in named:
            raise ManifestError("", f"--plugin {guest} and {named[name]} have the same name; configure them in a file")
        named[name] = guest
    return named
