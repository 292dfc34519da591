"""Short configurations for tests."""

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from kubewasp.framework.config.default_plugins import BUILT_IN
from kubewasp.framework.config.model import ConfigError, Profile, SchedulerConfig
from kubewasp.framework.config.profiles import expanded
from kubewasp.framework.config.reading import read_config

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
BUILT_IN_POINTS: Mapping[str, Collection[str]] = {name: plugin.points for name, plugin in BUILT_IN.items()}


def read(fields: dict[str, Any] | None = None, **more: Any) -> SchedulerConfig:
    return read_config(HEAD | (fields or {}) | more)


def problems(fields: dict[str, Any] | None = None, **more: Any) -> list[str]:
    """Problems of a configuration, as lines."""
    with pytest.raises(ConfigError) as caught:
        read(fields, **more)
    return [str(problem) for problem in caught.value.problems]


def with_args(plugin: str, args: Any) -> dict[str, Any]:
    return {"profiles": [{"pluginConfig": [{"name": plugin, "args": args}]}]}


def args_of(plugin: str, args: Any) -> Any:
    return read(with_args(plugin, args)).profiles[0].args[plugin]


def arg_problems(plugin: str, args: Any) -> list[str]:
    """Problems of a plugin's args, with paths relative to them."""
    found = problems(with_args(plugin, args))
    assert all(line.startswith("profiles[0].pluginConfig[0].args") for line in found)
    return [line.removeprefix("profiles[0].pluginConfig[0].args").removeprefix(".") for line in found]


def profile_of(plugins: dict[str, Any], more_points: dict[str, set[str]] | None = None) -> Profile:
    """The profile of which the `plugins` are those, and which knows some more plugins."""
    [profile] = read(profiles=[{"plugins": plugins}]).profiles
    return expanded(profile, {**BUILT_IN_POINTS, **(more_points or {})}, percentage=0)


def startup_error(plugins: dict[str, Any], more_points: dict[str, set[str]] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        profile_of(plugins, more_points)
    return str(caught.value)


def named(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]
