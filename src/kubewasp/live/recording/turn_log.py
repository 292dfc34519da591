"""Log of turns: outcomes, random numbers and results of writes of the turn under way, put together when it ends.

HOT PATH (guard: make bars, recording). The scheduler's thread queues references; the writer's thread encodes them.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

from kubewasp.apiserver.raw_object import RawObject
from kubewasp.live.mirror import DELETED
from kubewasp.live.recording.entries import EntryKind, attempt_document, encode_entry, pod_reference, status_document
from kubewasp.live.recording.kept_objects import kept
from kubewasp.live.recording.writer import list_parts
from kubewasp.scheduler.attempt import NoRecorder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kubewasp.framework.decision_record import DecisionRecord
    from kubewasp.framework.handle import Client
    from kubewasp.framework.status import Status
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.attempt import Attempt, DecisionRecorder


class Outcome(NamedTuple):
    """An attempt that ended in a turn, with the history of its pod. A canary decided on it, or not.

    `place` is that in the queue, and the end of the backoff; None for a pod that is not in it, or in flight.
    """

    attempt: Attempt
    number: int
    rejected_by: frozenset[str]
    nomination: str
    place: tuple[str, float] | None
    is_canary: bool


class Turn(NamedTuple):
    """One turn. `main` is the attempt that it was for, if any."""

    kind: EntryKind
    now: float
    wall: float
    content: tuple[Any, ...]
    outcomes: Sequence[Outcome]
    main: Attempt | None
    notes: Mapping[str, Any] | None


class TurnNotes:
    """Notes on the turn under way: what the scheduler was given besides its input. For the scheduler's thread."""

    def __init__(self) -> None:
        self._notes: dict[str, Any] = {}

    def add(self, name: str, value: Any) -> None:
        self._notes.setdefault(name, []).append(value)

    def take(self) -> dict[str, Any] | None:
        if not self._notes:
            return None
        notes, self._notes = self._notes, {}
        return notes


class NotedRandom(random.Random):
    """Random numbers that are noted."""

    def __init__(self, seed: int, notes: TurnNotes) -> None:
        super().__init__(seed)
        self._notes = notes

    def getrandbits(self, k: int, /) -> int:
        found = super().getrandbits(k)
        self._notes.add("bits", str(found) if k > 53 else found)  # JSON of other programs has 53
        return found

    def random(self) -> float:
        found = super().random()
        self._notes.add("floats", found)
        return found


class NotedClient:
    """Client whose results are noted."""

    def __init__(self, inner: Client, notes: TurnNotes) -> None:
        self._inner = inner
        self._notes = notes

    def bind(self, pod: Pod, node: str, annotations: Mapping[str, str] | None = None) -> Status:
        return self._inner.bind(pod, node, annotations)

    def update(self, manifest: Mapping[str, Any]) -> Status:
        status = self._inner.update(manifest)
        self._notes.add("updates", status_document(status))
        return status

    def evict(self, victims: Sequence[Pod], preemptor: Pod, node: str) -> Status:
        status = self._inner.evict(victims, preemptor, node)
        self._notes.add("evictions", [pod_reference(victim) for victim in victims])
        return status


class NotedSampling:
    """Recorder of decisions whose choice of attempts is noted: a recorded attempt calls plugins for all nodes."""

    def __init__(self, inner: DecisionRecorder | None, notes: TurnNotes) -> None:
        self._inner = inner or NoRecorder()
        self._notes = notes

    def record_for(self, pod: Pod) -> DecisionRecord | None:
        record = self._inner.record_for(pod)
        if record is not None:
            self._notes.add("recorded", True)
        return record


def encode_turn(turn: Turn) -> Iterable[bytes]:
    """The entries of a turn. On the writer's thread."""
    kind, now, wall, content = turn.kind, turn.now, turn.wall, turn.content
    body: dict[str, Any] = {}
    objects: tuple[bytes, ...] = ()
    if kind == EntryKind.CHANGED:
        name, change, data = content
        body["kind"] = name
        if change == DELETED:
            kind = EntryKind.GONE
            body["key"] = RawObject(data).key
        else:
            objects = (kept(name, data),)
    elif kind == EntryKind.LISTED:
        name, listed = content
        yield from list_parts(name, now, wall, EntryKind.LIST_PART, (kept(name, data) for data in listed))
        body["kind"] = name
    elif kind == EntryKind.BOUND:
        body["uid"], status = content
        body["status"] = status_document(status)
    elif kind in (EntryKind.EVICTED, EntryKind.NOT_EVICTED):
        body["victim"], body["preemptor"] = map(pod_reference, content)
    if turn.outcomes:
        body["outcomes"] = [_outcome(item, is_main=item.attempt is turn.main) for item in turn.outcomes]
    if turn.notes:
        body["notes"] = turn.notes
    yield encode_entry(kind, now, wall, body or None, objects)


def _outcome(item: Outcome, *, is_main: bool) -> dict[str, Any]:
    found = attempt_document(item.attempt, item.number, item.rejected_by)
    if item.place is not None:
        found["place"] = item.place
    if item.nomination:
        found["nomination"] = item.nomination
    if is_main:
        found["main"] = True
    if item.is_canary:
        found["canary"] = True
    return found
