"""Source of a console: the data behind its views, of a simulation, a recording, a comparison or a running scheduler.

All methods may be called from any thread and are quick or bounded; the API calls them on worker threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.console.picture import Picture
    from kubewasp.console.run_comparison import RunComparison
    from kubewasp.console.study import Study


class Mode(StrEnum):
    """Kind of a source."""

    LIVE = "live"
    SIMULATION = "simulation"
    SNAPSHOT = "snapshot"
    RECORDING = "recording"
    COMPARISON = "comparison"


class NotThereError(LookupError):
    """A run, a position, a pod or a node that a source does not have; the text is shown."""


# ---------------------------------------------------------------------- session


@dataclass(frozen=True, slots=True)
class Run:
    """A run that can be looked at: the only one, or one of a comparison."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Views and actions that a source has."""

    timeline: bool = False
    compare: bool = False
    decisions: bool = True
    events: bool = False
    actions: bool = False


@dataclass(frozen=True, slots=True)
class ProfilePlugin:
    """A plugin of a profile: its weight (0: it does not score), and the extension points at which it is enabled."""

    name: str
    weight: int
    points: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProfileFacts:
    """A profile by its scheduler name."""

    name: str
    plugins: tuple[ProfilePlugin, ...]


@dataclass(frozen=True, slots=True)
class Session:
    """What a page asks first. `csrf` is the token of actions, empty without them.

    `viewer` is the name of a signed-in viewer, else empty.
    """

    mode: Mode
    title: str
    runs: tuple[Run, ...]
    capabilities: Capabilities
    profiles: tuple[ProfileFacts, ...] = ()
    csrf: str = ""
    viewer: str = ""


# ---------------------------------------------------------------------- activity


@dataclass(frozen=True, slots=True)
class PluginTime:
    """Time of a plugin at an extension point. Quantiles are None where only sums are known."""

    name: str
    point: str
    calls: int
    seconds: float
    p50: float | None = None
    p99: float | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the cluster or an attempt; `position` is that of the timeline, if there is one.

    `kind` is scheduled, unschedulable, error, preempted, created, deleted, node-added, node-removed, node-changed,
    difference or rollout. `pod` is `namespace/name`.
    """

    time: float
    kind: str
    text: str
    pod: str = ""
    node: str = ""
    plugin: str = ""
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Figures over time, at most 120 points; `rate` is pods scheduled per second, None where unknown."""

    time: Sequence[float] = ()
    placed: Sequence[float | None] = ()
    pending: Sequence[float | None] = ()
    rate: Sequence[float | None] = ()


@dataclass(frozen=True, slots=True)
class Activity:
    """Work of a scheduler up to now; None where a source does not know. `p50` and `p99` are seconds per attempt."""

    scheduled: int | None = None
    unschedulable: int | None = None
    error: int | None = None
    rate: float | None = None
    p50: float | None = None
    p99: float | None = None
    plugins: Sequence[PluginTime] = ()
    recent: Sequence[Change] = ()
    series: Series = field(default_factory=Series)


# ---------------------------------------------------------------------- plugins


@dataclass(frozen=True, slots=True)
class Signature:
    """State is verified, unsigned, not-required or unknown."""

    state: str = "unknown"
    signer: str = ""


@dataclass(frozen=True, slots=True)
class RolloutFacts:
    """A version on trial; `detail` are pairs of a name and a text, `actions` those that are allowed."""

    state: str
    step: str = ""
    detail: Sequence[tuple[str, str]] = ()
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PluginFacts:
    """A plugin of the profiles. `origin` is built-in, wasm or python; `memory` is in bytes."""

    name: str
    origin: str
    profiles: tuple[str, ...] = ()
    weight: int = 0
    hooks: tuple[str, ...] = ()
    source: str = ""
    version: str = ""
    digest: str = ""
    signature: Signature = field(default_factory=Signature)
    calls: int | None = None
    errors: int | None = None
    timeouts: int | None = None
    seconds: float | None = None
    p50: float | None = None
    p99: float | None = None
    memory: int | None = None
    rollout: RolloutFacts | None = None


# ---------------------------------------------------------------------- timeline


@dataclass(frozen=True, slots=True)
class Mark:
    """A named position of a timeline."""

    position: int
    time: float
    text: str


@dataclass(frozen=True, slots=True)
class TimelineSeries:
    """Figures by position, at most 1,000 points."""

    position: Sequence[int]
    time: Sequence[float]
    pending: Sequence[int]
    placed: Sequence[int]
    nodes_used: Sequence[int]
    utilisation: Mapping[str, Sequence[float]]


class Timeline(Protocol):
    """Changes by position: position 0 is before the first one, `length` after the last one."""

    @property
    def length(self) -> int: ...

    @property
    def start(self) -> float: ...

    @property
    def end(self) -> float: ...

    @property
    def differences(self) -> int: ...

    @property
    def marks(self) -> Sequence[Mark]: ...

    def series(self) -> TimelineSeries: ...

    def changes(self, start: int, limit: int) -> Sequence[Change]:
        """Changes from a position on."""

    def next(self, start: int, kind: str) -> int | None:
        """The first position from `start` on after a change of a kind; `any` is every kind."""

    def decided_at(self, pod: str) -> int | None:
        """The position before the last attempt of a pod (`namespace/name`)."""


# ---------------------------------------------------------------------- source


class ConsoleSource(Protocol):
    """Source of a console. An empty `run` is the first one. Raises NotThereError."""

    @property
    def session(self) -> Session: ...

    def picture(self, run: str, at: int | None) -> Picture:
        """The cluster at a position of the timeline; None: at its end, or now."""

    def timeline(self, run: str) -> Timeline | None: ...

    def study(self, run: str) -> Study | None:
        """The maker of decisions, None if there are none."""

    def activity(self, run: str) -> Activity: ...

    def plugins(self, run: str) -> Sequence[PluginFacts]: ...

    def comparison(self) -> RunComparison | None: ...

    def generation(self) -> int:
        """Grows with each change that a page would show."""
