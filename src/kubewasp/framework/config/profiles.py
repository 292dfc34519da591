"""Plugins of each extension point: defaults, changes of a profile, and expansion of `multiPoint`.

Rules, order and error texts are those of kube-scheduler.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from kubewasp.framework.config.default_plugins import DEFAULT_PLUGINS
from kubewasp.framework.config.model import (
    MULTI_POINT,
    POINTS,
    SCORED_POINTS,
    ConfigError,
    EnabledPlugin,
    PluginSet,
    Problem,
    Profile,
    ProfileConfig,
)
from kubewasp.framework.plugin import MAX_SCORE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

ALL: Final = "*"
_MAX_TOTAL_SCORE: Final = 2**63 - 1
_NO_PLUGINS: Final = PluginSet()
DEFAULT_SET: Final = PluginSet(tuple(EnabledPlugin(plugin.name, plugin.weight) for plugin in DEFAULT_PLUGINS))


def merged(given: Mapping[str, PluginSet]) -> dict[str, PluginSet]:
    """The plugins of a profile merged with the defaults. Only `multiPoint` has defaults."""
    plugins = {point: given.get(point, _NO_PLUGINS) for point in POINTS}
    return {MULTI_POINT: _over_defaults(given.get(MULTI_POINT, _NO_PLUGINS))} | plugins


def _over_defaults(given: PluginSet) -> PluginSet:
    """A default that is enabled again keeps its place with the new weight; the rest follows."""
    last = {plugin.name: index for index, plugin in enumerate(given.enabled)}
    enabled: list[EnabledPlugin] = []
    placed: set[int] = set()
    if ALL not in given.disabled:
        for default in DEFAULT_SET.enabled:
            if default.name in given.disabled:
                continue
            index = last.get(default.name)
            if index is None:
                enabled.append(default)
            else:
                enabled.append(given.enabled[index])
                placed.add(index)
    enabled += (plugin for index, plugin in enumerate(given.enabled) if index not in placed)
    return PluginSet(tuple(enabled), given.disabled)


def expanded(profile: ProfileConfig, implemented: Mapping[str, Collection[str]], *, percentage: int) -> Profile:
    """The effective profile. `implemented` has the extension points of every existing plugin.

    `percentage` is the value of the whole configuration, for a profile without one. A ConfigError has the text of
    kube-scheduler at start-up; its path begins at the profile.
    """
    named = {point: _named(point, profile.plugins.get(point, _NO_PLUGINS), implemented) for point in POINTS}
    everywhere = profile.plugins.get(MULTI_POINT, _NO_PLUGINS).enabled
    if everywhere:
        for point in POINTS:
            disabled = profile.plugins.get(point, _NO_PLUGINS).disabled
            named[point] = _expanded(point, named[point], disabled, everywhere, implemented)
    _check_counts(profile.scheduler_name, named)
    plugins = {
        point: _weighted(names, (*profile.plugins.get(point, _NO_PLUGINS).enabled, *everywhere))
        if point in SCORED_POINTS
        else tuple(EnabledPlugin(name) for name in names)
        for point, names in named.items()
    }
    return Profile(
        scheduler_name=profile.scheduler_name,
        percentage_of_nodes_to_score=percentage
        if profile.percentage_of_nodes_to_score is None
        else profile.percentage_of_nodes_to_score,
        plugins=plugins,
        args=profile.args,
        wasm=profile.wasm,
    )


def _named(point: str, plugins: PluginSet, implemented: Mapping[str, Collection[str]]) -> list[str]:
    """The plugins enabled at the point itself, in the order of the file."""
    names: list[str] = []
    for plugin in plugins.enabled:
        if plugin.name not in implemented:
            raise _error(point, _unknown(point, plugin.name, implemented))
        if point not in implemented[plugin.name]:
            raise _error(point, f'plugin "{plugin.name}" does not extend {_interface(point)} plugin')
        if plugin.name in names:
            raise _error(point, f'plugin "{plugin.name}" already registered as "{_interface(point)}"')
        names.append(plugin.name)
    return names


def _expanded(
    point: str,
    named: Sequence[str],
    disabled: Collection[str],
    everywhere: Iterable[EnabledPlugin],
    implemented: Mapping[str, Collection[str]],
) -> list[str]:
    """First overrides of `multiPoint` plugins, then other `multiPoint` plugins, then the point's own."""
    if ALL in disabled:
        return list(named)
    overriding: set[str] = set()
    added: list[str] = []
    for plugin in everywhere:
        if plugin.name not in implemented:
            raise _error(MULTI_POINT, _unknown(point, plugin.name, implemented))
        if point not in implemented[plugin.name] or plugin.name in disabled:
            continue
        if plugin.name in named:
            overriding.add(plugin.name)
        elif plugin.name in added:
            raise _error(MULTI_POINT, f'plugin "{plugin.name}" already registered as "{_interface(point)}"')
        else:
            added.append(plugin.name)
    first = [name for name in named if name in overriding]
    return [*first, *added, *(name for name in named if name not in overriding)]


def _unknown(point: str, name: str, known: Iterable[str]) -> str:
    """The text of kube-scheduler, and a plugin with a similar name."""
    similar = get_close_matches(name[:100], known, 1)
    hint = f"; did you mean {similar[0]}?" if similar else ""
    return f'{_interface(point)} "{name}" does not exist{hint}'


def _check_counts(scheduler_name: str, named: Mapping[str, Sequence[str]]) -> None:
    count = len(named["queueSort"])
    if count != 1:
        text = (
            f'only one queue sort plugin required for profile with scheduler name "{scheduler_name}", but got {count}'
        )
        raise _error("queueSort", text)
    if not named["bind"]:
        text = f'at least one bind plugin is needed for profile with scheduler name "{scheduler_name}"'
        raise _error("bind", text)


def _weighted(names: Iterable[str], given: Iterable[EnabledPlugin]) -> tuple[EnabledPlugin, ...]:
    """The first given weight counts; none or 0 is 1."""
    weights: dict[str, int] = {}
    for plugin in given:
        weights.setdefault(plugin.name, plugin.weight or 1)
    plugins = tuple(EnabledPlugin(name, weights[name]) for name in names)
    if sum(plugin.weight for plugin in plugins) * MAX_SCORE > _MAX_TOTAL_SCORE:
        raise _error("score", "total score of Score plugins could overflow")
    return plugins


def _interface(point: str) -> str:
    return f"{point[0].upper()}{point[1:]}Plugin"


def _error(point: str, text: str) -> ConfigError:
    return ConfigError([Problem(f"plugins.{point}", text)])
