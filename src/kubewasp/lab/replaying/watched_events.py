"""Objects of a replay with a watcher: nodes and pods go to the scheduler, then to the watcher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.events import ClusterEvents


class ReplayWatcher(Protocol):
    """Watcher of the cluster of a replay: nodes and pods after the scheduler, and the state of a checkpoint."""

    def put_node(self, node: Node) -> None: ...

    def delete_node(self, name: str) -> None: ...

    def put_pod(self, pod: Pod, before: Pod | None) -> None: ...

    def delete_pod(self, pod: Pod) -> None: ...

    def restored(self, pods: Mapping[str, Pod]) -> None:
        """All pods of a checkpoint, by `namespace/name`."""


class WatchedEvents:
    """Intake of objects that tells a watcher. Implements `ObjectIntake`."""

    def __init__(self, events: ClusterEvents, watcher: ReplayWatcher) -> None:
        self._events = events
        self._watcher = watcher

    def put_node(self, node: Node) -> None:
        self._events.put_node(node)
        self._watcher.put_node(node)

    def delete_node(self, name: str) -> None:
        self._events.delete_node(name)
        self._watcher.delete_node(name)

    def put_pod(self, pod: Pod, before: Pod | None = None) -> None:
        self._events.put_pod(pod, before)
        self._watcher.put_pod(pod, before)

    def delete_pod(self, pod: Pod) -> None:
        self._events.delete_pod(pod)
        self._watcher.delete_pod(pod)
