"""Entries of a recording: what the scheduler's thread took in, with its time, and the outcomes.

HOT PATH (guard: make bars, recording): several entries per pod are encoded. An entry is a fixed head, a JSON document,
and the protobuf bytes of objects.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from kubewasp.framework.status import Code, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.attempt import Attempt

_HEAD: Final = struct.Struct("<BddII")
_SIZE: Final = struct.Struct("<I")
# In place of a kind: pods whose eviction is under way, deleted or not; deleted pods that are being bound.
VICTIMS: Final = "victims"
DEPARTED: Final = "departed"


class EntryKind(IntEnum):
    """Kinds of entries. From `LISTED` on they are turns of the scheduler's thread, the others begin a segment."""

    HEADER = 1
    OBJECTS = 2
    STATE = 3
    LISTED = 10
    LIST_PART = 11
    CHANGED = 12
    GONE = 13
    BOUND = 14
    EVICTED = 15
    NOT_EVICTED = 16
    TICK = 17
    FLUSH = 18
    SETTLE = 19
    ATTEMPT = 20
    END = 30


class Entry(NamedTuple):
    """An entry as it is read. `now` and `wall` are the times of the scheduler's clock during a turn."""

    kind: EntryKind
    now: float
    wall: float
    body: Any
    objects: Sequence[bytes]


class EntryError(ValueError):
    """Bytes that are no entry."""


def encode_entry(kind: int, now: float, wall: float, body: Any, objects: Sequence[bytes] = ()) -> bytes:
    text = b"" if body is None else orjson.dumps(body)
    head = _HEAD.pack(kind, now, wall, len(text), len(objects))
    if not objects:
        return head + text
    return b"".join((head, text, *(_SIZE.pack(len(item)) + item for item in objects)))


def decode_entries(content: bytes) -> Iterator[Entry]:
    """The entries of a frame. Raises EntryError."""
    place = 0
    while place < len(content):
        try:
            number, now, wall, size, count = _HEAD.unpack_from(content, place)
            kind = EntryKind(number)
        except (struct.error, ValueError):
            raise EntryError("an entry is not known to this version") from None
        place += _HEAD.size
        text, place = content[place : place + size], place + size
        if place > len(content):
            raise EntryError("an entry is longer than its frame")
        try:
            body = orjson.loads(text) if text else None
        except orjson.JSONDecodeError:
            raise EntryError("an entry is not valid JSON") from None
        objects: list[bytes] = []
        for _ in range(count):
            if place + _SIZE.size > len(content):
                raise EntryError("an entry is longer than its frame")
            (length,) = _SIZE.unpack_from(content, place)
            place += _SIZE.size
            if place + length > len(content):
                raise EntryError("an entry is longer than its frame")
            objects.append(content[place : place + length])
            place += length
        yield Entry(kind, now, wall, body, objects)


# ---------------------------------------------------------------------- parts of documents


def attempt_document(attempt: Attempt, number: int, rejected_by: frozenset[str]) -> dict[str, Any]:
    """An outcome; what has its usual value is left out. `number` is that of the pod's attempts, 0 if unknown."""
    found: dict[str, Any] = {"uid": attempt.pod.uid, "pod": attempt.pod.key}
    if attempt.node:
        found["node"] = attempt.node
    if attempt.message:
        found["message"] = attempt.message
    if attempt.is_waiting:
        found["waiting"] = True
    if attempt.is_binding:
        found["binding"] = True
    if attempt.is_error:
        found["error"] = True
    if attempt.nominated_node:
        found["nominated"] = attempt.nominated_node
    if attempt.victims:
        found["victims"] = [pod_reference(victim) for victim in attempt.victims]
    if attempt.feasible:
        found["feasible"] = attempt.feasible
    if attempt.score is not None:
        found["score"] = attempt.score
    if attempt.annotations:
        found["annotations"] = {item.key: item.value for item in attempt.annotations}
    if number:
        found["attempt"] = number
    if rejected_by:
        found["rejected_by"] = sorted(rejected_by)
    return found


def pod_reference(pod: Pod) -> list[str]:
    return [pod.key, pod.uid]


def status_document(status: Status) -> dict[str, Any]:
    return {"code": int(status.code), "reasons": list(status.reasons), "plugin": status.plugin}


def read_status(document: Mapping[str, Any]) -> Status:
    code = document.get("code", Code.ERROR)
    reasons = tuple(str(reason) for reason in document.get("reasons") or ())
    return Status(int(code), reasons, str(document.get("plugin", "")))
