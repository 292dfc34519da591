"""Nodes as they come with requests, put into a scheduler's table.  HOT PATH (guard: make counts).

A node is read again only when its resourceVersion has changed. One that was not sent for a while is forgotten: nobody
tells an extender that a node is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kubewasp.extender.protocol import ProtocolError
from kubewasp.k8s.codec import encode
from kubewasp.k8s.errors import ManifestError
from kubewasp.k8s.nodes import parse_node

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.scheduler.scheduler import Scheduler

# kube-scheduler sends other nodes for other pods: those it did not send just now are most likely still there.
KEPT_SECONDS: Final = 300.0
_SWEEP_SECONDS: Final = 60.0


class SentNodes:
    """Fills a table that nobody else fills."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.known = self.read = 0  # how many nodes were sent that were known already, and that had to be read
        self._scheduler = scheduler
        self._versions: dict[str, Any] = {}  # uid and resourceVersion, where the node has them
        self._sent_at: dict[str, float] = {}
        self._swept_at = scheduler.clock.now()

    def take(self, names: Sequence[str], nodes: Sequence[Mapping[str, Any]]) -> None:
        now, versions = self._scheduler.clock.now(), self._versions
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
            self._scheduler.put_node(parse_node(node, encode("Node", node)))
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
            self._scheduler.delete_node(name)
