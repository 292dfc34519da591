"""Changes of a configuration: weights and arguments of single plugins, in all profiles that enable them.

For comparisons and searches, which try one configuration in many forms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.framework.config.default_plugins import BUILT_IN
from kubewasp.framework.config.fields import Problems, Section
from kubewasp.framework.config.model import MULTI_POINT, ConfigError, EnabledPlugin, PluginSet, Problem, weighted
from kubewasp.framework.config.plugin_args import check_enabled, has_args, read_args
from kubewasp.k8s.errors import quoted, shown
from kubewasp.k8s.spelling import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kubewasp.framework.config.model import ProfileConfig, SchedulerConfig, WasmPluginSettings

MAX_WEIGHT: Final = 2**31 - 1
_SCORE: Final = "score"


def with_weight(config: SchedulerConfig, plugin: str, weight: int) -> SchedulerConfig:
    """The configuration with another weight of a plugin's scores; 0: the plugin does not score."""
    if not 0 <= weight <= MAX_WEIGHT:
        raise _error(config, f"weight of {plugin}: expected an integer from 0 to {MAX_WEIGHT}, got {weight}")
    if plugin in BUILT_IN and _SCORE not in BUILT_IN[plugin].points:
        raise _error(config, f"{plugin} does not score: it has no weight")
    return _changed(config, plugin, lambda profile: _weighted(profile, plugin, weight))


def with_args(config: SchedulerConfig, plugin: str, args: Mapping[str, Any] | str) -> SchedulerConfig:
    """The configuration with other arguments of a plugin.

    Fields of a mapping replace those of the same name, also in the JSON object that is the `guestConfig` of a wasm
    plugin. A text replaces a `guestConfig` as a whole.
    """
    return _changed(config, plugin, lambda profile: _with_args(config, profile, plugin, args))


def _changed(config: SchedulerConfig, plugin: str, change: Callable[[ProfileConfig], ProfileConfig]) -> SchedulerConfig:
    names = dict.fromkeys(name for profile in config.profiles for name in profile.plugin_names)
    if plugin not in names:
        raise _error(config, f"no profile enables a plugin {quoted(plugin)}{did_you_mean(nearest(plugin, names))}")
    profiles = tuple(change(profile) if plugin in profile.plugin_names else profile for profile in config.profiles)
    return replace(config, profiles=profiles)


def _weighted(profile: ProfileConfig, plugin: str, weight: int) -> ProfileConfig:
    plugins = dict(profile.plugins)
    scores = plugins.get(_SCORE, PluginSet())
    if not weight:
        enabled = tuple(entry for entry in scores.enabled if entry.name != plugin)
        plugins[_SCORE] = PluginSet(enabled, tuple(dict.fromkeys((*scores.disabled, plugin))))
        return replace(profile, plugins=plugins)
    for point in (MULTI_POINT, _SCORE):
        plugins[point] = weighted(plugins.get(point, PluginSet()), plugin, weight)
    scores = plugins[_SCORE]
    is_everywhere = any(one.name == plugin for one in plugins[MULTI_POINT].enabled)
    if is_everywhere and plugin in scores.disabled:
        plugins[_SCORE] = replace(scores, disabled=tuple(name for name in scores.disabled if name != plugin))
    elif plugin not in {one.name for one in scores.enabled} and (not is_everywhere or "*" in scores.disabled):
        plugins[_SCORE] = replace(scores, enabled=(*scores.enabled, EnabledPlugin(plugin, weight)))
    return replace(profile, plugins=plugins)


def _with_args(
    config: SchedulerConfig, profile: ProfileConfig, plugin: str, args: Mapping[str, Any] | str
) -> ProfileConfig:
    if plugin in profile.wasm:
        settings = profile.wasm[plugin]
        text = args if isinstance(args, str) else _merged_text(config, plugin, settings, args)
        return replace(profile, wasm={**profile.wasm, plugin: replace(settings, guest_config=text)})
    if isinstance(args, str):
        raise _error(config, f"args of {plugin}: expected an object, got {shown(args)}")
    if plugin in BUILT_IN and not has_args(plugin):
        raise _error(config, f"{plugin} takes no args")
    changed = {**profile.args.get(plugin, {}), **args}
    if has_args(plugin):
        problems = Problems()
        changed = read_args(plugin, Section(changed, plugin, problems))
        check_enabled(plugin, changed, plugin, problems)
        problems.raise_if_any(config.source)
    return replace(profile, args={**profile.args, plugin: changed})


def _merged_text(config: SchedulerConfig, plugin: str, settings: WasmPluginSettings, args: Mapping[str, Any]) -> str:
    if not settings.guest_config.strip():
        return orjson.dumps(args).decode()
    try:
        known = orjson.loads(settings.guest_config)
    except ValueError:
        known = None
    if not isinstance(known, dict):
        raise _error(config, f"args of {plugin}: its guestConfig is no JSON object; give the whole text instead")
    return orjson.dumps({**known, **args}).decode()


def _error(config: SchedulerConfig, text: str) -> ConfigError:
    return ConfigError([Problem("", text)], source=config.source)
