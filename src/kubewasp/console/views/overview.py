"""Session and overview: what a page shows first."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from kubewasp import __version__
from kubewasp.console.json_values import Document, amount, name_of, text_of, unit, when
from kubewasp.console.picture import GATED, WAITING
from kubewasp.k8s.nodes import REGION, ZONE

if TYPE_CHECKING:
    from kubewasp.console.console_source import Activity, Change, Session
    from kubewasp.console.picture import Picture

_FIRST_LABELS: Final = (ZONE, REGION, "node.kubernetes.io/instance-type", "kubernetes.io/arch", "kubernetes.io/os")
_MOST_LABELS: Final = 50
_MOST_VALUES: Final = 200
_MOST_RECENT: Final = 100


def session(found: Session, picture: Picture) -> Document:
    return {
        "version": __version__,
        "mode": str(found.mode),
        "title": text_of(found.title),
        "runs": [{"id": run.id, "name": name_of(run.name)} for run in found.runs],
        "now": when(picture.time),
        "capabilities": {
            "timeline": found.capabilities.timeline,
            "compare": found.capabilities.compare,
            "decisions": found.capabilities.decisions,
            "events": found.capabilities.events,
            "actions": found.capabilities.actions,
        },
        "resources": [{"name": name, "unit": unit(name)} for name in picture.columns.resources],
        "labels": grouping_labels(picture),
        "profiles": [
            {
                "name": profile.name,
                "plugins": [
                    {"name": plugin.name, "weight": plugin.weight, "points": list(plugin.points)}
                    for plugin in profile.plugins
                ],
            }
            for profile in found.profiles
        ],
        "csrf": found.csrf or None,
        "viewer": name_of(found.viewer) if found.viewer else None,
    }


def grouping_labels(picture: Picture) -> list[str]:
    """Label keys by which nodes form groups: more than one value, and not one for each node."""
    values: dict[str, set[str]] = {}
    for node in picture.nodes.values():
        for key, value in node.labels.items():
            known = values.setdefault(key, set())
            if len(known) <= _MOST_VALUES:
                known.add(value)
    most = min(_MOST_VALUES, max(2, len(picture.nodes) // 2))
    keys = [key for key, known in values.items() if 2 <= len(known) <= most]
    ranks = {key: rank for rank, key in enumerate(_FIRST_LABELS)}
    return sorted(keys, key=lambda key: (ranks.get(key, len(ranks)), key))[:_MOST_LABELS]


def overview(picture: Picture, activity: Activity) -> Document:
    columns = picture.columns
    return {
        "time": when(picture.time),
        "pods": pod_counts(picture),
        "nodes": {
            "total": len(columns.names),
            "used": int(np.count_nonzero(columns.pods)),
            "unschedulable": int(np.count_nonzero(columns.is_unschedulable)),
        },
        "utilisation": utilisation(picture),
        "attempts": {"scheduled": activity.scheduled, "unschedulable": activity.unschedulable, "error": activity.error},
        "rate": activity.rate,
        "latency": {"p50": activity.p50, "p99": activity.p99},
        "plugins": [
            {
                "name": name_of(item.name),
                "point": item.point,
                "calls": item.calls,
                "seconds": item.seconds,
                "p50": item.p50,
                "p99": item.p99,
            }
            for item in activity.plugins
        ],
        "recent": [change_document(change) for change in activity.recent[:_MOST_RECENT]],
        "series": {
            "time": [when(time) for time in activity.series.time],
            "placed": list(activity.series.placed),
            "pending": list(activity.series.pending),
            "rate": list(activity.series.rate),
        },
    }


def pod_counts(picture: Picture) -> dict[str, int]:
    parts = Counter(entry.part for entry in picture.queue.values())
    without = len(picture.pending)
    return {
        "placed": len(picture.pods) - without - parts[WAITING],
        "waiting": parts[WAITING],
        "pending": without - parts[GATED],
        "gated": parts[GATED],
        "failing": sum(entry.is_error for entry in picture.queue.values()),
        "total": len(picture.pods),
    }


def utilisation(picture: Picture) -> list[Document]:
    columns, found = picture.columns, []
    for name in columns.resources:
        there = int(columns.allocatable[name].sum()) if name in columns.allocatable else 0
        taken = int(columns.requested[name].sum()) if name in columns.requested else 0
        found.append(
            {
                "resource": name,
                "allocatable": amount(name, there),
                "requested": amount(name, taken),
                "share": taken / there if there else None,
            }
        )
    return found


def change_document(change: Change) -> Document:
    found: Document = {"time": when(change.time), "kind": change.kind, "text": text_of(change.text)}
    found |= {key: name_of(value) for key in ("pod", "node", "plugin") if (value := getattr(change, key))}
    if change.position is not None:
        found["position"] = change.position
    return found
