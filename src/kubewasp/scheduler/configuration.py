"""Configuration of a command: a file, and plugins given as guests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubewasp.framework.config.reading import default_config, load_config
from kubewasp.k8s.errors import ManifestError
from kubewasp.wasm.limits import limits_problem

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.input_file import InputFile, StandardInput


@dataclass(frozen=True, slots=True)
class AddedPlugin:
    """A wasm plugin beside the configuration file. A guest is a path, a URL or standard input; weight 0: none given."""

    name: str
    guest: str | StandardInput
    weight: int = 0


def configure(
    config: InputFile | None,
    plugins: Sequence[AddedPlugin] = (),
    plugin_configs: Mapping[str, str] | None = None,
    *,
    option: str = "--plugin-config",
) -> tuple[SchedulerConfig, Collection[str]]:
    """The configuration with plugins added, and their names; `option` is the source of their configurations."""
    settings = load_config(config, check_limits=limits_problem) if config is not None else default_config()
    return with_plugins(settings, plugins, plugin_configs, option=option)


def with_plugins(
    settings: SchedulerConfig,
    plugins: Sequence[AddedPlugin],
    plugin_configs: Mapping[str, str] | None = None,
    *,
    option: str = "--plugin-config",
) -> tuple[SchedulerConfig, Collection[str]]:
    """A configuration with plugins added, as in `configure`."""
    configs, added = plugin_configs or {}, dict[str, AddedPlugin]()
    for plugin in plugins:
        if plugin.name in added:
            other = added[plugin.name].guest
            problem = f"--plugin {plugin.guest} and {other} have the same name; give one another: --plugin NAME=GUEST"
            raise ManifestError("", problem)
        added[plugin.name] = plugin
        settings = settings.with_wasm_plugin(plugin.name, plugin.guest, configs.get(plugin.name), weight=plugin.weight)
    unknown = [name for name in configs if name not in added]
    if unknown:
        there = f"there are {', '.join(added)}" if added else "there is none"
        raise ManifestError("", f"{option} {unknown[0]}: there is no plugin of that name; {there}")
    return settings, added.keys()


def baseline_of(config: InputFile | None, plugins: Sequence[AddedPlugin]) -> tuple[SchedulerConfig, str]:
    """The configuration without the given plugins or, if none is given, without its wasm plugins; and a name for it."""
    settings, _ = configure(config)
    names = dict.fromkeys(name for profile in settings.profiles for name in profile.wasm)
    if plugins:
        added = [plugin.name for plugin in plugins if plugin.name not in names]
        replaced = [plugin.name for plugin in plugins if plugin.name in names]
        parts = [f"without {', '.join(added)}"] if added else []
        parts += [f"with {', '.join(replaced)} of the configuration"] if replaced else []
        return settings, ", ".join(parts)
    if not names:
        raise ManifestError(
            "",
            "--baseline: there is no wasm plugin to leave out; give a --plugin, or a --baseline-config to compare with",
        )
    return settings.without_wasm_plugins(), f"without {', '.join(names)}"
