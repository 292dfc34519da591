"""Intake of nodes sent with extender requests into the node table.  HOT PATH (guard: make counts).

A node is parsed again only when its resourceVersion has changed. A node that has not been sent for a while is removed,
as an extender gets no event for a deleted node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kubewasp.extender.protocol import ProtocolError
from kubewasp.k8s.codec import encode
from kubewasp.k8s.errors import ManifestError
from kubewasp.k8s.nodes import parse_node

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.clock import Clock
    from kubewasp.scheduler.events import ClusterEvents

# kube-scheduler sends different nodes for different pods: a node missing from one request most likely exists.
KEPT_SECONDS: Final = 300.0
_SWEEP_SECONDS: Final = 60.0


class SentNodes:
    """Only source of nodes for an extender without a watched cluster."""

    def __init__(self, events: ClusterEvents, clock: Clock) -> None:
        self.known = self.read = 0  # nodes of a known version, and nodes parsed
        self._events = events
        self._clock = clock
        self._versions: dict[str, Any] = {}  # uid and resourceVersion, if the node has them
        self._sent_at: dict[str, float] = {}
        self._swept_at = clock.now()

    def counts(self) -> dict[tuple[str, ...], float]:
        """Sent nodes by result: known or read."""
        return {("known",): self.known, ("read",): self.read}

    def take(self, names: Sequence[str], nodes: Sequence[Mapping[str, Any]]) -> None:
        now, versions = self._clock.now(), self._versions
        self._sent_at.update(dict.fromkeys(names, now))
        for index, (name, node) in enumerate(zip(names, nodes, strict=True)):
            metadata = node["metadata"]
            version = metadata.get("resourceVersion") and (metadata.get("uid"), metadata["resourceVersion"])
            if version and versions.get(name) == version:
                self.known += 1
            else:
                self._read(node, index)
                versions[name] = version
        if now - self._swept_at >= _SWEEP_SECONDS:
            self._sweep(now)

    def _read(self, node: Mapping[str, Any], index: int) -> None:
        try:
            self._events.put_node(parse_node(node, encode("Node", node)))
        except ManifestError as error:
            raise ProtocolError(f"Nodes.items[{index}].{error}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise ProtocolError(f"Nodes.items[{index}]: not a node: {error}") from None
        self.read += 1

    def _sweep(self, now: float) -> None:
        self._swept_at = now
        for name in [name for name, sent in self._sent_at.items() if now - sent > KEPT_SECONDS]:
            del self._sent_at[name]
            self._versions.pop(name, None)
            self._events.delete_node(name)
