"""Judgement of a soak: curves that have to be flat, and states that have to hold."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tools.bench.statistics import duration, figure, percent
from tools.soak import profiles
from tools.soak.health_probe import TIMEOUT
from tools.soak.hostile_clients import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools.soak.samples import Outcome, Recording, Sample

# Shorter soaks are not judged by their curves: the first third is no warm-up yet.
SHORTEST: Final = 600.0
THIRDS: Final = (1 / 3, 2 / 3)
# At most so many points of a curve are drawn and compared; each stands for its neighbours.
MOST_POINTS: Final = 180
_SHOWN_NAMES: Final = 3

Points = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Curve:
    """A figure over time. It may change in the wrong direction by a share, or by an amount if that is more.

    `worse` is 1 if growth is bad, -1 if decline is.
    """

    name: str
    points: Callable[[Sequence[Sample]], Points]
    text: Callable[[float], str]
    share: float
    amount: float = 0.0
    worse: int = 1

    def tolerance(self, base: float) -> float:
        return max(self.share * abs(base), self.amount)

    @property
    def allowed(self) -> str:
        parts = [percent(self.share)] if self.share else []
        parts += [self.text(self.amount)] if self.amount else []
        return " or ".join(parts)


@dataclass(frozen=True, slots=True)
class Trend:
    """Medians of the last two thirds of a soak, and the change over both by the slope of the curve's line."""

    middle: float
    last: float
    drift: float

    @classmethod
    def of(cls, points: Points) -> Trend:
        """The line is that of Theil and Sen: the median of all slopes, so that single peaks do not count."""
        first, second = (points[-1][0] * share for share in THIRDS)
        middle = [value for at, value in points if first <= at < second]
        last = [value for at, value in points if at >= second]
        late = thinned([point for point in points if point[0] >= first])
        slopes = [
            (later - earlier) / (after - before)
            for place, (before, earlier) in enumerate(late)
            for after, later in late[place + 1 :]
            if after > before
        ]
        slope = statistics.median(slopes) if slopes else 0.0
        return cls(statistics.median(middle or last), statistics.median(last), slope * (late[-1][0] - late[0][0]))


