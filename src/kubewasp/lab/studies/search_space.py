"""Search space of a tuning: weights and arguments of plugins, with the values that they may have."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.errors import KubewaspError
from kubewasp.framework.config.changes import with_args, with_weight
from kubewasp.k8s.errors import shown

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from kubewasp.framework.config.model import SchedulerConfig

    Value = int | float | str | bool
    Point = tuple[Value, ...]

WEIGHT: Final = "weight"
_MAX_TRIES: Final = 1000


class SpaceError(KubewaspError):
    """A parameter that a configuration does not have."""


@dataclass(frozen=True, slots=True)
class Integers:
    """Integers of a range, both ends included."""

    low: int
    high: int
    is_log: bool = False

    def sample(self, chance: random.Random) -> int:
        if not self.is_log:
            return chance.randint(self.low, self.high)
        drawn = math.exp(chance.uniform(math.log(self.low - 0.5), math.log(self.high + 0.5)))
        return min(max(round(drawn), self.low), self.high)

    def size(self) -> float:
        return self.high - self.low + 1


@dataclass(frozen=True, slots=True)
class Floats:
    """Numbers of a range."""

    low: float
    high: float
    is_log: bool = False

    def sample(self, chance: random.Random) -> float:
        if self.is_log:
            drawn = math.exp(chance.uniform(math.log(self.low), math.log(self.high)))
            return min(max(drawn, self.low), self.high)
        return chance.uniform(self.low, self.high)

    def size(self) -> float:
        return math.inf if self.low < self.high else 1


@dataclass(frozen=True, slots=True)
class Choices:
    """Values of a list."""

    values: tuple[Value, ...]

    def sample(self, chance: random.Random) -> Value:
        return chance.choice(self.values)

    def size(self) -> float:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A weight or an argument. `path` leads to a field of the plugin's arguments; an empty one is the weight."""

    plugin: str
    path: tuple[str, ...]
    domain: Integers | Floats | Choices
    label: str = ""

    @property
    def target(self) -> str:
        return ".".join((self.plugin, *(self.path or (WEIGHT,))))

    @property
    def name(self) -> str:
        """In reports."""
        return self.label or self.target

    def applied(self, settings: SchedulerConfig, value: Value) -> SchedulerConfig:
        """The configuration with this value."""
        if not self.path:
            return with_weight(settings, self.plugin, int(value))
        first, *rest = self.path
        if not rest:
            return with_args(settings, self.plugin, {first: value})
        known = copy.deepcopy(_known_args(settings, self.plugin).get(first))
        return with_args(settings, self.plugin, {first: _with_field(known, rest, value, self.name)})


def applied(settings: SchedulerConfig, parameters: Sequence[Parameter], point: Point) -> SchedulerConfig:
    """The configuration at a point of the space."""
    for parameter, value in zip(parameters, point, strict=True):
        settings = parameter.applied(settings, value)
    return settings


def size(parameters: Sequence[Parameter]) -> float:
    """Number of points, which may be infinite."""
    return math.prod(parameter.domain.size() for parameter in parameters)


def sample(parameters: Sequence[Parameter], chance: random.Random, known: set[Point]) -> Point | None:
    """A random point that is not known; None if there seems to be none."""
    for _ in range(_MAX_TRIES):
        if len(known) >= size(parameters):
            return None
        point = tuple(parameter.domain.sample(chance) for parameter in parameters)
        if point not in known:
            return point
    return None


def described(parameters: Sequence[Parameter], point: Point) -> str:
    return ", ".join(f"{parameter.name}={written(value)}" for parameter, value in zip(parameters, point, strict=True))


def written(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _known_args(settings: SchedulerConfig, plugin: str) -> dict[str, Any]:
    """Arguments of a plugin in the first profile that has it."""
    for profile in settings.profiles:
        if plugin in profile.wasm:
            try:
                found = orjson.loads(profile.wasm[plugin].guest_config or "{}")
            except ValueError:
                found = None
            return found if isinstance(found, dict) else {}
        if plugin in profile.args:
            return dict(profile.args[plugin])
    return {}


def _with_field(known: Any, path: Sequence[str], value: Value, name: str) -> Any:
    """The value with the field at the path replaced. A missing object on the way is made; a list must be there."""
    first, *rest = path
    if isinstance(known, list):
        if not first.isdecimal() or not int(first) < len(known):
            raise SpaceError(f"{name}: {shown(first)} is no place of a list of {len(known)}")
        index = int(first)
        known[index] = _with_field(known[index], rest, value, name) if rest else value
        return known
    if known is not None and not isinstance(known, dict):
        raise SpaceError(f"{name}: expected an object above {shown(first)}, got {shown(known)}")
    return {**(known or {}), first: _with_field((known or {}).get(first), rest, value, name) if rest else value}
