"""Event series: the first event of its kind is created, repetitions are counted in it.

Events are of one kind if all but their notes are equal. The count of a series is written at its first repetition, then
every half hour, and for the last time after six minutes without a repetition.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kubewasp.k8s import timestamps
from kubewasp.k8s.texts import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_IDLE = 6 * 60.0
_REFRESH = 30 * 60.0
_LONGEST_NOTE = 1024
_MOST_KINDS = 20_000


@dataclass(frozen=True, slots=True)
class Reference:
    """Reference to the object of an event."""

    kind: str
    namespace: str
    name: str
    uid: str
    api_version: str = "v1"

    def manifest(self) -> dict[str, Any]:
        known = {"kind": self.kind, "namespace": self.namespace, "name": self.name, "uid": self.uid}
        return {key: value for key, value in (known | {"apiVersion": self.api_version}).items() if value}


@dataclass(frozen=True, slots=True)
class EventKey:
    """Identity of a series: events with equal keys are repetitions."""

    type: str
    reason: str
    action: str
    controller: str
    instance: str
    regarding: Reference
    related: Reference | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """Event to create, or patch of an event (`is_patch`)."""

    namespace: str
    name: str
    manifest: Mapping[str, Any]
    is_patch: bool = False


@dataclass(slots=True)
class _Series:
    namespace: str
    name: str
    last: float
    count: int = 1
    written: int = 1
    written_at: float = field(default=0.0)


class EventSeries:
    """Series of recent events, by key. `wall` gives seconds since 1970. Not thread-safe."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._known: dict[EventKey, _Series] = {}

    def record(self, key: EventKey, note: str) -> Write | None:
        """Write for an event; None if it is only counted."""
        now = self._wall()
        series = self._known.get(key)
        if series is None or _far_apart(now, series.last):
            return self._create(key, note, now)
        series.count += 1
        series.last = now
        return self._patch(series, now) if series.count == 2 else None

    def due(self) -> Iterator[Write]:
        """Writes that became due; to be called about once a minute."""
        now = self._wall()
        for key, series in list(self._known.items()):
            idle = _far_apart(now, series.last)
            if series.count > series.written and (idle or now - series.written_at >= _REFRESH):
                yield self._patch(series, now)
            if idle:
                del self._known[key]

    def _create(self, key: EventKey, note: str, now: float) -> Write:
        if len(self._known) >= _MOST_KINDS:
            del self._known[next(iter(self._known))]
        namespace = key.regarding.namespace or "default"
        name = f"{key.regarding.name}.{int(now * 1e9):x}"
        self._known[key] = _Series(namespace, name, now, written_at=now)
        manifest = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": _time(now),
            "reportingController": key.controller,
            "reportingInstance": key.instance,
            "action": key.action,
            "reason": key.reason,
            "regarding": key.regarding.manifest(),
            "note": shortened(note, _LONGEST_NOTE),
            "type": key.type,
        }
        if key.related is not None:
            manifest["related"] = key.related.manifest()
        return Write(namespace, name, manifest)

    def _patch(self, series: _Series, now: float) -> Write:
        series.written, series.written_at = series.count, now
        seen = {"count": series.count, "lastObservedTime": _time(series.last)}
        return Write(series.namespace, series.name, {"series": seen}, is_patch=True)


def _far_apart(now: float, last: float) -> bool:
    """Whether a series is over. A series in the future, after a clock was set back, is over too."""
    return abs(now - last) > _IDLE


def _time(seconds: float) -> str:
    return timestamps.in_microseconds(int(seconds * timestamps.MICROSECONDS))
