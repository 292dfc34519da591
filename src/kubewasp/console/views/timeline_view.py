"""The timeline: figures by position, changes, and the next change of a kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewasp.console.json_values import Document, text_of, when
from kubewasp.console.views.overview import change_document

if TYPE_CHECKING:
    from kubewasp.console.console_source import Timeline

KINDS: Final = ("any", "difference", "unschedulable", "preempted", "scheduled", "error")


def timeline_document(found: Timeline) -> Document:
    series = found.series()
    return {
        "length": found.length,
        "start": when(found.start),
        "end": when(found.end),
        "series": {
            "position": list(series.position),
            "time": [when(time) for time in series.time],
            "pending": list(series.pending),
            "placed": list(series.placed),
            "nodes_used": list(series.nodes_used),
            "utilisation": {name: [round(share, 4) for share in of] for name, of in series.utilisation.items()},
        },
        "differences": found.differences,
        "marks": [
            {"position": mark.position, "time": when(mark.time), "text": text_of(mark.text)} for mark in found.marks
        ],
    }


def changes_document(found: Timeline, start: int, limit: int) -> Document:
    changes = found.changes(start, limit)
    document: Document = {"changes": [change_document(change) for change in changes]}
    if start + limit < found.length:
        document["next"] = str(start + limit)
    return document