def thinned(points: Points, of: Callable[[Sequence[float]], float] = statistics.median) -> Points:
    """Fewer points, each in the place of its neighbours."""
    each = -(-len(points) // MOST_POINTS)
    parts = [points[start : start + each] for start in range(0, len(points), each)] if points else []
    return [(statistics.median([at for at, _ in part]), of([value for _, value in part])) for part in parts]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the judgement; `is_passed` is None if it was not judged."""

    name: str
    is_passed: bool | None
    text: str

    def __str__(self) -> str:
        word = {True: "ok", False: "FAIL", None: "–"}[self.is_passed]
        return f"{word:5}{self.name:13}{self.text}"


def _level(read: Callable[[Sample], float]) -> Callable[[Sequence[Sample]], Points]:
    return lambda samples: [(one.seconds, read(one)) for one in samples]


def _rate(read: Callable[[Sample], float]) -> Callable[[Sequence[Sample]], Points]:
    return lambda samples: [
        (after.seconds, (read(after) - read(before)) / (after.seconds - before.seconds))
        for before, after in pairwise(samples)
        if after.seconds > before.seconds
    ]


def _mebibytes(value: float) -> str:
    return f"{value:,.0f} MiB"


def _number(value: float) -> str:
    """Without decimals where there are none: medians may have a half."""
    return f"{value:,.1f}".removesuffix(".0")


MEMORY: Final = Curve("memory", _level(lambda one: one.process.memory / 2**20), _mebibytes, 0.05, 16.0)
THREADS: Final = Curve("threads", _level(lambda one: one.process.threads), _number, 0.0, 2.0)
DESCRIPTORS: Final = Curve("descriptors", _level(lambda one: one.process.descriptors), _number, 0.1, 10.0)
PODS: Final = Curve("pods/s", _rate(lambda one: one.bound), _number, 0.1, worse=-1)
CPU: Final = Curve("CPU", _rate(lambda one: one.process.cpu), percent, 0.25)
CURVES: Final = (MEMORY, THREADS, DESCRIPTORS, PODS, CPU)


def judge(recording: Recording) -> list[Check]:
    """All checks of a soak."""
    samples, outcome = recording.samples, recording.outcome
    if outcome is None or len(samples) < 2:
        return [Check("recording", False, "it has no end: the soak itself was killed")]
    return [
        _alive(samples, outcome),
        _health(samples[-1], outcome),
        _pods(outcome),
        _log(outcome),
        _attacks(outcome),
        _guests(outcome),
        *(flat(curve, samples) for curve in CURVES),
    ]


def flat(curve: Curve, samples: Sequence[Sample]) -> Check:
    """Last third against middle third, and the slope over both."""
    points = curve.points(samples)
    if len(points) < 2:
        return Check(curve.name, None, "too few samples")
    trend = Trend.of(points)
    text = f"{curve.text(trend.last)}, in the middle third {curve.text(trend.middle)}"
    if samples[-1].seconds < SHORTEST:
        return Check(curve.name, None, f"{text}; not judged below {duration(SHORTEST)}")
    tolerance = curve.tolerance(trend.middle)
    by_medians, by_slope = curve.worse * (trend.last - trend.middle), curve.worse * trend.drift
    is_flat = by_medians <= tolerance and by_slope <= tolerance
    if not is_flat:
        text += f"; slope {'+' if trend.drift > 0 else ''}{curve.text(trend.drift)}; allowed {curve.allowed}"
    return Check(curve.name, is_flat, text)


def _alive(samples: Sequence[Sample], outcome: Outcome) -> Check:
    if outcome.ended_early is not None:
        return Check("process", False, f"ended after {_after(samples)} with code {outcome.ended_early}")
    if len({one.process.started for one in samples}) > 1 or outcome.starts != 1:
        return Check("process", False, f"restarted: {outcome.starts} starts in its log")
    if outcome.exit_code != 0:
        how = "was killed" if outcome.exit_code is None else f"ended with code {outcome.exit_code}"
        return Check("process", False, f"alive for {_after(samples)}, but {how} after SIGTERM")
    return Check("process", True, f"alive for {_after(samples)}, ended by SIGTERM with code 0")


def _after(samples: Sequence[Sample]) -> str:
    return duration(samples[-1].seconds)


def _health(last: Sample, outcome: Outcome) -> Check:
    times = outcome.probe_milliseconds
    took = f"median {figure(times['median'])} ms, slowest {figure(times['greatest'])} ms"
    if not last.probes or last.failed_probes:
        text = f"{last.failed_probes:,} of {last.probes:,} probes without an answer in {TIMEOUT:g} s; {took}"
        return Check("/livez", False, text)
    return Check("/livez", True, f"{last.probes:,} probes answered, {took}")


def _pods(outcome: Outcome) -> Check:
    if outcome.unbound:
        return Check("pods", False, f"{len(outcome.unbound):,} schedulable pods not bound: {_some(outcome.unbound)}")
    if outcome.wrongly_bound:
        names = outcome.wrongly_bound
        return Check("pods", False, f"{len(names):,} unschedulable pods bound: {_some(names)}")
    pending = outcome.pods.get(profiles.UNSCHEDULABLE, 0)
    return Check("pods", bool(outcome.bound), f"{outcome.bound:,} bound, all that fit; {pending:,} did not fit")


def _log(outcome: Outcome) -> Check:
    text = f"{outcome.tracebacks:,} tracebacks" if outcome.tracebacks else "no traceback"
    return Check("log", not outcome.tracebacks, text)


def _attacks(outcome: Outcome) -> Check:
    """A soak without attacks proves nothing."""
    missing = [name for name in NAMES if not outcome.attacks.get(name)]
    if missing:
        return Check("clients", False, f"no attack of the kind {', '.join(missing)}")
    return Check("clients", True, f"{sum(outcome.attacks.values()):,} attacks of {len(NAMES)} kinds")


def _guests(outcome: Outcome) -> Check:
    missing = [kind for kind in profiles.FAILURES if not outcome.guest_failures.get(kind)]
    if missing:
        return Check("guests", False, f"no failure of the kind {', '.join(missing)} was counted")
    if not outcome.recycled:
        return Check("guests", False, "no instance of a leaking guest was replaced")
    counts = ", ".join(f"{outcome.guest_failures[kind]:,} {kind}" for kind in profiles.FAILURES)
    return Check("guests", True, f"failures: {counts}; {outcome.recycled:,} leaks")


def _some(names: Sequence[str]) -> str:
    more = "" if len(names) <= _SHOWN_NAMES else ", …"
    return ", ".join(names[:_SHOWN_NAMES]) + more
