"""The queue: pods by part, with the reason and the end of their wait."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kubewasp.console.json_values import Document, name_of, page_of, text_of, when
from kubewasp.console.picture import ACTIVE, BACKOFF, PARTS, UNSCHEDULABLE, WAITING, QueueEntry

if TYPE_CHECKING:
    from kubewasp.console.picture import Picture

_TEXTS = {ACTIVE: "ready for its next attempt", BACKOFF: "waits until its backoff ends"}


def queue_document(picture: Picture, part: str, after: int, limit: int) -> Document:
    """Pods of a part in its order; of all parts without one."""
    counts = Counter(entry.part for entry in picture.queue.values())
    found = [entry for entry in picture.queue.values() if not part or entry.part == part]
    found.sort(key=_place)
    shown, more = page_of(found, after, limit)
    return {
        "counts": {name: counts[name] for name in PARTS},
        "pods": [_pod(entry, after + number) for number, entry in enumerate(shown)],
        **more,
    }


def _place(entry: QueueEntry) -> tuple[int, float, float]:
    until = entry.until if entry.until is not None and entry.part in (BACKOFF, WAITING) else 0.0
    return PARTS.index(entry.part), until or entry.order, entry.since


def _pod(entry: QueueEntry, position: int) -> Document:
    why = entry.message or _TEXTS.get(entry.part, "waits for a change of the cluster")
    if entry.part == UNSCHEDULABLE and entry.plugins and not entry.message:
        why = f"waits for a change that {', '.join(entry.plugins)} may accept"
    return {
        "key": name_of(entry.pod.key),
        "part": entry.part,
        "position": position,
        "why": text_of(why),
        "plugin": name_of(", ".join(entry.plugins)) or None,
        "node": name_of(entry.node) or None,
        "until": when(entry.until),
        "since": when(entry.since),
        "attempts": entry.attempts,
        "priority": entry.pod.priority,
    }
