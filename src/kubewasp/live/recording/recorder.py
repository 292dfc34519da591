"""Recorder of a live scheduler: a tap on every way into its thread.

HOT PATH (guard: make bars, recording). Objects come by the mirror, results of writes by the dispatcher, time by the
scheduling loop: between two turns the state is at rest, and a new segment can begin with a checkpoint of it.
"""

from __future__ import annotations

import random
import uuid
from typing import TYPE_CHECKING, Any, Final

from kubewasp.apiserver.raw_object import RawObject
from kubewasp.live.mirror import DELETED
from kubewasp.live.recording.entries import DEPARTED, VICTIMS, EntryKind, encode_entry
from kubewasp.live.recording.kept_objects import kept
from kubewasp.live.recording.turn_clock import TurnClock
from kubewasp.live.recording.turn_log import NotedRandom, Outcome, Turn, TurnNotes, encode_turn
from kubewasp.live.recording.writer import RecordingWriter, Segment, list_parts
from kubewasp.scheduler.checkpoint import checkpoint, node_rows
from kubewasp.wasm.repeatable import Repeatable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from kubewasp.clock import Clock
    from kubewasp.framework.status import Status
    from kubewasp.k8s.pods import Pod
    from kubewasp.live.mirror import Mirror
    from kubewasp.scheduler.attempt import Attempt
    from kubewasp.scheduler.queue import SchedulingQueue
    from kubewasp.scheduler.scheduler import Scheduler

_NO_OUTCOMES: Final[list[Outcome]] = []
_STATE_KINDS: Final = ("Pod", "Node")  # the scheduler has these itself


class Recording:
    """A recording to be: files, clock, and the seed of all random numbers. Made before the scheduler."""

    def __init__(self, folder: Path, limit: int, clock: Clock, *, seed: int | None = None) -> None:
        self.seed = random.SystemRandom().getrandbits(32) if seed is None else seed
        self.run_id = str(uuid.uuid4())
        self.clock = TurnClock(clock)
        self.notes = TurnNotes()
        self.writer = RecordingWriter(folder, limit, encode=encode_turn)
        self.repeatable = Repeatable(self.seed, self.clock)

    def make_random(self, seed: int) -> random.Random:
        return NotedRandom(seed, self.notes)

    def close(self) -> None:
        self.writer.close()


