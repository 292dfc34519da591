"""History of a cluster: its changes by position, and the picture at each. Bounded: the oldest changes become its start.

Position 0 is before the first change. Objects are shared between pictures; a position costs what has changed there.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from kubewasp.console.console_source import Change, Mark, NotThereError
from kubewasp.console.figures import Figures
from kubewasp.console.picture import Picture

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kubewasp.console.console_source import TimelineSeries
    from kubewasp.console.picture import QueueEntry
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.object_store import Key

# Parts of a state that change.
NODES, PODS, QUEUE, OBJECTS, ROTATION = "nodes", "pods", "queue", "objects", "rotation"
MOST_CHANGES: Final = 500_000
_MOST_KEYFRAMES: Final = 12
_FIRST_SPACING: Final = 1000
_KEPT_PICTURES: Final = 6
_MOST_MARKS: Final = 200


@dataclass(slots=True)
class State:
    """State of a cluster; `copy` shares the objects."""

    nodes: dict[str, Node] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    queue: dict[str, QueueEntry] = field(default_factory=dict)
    objects: dict[str, dict[Key, object]] = field(default_factory=dict)
    rotation: int = 0

    def copy(self) -> State:
        objects = {kind: dict(found) for kind, found in self.objects.items()}
        return State(dict(self.nodes), dict(self.pods), dict(self.queue), objects, self.rotation)

    def set(self, part: str, key: Any, value: Any) -> None:
        """Sets, or with None removes, an entry of a part."""
        if part == ROTATION:
            self.rotation = value
            return
        if part == OBJECTS:
            target, key = self.objects.setdefault(key[0], {}), key[1]
        else:
            target = getattr(self, part)
        if value is None:
            target.pop(key, None)
        else:
            target[key] = value

    def picture(self, time: float) -> Picture:
        """A picture that owns this state: it must not change any more."""
        return Picture(time, self.nodes, self.pods, self.queue, self.objects, self.rotation)


@dataclass(slots=True)
class _Step:
    """A change with its effects on the state."""

    change: Change
    effects: list[tuple[str, Any, Any]]


class History:
    """Timeline of one run. Written by one thread; complete once `close` was called. Implements `Timeline`."""

    def __init__(self, state: State, time: float, *, most: int = MOST_CHANGES) -> None:
        self._most = most
        self._state = state
        self._steps: list[_Step] = []
        self._keyframes: list[tuple[int, State]] = [(0, state.copy())]
        self._spacing = _FIRST_SPACING
        self._start = self._end = time
        self._dropped = 0
        self._decided: dict[str, int] = {}
        self._differences: set[int] = set()  # positions after them
        self._marks: list[Mark] = []
        self._figures = Figures()
        for node in state.nodes.values():
            self._figures.node(None, node)
        for pod in state.pods.values():
            self._figures.pod(None, pod)
        self._figures.sample(0, time)
        self._lock = threading.Lock()
        self._pictures: OrderedDict[int, Picture] = OrderedDict()

    # ------------------------------------------------------------------ writing

    @property
    def state(self) -> State:
        """The state now, for reading."""
        return self._state

    def add(self, change: Change) -> None:
        """Begins a new position; `effect` adds its effects."""
        self._sample()
        if len(self._steps) - self._keyframes[-1][0] >= self._spacing:
            self._keyframes.append((len(self._steps), self._state.copy()))
            if len(self._keyframes) > _MOST_KEYFRAMES:
                self._spacing *= 2
                self._keyframes = [self._keyframes[0], *self._keyframes[2::2]]
        self._steps.append(_Step(change, []))
        self._end = change.time
        if len(self._steps) > self._most:
            self._forget(max(1, self._most // 4))

    def effect(self, part: str, key: Any, value: Any) -> None:
        """An effect of the last change; before the first one, of the start."""
        if part == NODES:
            self._figures.node(self._state.nodes.get(key), value)
        elif part == PODS:
            self._figures.pod(self._state.pods.get(key), value)
        self._state.set(part, key, value)
        if self._steps:
            self._steps[-1].effects.append((part, key, value))
        else:
            self._keyframes[0][1].set(part, key, value)

    def decided(self, pod: str, before: int) -> None:
        """The pod's last attempt was made at that position."""
        self._decided[pod] = before + self._dropped

    def mark(self, text: str) -> None:
        if len(self._marks) < _MOST_MARKS:
            self._marks.append(Mark(len(self._steps) + self._dropped, self._end, text))

    def differs(self) -> None:
        """The last change is a difference."""
        self._differences.add(len(self._steps) + self._dropped)

    def close(self, time: float, queue: Mapping[str, QueueEntry]) -> None:
        """The run has ended with this queue."""
        self._end = max(self._end, time)
        known = self._state.queue
        for key in [key for key in known if key not in queue]:
            self.effect(QUEUE, key, None)
        for key, entry in queue.items():
            if known.get(key) != entry:
                self.effect(QUEUE, key, entry)
        self._figures.sample(len(self._steps), self._end, is_last=True)

    def mark_differences(self, pods: Collection[str]) -> None:
        """Placements of these pods are differences."""
        for place, step in enumerate(self._steps):
            if step.change.kind in ("scheduled", "unschedulable") and step.change.pod in pods:
                self._differences.add(place + 1 + self._dropped)

    def _sample(self) -> None:
        self._figures.sample(len(self._steps), self._end)

    def _forget(self, number: int) -> None:
        """Makes the oldest changes part of the start."""
        self._keyframes = [item for item in self._keyframes if item[0] <= number][-1:] + [
            item for item in self._keyframes if item[0] > number
        ]
        position, state = self._keyframes[0]
        for step in self._steps[position:number]:
            for effect in step.effects:
                state.set(*effect)
        self._start = self._steps[number - 1].change.time
        del self._steps[:number]
        self._keyframes = [(0, state), *((place - number, found) for place, found in self._keyframes[1:])]
        self._dropped += number
        self._figures.moved(number)
        self._decided = {pod: place for pod, place in self._decided.items() if place >= self._dropped}
        self._marks = [mark for mark in self._marks if mark.position >= self._dropped]

    # ------------------------------------------------------------------ reading

    @property
    def length(self) -> int:
        return len(self._steps)

    @property
    def start(self) -> float:
        return self._start

    @property
    def end(self) -> float:
        return self._end

    @property
    def differences(self) -> int:
        return sum(position > self._dropped for position in self._differences)

    @property
    def marks(self) -> Sequence[Mark]:
        return [replace(mark, position=mark.position - self._dropped) for mark in self._marks]

    def series(self) -> TimelineSeries:
        return self._figures.series()

    def changes(self, start: int, limit: int) -> Sequence[Change]:
        found = self._steps[start : start + limit]
        return [replace(step.change, position=start + place + 1) for place, step in enumerate(found)]

    def next(self, start: int, kind: str) -> int | None:
        if kind == "difference":
            later = (position - self._dropped for position in self._differences)
            return min((position for position in later if position > start), default=None)
        for place in range(start, len(self._steps)):
            if kind in ("any", self._steps[place].change.kind):
                return place + 1
        return None

    def decided_at(self, pod: str) -> int | None:
        found = self._decided.get(pod)
        return None if found is None else found - self._dropped

    def picture_at(self, position: int | None) -> Picture:
        """The cluster after that many changes; None: at the end. Safe from any thread once the run has ended."""
        at = self.length if position is None else position
        if at > self.length:
            raise NotThereError(f"the timeline has {self.length} positions, {at} is not one of them")
        with self._lock:
            known = self._pictures.get(at)
            if known is None:
                known = self._pictures[at] = self._made(at)
            self._pictures.move_to_end(at)
            while len(self._pictures) > _KEPT_PICTURES:
                self._pictures.popitem(last=False)
            return known

    def _made(self, at: int) -> Picture:
        position, keyframe = max((item for item in self._keyframes if item[0] <= at), key=lambda item: item[0])
        state = keyframe.copy()
        for step in self._steps[position:at]:
            for effect in step.effects:
                state.set(*effect)
        time = self._end if at == self.length else self._steps[at - 1].change.time if at else self._start
        return state.picture(time)
