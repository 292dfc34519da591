"""Statistics of a running scheduler's attempts: totals, latency and rate by five seconds, the last ones of each kind.

HOT PATH (guard: make bars): `attempted` costs the same for every attempt, and nothing here grows.
"""

from __future__ import annotations

import heapq
from collections import deque
from itertools import accumulate
from math import frexp
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from kubewasp.console.console_source import Change, Series

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubewasp.clock import Clock
    from kubewasp.rollout.rollout_events import RolloutEvent
    from kubewasp.rollout.trials import PluginTrial
    from kubewasp.scheduler.attempt import Attempt
    from kubewasp.scheduler.shadow import Comparison

SLOT: Final = 5.0
SLOTS: Final = 120
_RECENT_SLOTS: Final = 60  # of latency
_RATE_SLOTS: Final = 6
_KEPT: Final = 50  # changes of a kind
_MOST_TEXT: Final = 4096
# Buckets of latency: eight for each power of two, from a microsecond on.
_STEPS: Final = 8
_BUCKETS: Final = 32 * _STEPS
_FIRST_EXPONENT: Final = -20

# Time by the clock, pod, node, text, plugin.
_Kept = tuple[float, str, str, str, str]
SCHEDULED, UNSCHEDULABLE, ERROR, PREEMPTED = "scheduled", "unschedulable", "error", "preempted"


