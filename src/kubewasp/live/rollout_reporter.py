"""Rollout reporter: events about the scheduler itself, and its versions in the annotations of the lease."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.apiserver.event_series import Reference
from kubewasp.rollout.process_version import LeaderVersions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.live.event_recorder import EventRecorder
    from kubewasp.rollout.rollout_events import RolloutEvent

# Annotations of the lease: digests by plugin, in use and judged bad; manifests of registries.
IN_USE: Final = "kubewasp.dev/plugin-digests"
REFERENCES: Final = "kubewasp.dev/plugin-references"
BAD: Final = "kubewasp.dev/bad-digests"
_MAX_BYTES: Final = 64 * 1024
_MOST_BAD: Final = 5  # per plugin


def lease_reference(namespace: str, name: str) -> Reference:
    return Reference("Lease", namespace, name, "", "coordination.k8s.io/v1")


class RolloutReporter:
    """Events of reloads and rollouts, about the scheduler's pod or its lease. Implements `RolloutListener`."""

    def __init__(self, events: EventRecorder, about: Reference | None) -> None:
        self._events = events
        self._about = about

    def happened(self, event: RolloutEvent) -> None:
        if self._about is not None:
            kind = "Warning" if event.is_warning else "Normal"
            self._events.own_event(kind, event.reason, "Reloading", self._about, event.message)

    def swapped(self, seconds: float) -> None:
        pass

    def compared(self, trial: object, found: object) -> None:
        pass

    def canary_decides(self, trial: object) -> None:
        pass


def lease_annotations(versions: LeaderVersions) -> dict[str, str]:
    """The versions of a leader, for its standbys."""
    if not versions.digests:
        return {}
    newest = {plugin: list(found)[-_MOST_BAD:] for plugin, found in versions.bad.items()}
    documents = {IN_USE: versions.digests, REFERENCES: versions.references, BAD: newest}
    return {name: orjson.dumps(document).decode() for name, document in documents.items()}


def leader_versions(annotations: Mapping[str, str]) -> LeaderVersions:
    """The versions of a leader. Annotations may be anything: what is not understood is ignored."""
    bad = {
        plugin: [digest for digest in found if isinstance(digest, str)]
        for plugin, found in _read(annotations.get(BAD, "")).items()
        if isinstance(found, list)
    }
    return LeaderVersions(_texts(annotations.get(IN_USE, "")), _texts(annotations.get(REFERENCES, "")), bad)


def _texts(text: str) -> dict[str, str]:
    return {name: value for name, value in _read(text).items() if isinstance(value, str)}


def _read(text: str) -> dict[str, Any]:
    try:
        found = orjson.loads(text) if text and len(text) <= _MAX_BYTES else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