class Recorder:
    """Taps of one scheduler: its steps for the loop, `replaced` and `changed` for watches, and a `ClientListener`.

    It listens to attempts and to rollouts as well. `header` describes the version in use. All but `swapped` are called
    on the scheduler's thread; a swap takes place there too.
    """

    def __init__(
        self, recording: Recording, scheduler: Scheduler, mirror: Mirror, header: Callable[[], dict[str, Any]]
    ) -> None:
        self.clock = recording.clock
        self._run_id = recording.run_id
        self._seed = recording.seed
        self._notes = recording.notes
        self._writer = recording.writer
        self._scheduler = scheduler
        self._mirror = mirror
        self._header = header
        self._objects: dict[str, dict[tuple[str, str], bytes]] = {}
        self._victims: dict[tuple[str, str], Pod] = {}  # by their uid and the preemptor's
        self._outcomes: list[Outcome] = []
        self._is_segment_due = True
        self._segments = 0
        scheduler.subscribe(self)

    # ------------------------------------------------------------------ steps, for the scheduling loop

    @property
    def queue(self) -> SchedulingQueue:
        return self._scheduler.queue

    def next_tick(self) -> float | None:
        return self._scheduler.next_tick()

    def settle(self) -> None:
        self._begin()
        self._scheduler.settle()
        if self._outcomes:
            self._end(EntryKind.SETTLE)

    def tick(self) -> None:
        due = self._scheduler.next_tick()
        if due is None and not self._scheduler.retirement:
            return
        self._begin()
        self._scheduler.tick()
        if due is not None and due <= self.clock.now():
            self._end(EntryKind.TICK)

    def flush_stuck(self) -> None:
        self._begin()
        self._scheduler.flush_stuck()
        self._end(EntryKind.FLUSH)

    def schedule_one(self) -> Attempt | None:
        self._begin()
        attempt = self._scheduler.schedule_one()
        if attempt is not None or self._outcomes:
            self._end(EntryKind.ATTEMPT, main=attempt)
        return attempt

    # ------------------------------------------------------------------ objects, for the watches

    def replaced(self, kind: str, objects: Sequence[bytes]) -> None:
        self._begin()
        self._mirror.replaced(kind, objects)
        if kind not in _STATE_KINDS:
            self._objects[kind] = {RawObject(data).key: data for data in objects}
        self._end(EntryKind.LISTED, kind, objects)

    def changed(self, kind: str, change: str, raw: bytes) -> tuple[str, str] | None:
        self._begin()
        key = self._mirror.changed(kind, change, raw)
        if key is not None:
            if kind not in _STATE_KINDS:
                known = self._objects.setdefault(kind, {})
                if change == DELETED:
                    known.pop(key, None)
                else:
                    known[key] = raw
            self._end(EntryKind.CHANGED, kind, change, raw)
        return key

    # ------------------------------------------------------------------ ClientListener

    def bound(self, uid: str, status: Status) -> None:
        self._begin()
        self._scheduler.bound(uid, status)
        self._end(EntryKind.BOUND, uid, status)

    def evicting(self, victim: Pod, preemptor: Pod) -> None:
        self._victims[victim.uid, preemptor.uid] = victim
        self._scheduler.evicting(victim, preemptor)  # part of a turn

    def evicted(self, victim: Pod, preemptor: Pod) -> None:
        self._begin()
        self._victims.pop((victim.uid, preemptor.uid), None)
        self._scheduler.evicted(victim, preemptor)
        self._end(EntryKind.EVICTED, victim, preemptor)

    def not_evicted(self, victim: Pod, preemptor: Pod) -> None:
        self._begin()
        self._victims.pop((victim.uid, preemptor.uid), None)
        self._scheduler.not_evicted(victim, preemptor)
        self._end(EntryKind.NOT_EVICTED, victim, preemptor)

    # ------------------------------------------------------------------ AttemptListener, RolloutListener

    def attempted(self, attempt: Attempt) -> None:
        queued, canary = self._scheduler.queue.get(attempt.pod.uid), self._scheduler.profiles.canary
        is_canary = canary is not None and canary.framework_for(attempt.pod) is not None
        if queued is None:
            outcome = Outcome(attempt, 0, frozenset(), "", None, is_canary)
        else:
            place = None if attempt.node else (queued.place, queued.ready_at)
            nomination = queued.pod.nominated_node
            outcome = Outcome(attempt, queued.attempts, queued.rejected_by, nomination, place, is_canary)
        self._outcomes.append(outcome)

    def happened(self, event: object) -> None:
        pass

    def swapped(self, seconds: float) -> None:  # noqa: ARG002 - interface
        """Other profiles decide from here on: a new segment names them."""
        self._is_segment_due = True

    def compared(self, trial: object, found: object) -> None:
        pass

    def canary_decides(self, trial: object) -> None:
        pass

    # ------------------------------------------------------------------ turns

    def _begin(self) -> None:
        self.clock.advance()
        writer = self._writer
        if self._is_segment_due or (writer.wants_segment and (writer.is_overdue or self._is_quiet())):
            self._is_segment_due = writer.wants_segment = False
            self._new_segment()

    def _is_quiet(self) -> bool:
        """Whether no pod is between its decision and its binding: a checkpoint is exact then."""
        return not len(self._scheduler.waiting) and not len(self._scheduler.binding)

    def _end(self, kind: EntryKind, *content: Any, main: Attempt | None = None) -> None:
        outcomes = self._outcomes
        if outcomes:
            self._outcomes = []
        clock = self.clock
        self._writer.put(
            Turn(kind, clock.now(), clock.wall(), content, outcomes or _NO_OUTCOMES, main, self._notes.take())
        )

    # ------------------------------------------------------------------ segments

    def _new_segment(self) -> None:
        """Queues a segment with the state of this moment; references only, the writer encodes."""
        if not self._writer.is_on:
            return
        now, wall, scheduler = self.clock.now(), self.clock.wall(), self._scheduler
        self._segments += 1
        rows, free = node_rows(scheduler)
        state = checkpoint(scheduler) | {"rows": rows, "free": free, "evicting": list(self._victims)}
        header = self._header() | {"run": self._run_id, "segment": self._segments, "seed": self._seed}
        pods = [pod.encoded for pod in self._mirror.pods.values()]
        nodes = [scheduler.table.objects.encoded(row) for row, name in enumerate(rows) if name is not None]
        bound = [item.assumed for item in scheduler.binding if scheduler.queue.get(item.assumed.uid) is None]
        apart = {VICTIMS: [pod.encoded for pod in self._victims.values()], DEPARTED: [pod.encoded for pod in bound]}
        others = {kind: list(found.values()) for kind, found in self._objects.items()}

        def begin() -> Iterable[bytes]:
            yield encode_entry(EntryKind.HEADER, now, wall, header)
            for kind, listed in {**others, "Node": nodes, "Pod": pods}.items():
                yield from list_parts(kind, now, wall, EntryKind.OBJECTS, (kept(kind, data) for data in listed))
            for kind, listed in apart.items():
                yield from list_parts(kind, now, wall, EntryKind.OBJECTS, (kept("Pod", data) for data in listed))
            yield encode_entry(EntryKind.STATE, now, wall, state)

        self._writer.put(Segment(begin))
