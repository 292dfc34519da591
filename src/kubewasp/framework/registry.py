"""Plugin registry: built-in plugins, Python plugins of installed packages, and wasm plugins.

A package provides Python plugins as entry points of the group `kubewasp.plugins`: a name and a class, whose constructor
takes the args of the configuration and the handle. They run in this process, with all its rights. The wasm runtime is
in a higher layer and comes as a `WasmHost`.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, Protocol

from kubewasp.framework.config.default_plugins import BUILT_IN
from kubewasp.framework.config.fields import Problems
from kubewasp.framework.config.model import ConfigError, Problem
from kubewasp.framework.config.profiles import expanded
from kubewasp.framework.plugin import EXTENSION_POINTS, NodeByNode, Plugin, may_ask_each_node

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from importlib.metadata import EntryPoint

    from kubewasp.framework.config.model import Profile, ProfileConfig, SchedulerConfig, WasmPluginSettings
    from kubewasp.framework.handle import SchedulerHandle

ENTRY_POINTS: Final = "kubewasp.plugins"


class WasmHost(Protocol):
    """Loader of wasm plugins."""

    def points(self, name: str, settings: WasmPluginSettings) -> Collection[str]:
        """Extension points of the guest."""

    def asks_each_node(self, name: str, settings: WasmPluginSettings) -> bool:
        """Whether the guest is called per node for every pod, as it has no signatures."""

    def create(self, name: str, settings: WasmPluginSettings, handle: SchedulerHandle) -> Plugin: ...


class Registry:
    """Plugins by name. `plugins` adds Python plugins to those of installed packages."""

    def __init__(self, *, wasm: WasmHost | None = None, plugins: Mapping[str, type[Plugin]] | None = None) -> None:
        self._wasm = wasm
        self._classes = dict(plugins or {})

    def profiles(self, config: SchedulerConfig) -> tuple[Profile, ...]:
        """The profiles in effect. Raises ConfigError with the problems of all profiles."""
        found: list[Profile] = []
        problems = Problems()
        for index, profile in enumerate(config.profiles):
            try:
                implemented = self._implemented(profile)
                found.append(expanded(profile, implemented, percentage=config.percentage_of_nodes_to_score))
            except ConfigError as error:
                problems.include(error.under(f"profiles[{index}]"))
        problems.raise_if_any(config.source)
        return tuple(found)

    def asking_each_node(self, profile: Profile) -> list[str]:
        """Plugins that filter or score by a call per node; see `Plugin.asks_each_node`."""
        names = dict.fromkeys(enabled.name for point in ("filter", "score") for enabled in profile.plugins[point])
        return [name for name in names if self._asks_each_node(name, profile)]

    def _asks_each_node(self, name: str, profile: Profile) -> bool:
        if name in profile.wasm:
            return self._wasm_host(name).asks_each_node(name, profile.wasm[name])
        return name not in BUILT_IN and may_ask_each_node(self._python_class(name))

    def load_classes(self, profile: Profile) -> None:
        """Imports the modules of the plugins: `create` then takes no time for it."""
        for name in {enabled.name for point in EXTENSION_POINTS for enabled in profile.plugins[point]}:
            if name in profile.wasm:
                continue
            if name in BUILT_IN:
                import_module(BUILT_IN[name].home.partition(":")[0])
            else:
                self._python_class(name)

    def create(
        self, profile: Profile, handle: SchedulerHandle, kept: Mapping[str, Plugin] | None = None
    ) -> dict[str, list[tuple[Plugin, int]]]:
        """Instances of the plugins of a profile, with their weights, in order for each extension point.

        `kept` are plugins in use that have not changed, by name: they go on as they are.
        """
        made = dict(kept or {})
        points: dict[str, list[tuple[Plugin, int]]] = {}
        for point in EXTENSION_POINTS:
            points[point] = []
            for enabled in profile.plugins[point]:
                if enabled.name not in made:
                    made[enabled.name] = self._create(enabled.name, profile, handle)
                points[point].append((made[enabled.name], enabled.weight))
        return points

    def _create(self, name: str, profile: Profile, handle: SchedulerHandle) -> Plugin:
        if name in profile.wasm:
            return self._wasm_host(name).create(name, profile.wasm[name], handle)
        args = profile.args.get(name, {})
        if name in BUILT_IN:
            module, _, class_name = BUILT_IN[name].home.partition(":")
            built_in: Plugin = getattr(import_module(module), class_name)(args, handle)
            return built_in
        made_by: Any = self._python_class(name)
        try:
            plugin: Plugin = made_by(args, handle)
        except Exception as error:
            raise _error(f'initializing plugin "{name}": {error or type(error).__name__}') from error
        if getattr(plugin, "name", None) != name:
            raise _error(f'plugin "{name}" has the name attribute {getattr(plugin, "name", None)!r}')
        return plugin

    def _implemented(self, profile: ProfileConfig) -> dict[str, Collection[str]]:
        """Extension points by plugin, for the existing plugins of a profile."""
        points: dict[str, Collection[str]] = {}
        for name in profile.plugin_names:
            if name in profile.wasm:
                if name in self._classes or name in self._entry_points:
                    raise _error(f"a plugin named {name} already exists")
                points[name] = self._wasm_host(name).points(name, profile.wasm[name])
            elif name in BUILT_IN:
                points[name] = BUILT_IN[name].points
            elif name in self._classes or name in self._entry_points:
                points[name] = points_of(self._python_class(name))
        return points

    def _wasm_host(self, name: str) -> WasmHost:
        if self._wasm is None:
            raise _error(f'"{name}" is a wasm plugin, but there is no wasm host')
        return self._wasm

    def _python_class(self, name: str) -> type[Plugin]:
        if name not in self._classes:
            entry = self._entry_points[name]
            try:
                found = entry.load()
            except Exception as error:
                raise _error(f'plugin "{name}" ({entry.value}) cannot be loaded: {error}') from error
            if not isinstance(found, type) or not issubclass(found, Plugin):
                raise _error(f'plugin "{name}" ({entry.value}) is not a subclass of kubewasp.framework.plugin.Plugin')
            self._classes[name] = found
        return self._classes[name]

    @cached_property
    def _entry_points(self) -> dict[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        for entry in entry_points(group=ENTRY_POINTS):
            if entry.name in BUILT_IN or (entry.name in found and found[entry.name].value != entry.value):
                raise _error(f"a plugin named {entry.name} already exists (entry point {entry.value})")
            found[entry.name] = entry
        return found


def points_of(made_by: type[Plugin]) -> frozenset[str]:
    """Extension points of a plugin class."""
    points = {point for point, interface in EXTENSION_POINTS.items() if issubclass(made_by, interface)}
    if issubclass(made_by, NodeByNode):
        # NodeByNode has both Filter and Score; only methods that the class overrides count.
        for point in ("filter", "score"):
            if not any(_overrides(made_by, method) for method in (point, f"{point}_node")):
                points.discard(point)
    return frozenset(points)


def _overrides(made_by: type[Plugin], method: str) -> bool:
    return getattr(made_by, method) is not getattr(NodeByNode, method)


def _error(text: str) -> ConfigError:
    return ConfigError([Problem("", text)])