class AttemptStatistics:
    """Implements `AttemptListener` and `RolloutListener`. Any thread may read."""

    def __init__(self, clock: Clock) -> None:
        self.changes = 0
        self.scheduled = 0
        self.unschedulable = 0
        self.error = 0
        self._clock = clock
        self._now = clock.now
        self._kept: dict[str, deque[_Kept]] = {SCHEDULED: deque(maxlen=_KEPT)}
        self._placed = self._kept[SCHEDULED]
        self._slots = [_Slot(-1) for _ in range(SLOTS)]
        self._samples: deque[tuple[int, int, int]] = deque(maxlen=SLOTS)
        self._slot = self._slots[0]
        self._slot_ends = -1.0

    # ------------------------------------------------------------------ scheduler's thread

    def attempted(self, attempt: Attempt) -> None:
        now = self._now()
        slot = self._slot if now < self._slot_ends else self._begin_slot(now)
        if attempt.seconds:  # none at the outcome of a binding
            slot.latency[_bucket(attempt.seconds)] += 1
        self.changes += 1
        if not attempt.node:
            self._not_placed(now, attempt)
        elif not (attempt.is_waiting or attempt.is_binding):
            self.scheduled += 1
            slot.scheduled += 1
            self._placed.append((now, attempt.pod.key, attempt.node, "", ""))

    def _not_placed(self, now: float, attempt: Attempt) -> None:
        if attempt.is_error:
            self.error += 1
        else:
            self.unschedulable += 1
        key = attempt.pod.key
        self._keep(ERROR if attempt.is_error else UNSCHEDULABLE, (now, key, "", attempt.message, ""))
        for victim in attempt.victims:
            self._keep(PREEMPTED, (now, victim.key, victim.node, f"for {key}", ""))

    def _begin_slot(self, now: float) -> _Slot:
        number = int(now / SLOT)
        at = number % SLOTS
        if self._slots[at].number != number:
            self._slots[at] = _Slot(number)
        self._slot, self._slot_ends = self._slots[at], (number + 1) * SLOT
        return self._slot

    # ------------------------------------------------------------------ any thread

    def noted(self, changes: Iterable[Change]) -> None:
        """Changes that were seen otherwise, such as those of nodes."""
        offset = self._clock.wall() - self._now()
        for change in changes:
            self.changes += 1
            self._keep(change.kind, (change.time - offset, change.pod, change.node, change.text, change.plugin))

    def happened(self, event: RolloutEvent) -> None:
        self.changes += 1
        self._keep("rollout", (self._now(), "", "", event.message, event.plugin))

    def swapped(self, seconds: float) -> None:
        pass

    def compared(self, trial: PluginTrial, found: Comparison) -> None:
        pass

    def canary_decides(self, trial: PluginTrial) -> None:
        pass

    def sample(self, placed: int, pending: int) -> None:
        """Figures of now, for the series; about once in five seconds."""
        number = int(self._now() / SLOT)
        self._samples.append((number, placed, pending))

    def is_busy(self) -> bool:
        """Whether pods were scheduled in these seconds."""
        number = int(self._now() / SLOT)
        return any(any(slot.latency) for slot in self._last(number, 2))

    def rate(self) -> float:
        """Pods scheduled per second, lately."""
        now = self._now()
        slots = self._last(int(now / SLOT), _RATE_SLOTS)
        return sum(slot.scheduled for slot in slots) / ((_RATE_SLOTS - 1) * SLOT + now % SLOT)

    def latency(self, *shares: float) -> list[float | None]:
        """Quantiles of the seconds per attempt in the last five minutes."""
        counts = [0] * _BUCKETS
        for slot in self._last(int(self._now() / SLOT), _RECENT_SLOTS):
            counts = [before + more for before, more in zip(counts, slot.latency, strict=True)]
        total, sums = sum(counts), list(accumulate(counts))
        if not total:
            return [None] * len(shares)
        return [_middle(next(at for at, count in enumerate(sums) if count >= share * total)) for share in shares]

    def recent(self, most: int) -> list[Change]:
        """The last changes of all kinds, the newest first."""
        offset = self._clock.wall() - self._now()
        kept = [(*item, kind) for kind, items in list(self._kept.items()) for item in items.copy()]
        return [
            Change(when + offset, kind, _text(kind, node, text), pod, node, plugin)
            for when, pod, node, text, plugin, kind in heapq.nlargest(most, kept, key=itemgetter(0))
        ]

    def series(self) -> Series:
        """The figures of the last ten minutes, without those of the current seconds."""
        now = self._now()
        offset, last = self._clock.wall() - now, int(now / SLOT) - 1
        samples = {number: figures for number, *figures in self._samples.copy()}
        scheduled = {slot.number: slot.scheduled for slot in self._last(last, SLOTS - 1)}
        numbers = sorted({*samples, *scheduled} & set(range(last - SLOTS + 2, last + 1)))
        return Series(
            time=[(number + 1) * SLOT + offset for number in numbers],
            placed=[samples[number][0] if number in samples else None for number in numbers],
            pending=[samples[number][1] if number in samples else None for number in numbers],
            rate=[scheduled.get(number, 0) / SLOT for number in numbers],
        )

    def _last(self, number: int, count: int) -> list[_Slot]:
        return [slot for slot in self._slots.copy() if number - count < slot.number <= number and slot.number >= 0]

    def _keep(self, kind: str, item: _Kept) -> None:
        items = self._kept.get(kind)
        if items is None:
            items = self._kept[kind] = deque(maxlen=_KEPT)
        items.append(item)


def _text(kind: str, node: str, text: str) -> str:
    return (text or (f"placed on {node}" if node else kind))[:_MOST_TEXT]


class _Slot:
    """Figures of five seconds."""

    __slots__ = ("latency", "number", "scheduled")

    def __init__(self, number: int) -> None:
        self.number = number
        self.latency = [0] * _BUCKETS
        self.scheduled = 0


def _bucket(seconds: float) -> int:
    fraction, exponent = frexp(seconds)  # 0.5 <= fraction < 1
    at = (exponent - _FIRST_EXPONENT) * _STEPS + int((fraction - 0.5) * 2 * _STEPS)
    return min(max(at, 0), _BUCKETS - 1)


def _middle(bucket: int) -> float:
    exponent, step = divmod(bucket, _STEPS)
    fraction = 0.5 + (step + 0.5) / (2 * _STEPS)
    return float(fraction * 2.0 ** (exponent + _FIRST_EXPONENT))
