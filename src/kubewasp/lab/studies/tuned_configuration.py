"""Configuration file of a tuning's result: what differs from the defaults, where that says it all.

Reading the file gives the configuration of the trial; guests have absolute paths, so that it can be anywhere.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from kubewasp.framework.config.guest_urls import in_folder
from kubewasp.framework.config.model import API_VERSION, KIND, MULTI_POINT, ConfigError, PluginSet
from kubewasp.framework.config.reading import default_config, read_config
from kubewasp.framework.config.writing import as_template

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.framework.config.model import ProfileConfig, SchedulerConfig, WasmPluginSettings


def document(settings: SchedulerConfig) -> dict[str, Any]:
    """The configuration as a document: short if reading that gives the same, else complete."""
    absolute = replace(settings, profiles=tuple(map(_absolute, settings.profiles)))
    short = _short(absolute)
    try:
        read = read_config(short)
    except ConfigError:
        return as_template(absolute)
    return short if _content(read) == _content(absolute) else as_template(absolute)


def text(settings: SchedulerConfig, comment: str) -> str:
    """The document as YAML, under a comment."""
    lines = "".join(f"# {line}\n" for line in comment.splitlines())
    return lines + str(yaml.safe_dump(document(settings), sort_keys=False, allow_unicode=True, width=120))


def _short(settings: SchedulerConfig) -> dict[str, Any]:
    [standard] = default_config().profiles
    complete = as_template(settings)["profiles"]
    profiles = []
    for profile, written in zip(settings.profiles, complete, strict=True):
        changed: dict[str, Any] = {"schedulerName": profile.scheduler_name}
        plugins = _changed_plugins(profile, standard)
        entries = [
            entry
            for entry in written["pluginConfig"]
            if entry["name"] in profile.wasm or entry["args"] != standard.args.get(entry["name"])
        ]
        if plugins:
            changed["plugins"] = plugins
        if entries:
            changed["pluginConfig"] = entries
        profiles.append(changed)
    return {"apiVersion": API_VERSION, "kind": KIND, "profiles": profiles}


def _changed_plugins(profile: ProfileConfig, standard: ProfileConfig) -> dict[str, Any]:
    """Plugins and weights that are not those of the default profile."""
    known = set(standard.plugins[MULTI_POINT].enabled)
    found: dict[str, Any] = {}
    for point, given in profile.plugins.items():
        fresh = [plugin for plugin in given.enabled if point != MULTI_POINT or plugin not in known]
        names = [
            {"name": plugin.name, "weight": plugin.weight} if plugin.weight else {"name": plugin.name}
            for plugin in fresh
        ]
        disabled = given.disabled if point != MULTI_POINT else ()
        entry = {"enabled": names, "disabled": [{"name": name} for name in disabled]}
        if any(entry.values()):
            found[point] = {name: value for name, value in entry.items() if value}
    return found


def _content(settings: SchedulerConfig) -> Any:
    """What decides, without the source of the file."""
    plain = replace(settings, source="", warnings=())
    profiles = [
        (profile.scheduler_name, _enabled(profile), profile.args, profile.wasm, profile.percentage_of_nodes_to_score)
        for profile in plain.profiles
    ]
    return profiles, replace(plain, profiles=())


def _enabled(profile: ProfileConfig) -> Mapping[str, PluginSet]:
    """Sets of plugins without empty ones, and without the disabled ones of `multiPoint`, which are applied already."""
    sets = {
        point: replace(given, disabled=()) if point == MULTI_POINT else given
        for point, given in profile.plugins.items()
    }
    return {point: given for point, given in sets.items() if given != PluginSet()}


def _absolute(profile: ProfileConfig) -> ProfileConfig:
    return replace(profile, wasm={name: _located(wasm) for name, wasm in profile.wasm.items()})


def _located(wasm: WasmPluginSettings) -> WasmPluginSettings:
    return replace(wasm, guest_url=in_folder(str(wasm.guest_url), Path()))
