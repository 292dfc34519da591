"""Rollout reporter: events about the scheduler itself, and its versions in the annotations of the lease."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.apiserver.event_series import Reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kubewasp.live.event_recorder import EventRecorder
    from kubewasp.rollout.ledger import BadVersion
    from kubewasp.rollout.rollout_events import RolloutEvent

# Annotations of the lease: digests by plugin, in use and judged bad.
IN_USE: Final = "kubewasp.dev/plugin-digests"
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


def lease_annotations(digests: Mapping[str, str], bad: Iterable[tuple[str, BadVersion]]) -> dict[str, str]:
    """The versions of a leader, for its standbys."""
    refused: dict[str, list[str]] = {}
    for plugin, version in bad:
        refused.setdefault(plugin, []).append(version.key.digest)
    newest = {plugin: found[-_MOST_BAD:] for plugin, found in refused.items()}
    return {IN_USE: orjson.dumps(digests).decode(), BAD: orjson.dumps(newest).decode()} if digests else {}


def followed(
    annotations: Mapping[str, str], follow: Callable[[Mapping[str, str], Mapping[str, list[str]]], None]
) -> None:
    """Passes the versions of a leader on. Annotations may be anything: what is not understood is ignored."""
    in_use, bad = _read(annotations.get(IN_USE, "")), _read(annotations.get(BAD, ""))
    digests = {plugin: digest for plugin, digest in in_use.items() if isinstance(digest, str)}
    refused = {
        plugin: [digest for digest in found if isinstance(digest, str)]
        for plugin, found in bad.items()
        if isinstance(found, list)
    }
    if digests or refused:
        follow(digests, refused)


def _read(text: str) -> dict[str, Any]:
    try:
        found = orjson.loads(text) if text and len(text) <= _MAX_BYTES else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
