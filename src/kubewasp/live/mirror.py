"""Mirror of a real cluster: objects from lists and watches, taken into the scheduler's state on its thread.

Lists follow a new or renewed connection; watches deliver single changes. Both may repeat known states.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from kubewasp.k8s.codec import decode
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.objects import name_of, namespace_of
from kubewasp.k8s.pods import Pod, PodParser
from kubewasp.state.object_kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from kubewasp.apiserver.raw_object import RawObject
    from kubewasp.k8s.nodes import Node
    from kubewasp.live.inbox import Inbox
    from kubewasp.state.object_store import ObjectStore

logger = logging.getLogger(__name__)
DELETED: Final = "DELETED"


class ObjectIntake(Protocol):
    """Intake of nodes and pods: the scheduler's `ClusterEvents`, or one that forwards to it."""

    def put_node(self, node: Node) -> None: ...

    def delete_node(self, name: str) -> None: ...

    def put_pod(self, pod: Pod, before: Pod | None = None) -> None: ...

    def delete_pod(self, pod: Pod) -> None: ...


class Mirror:
    """Synchronizes a scheduler's state with the cluster. For the scheduler's thread."""

    def __init__(
        self, events: ObjectIntake, store: ObjectStore, *, on_pod_gone: Callable[[Pod], None] = lambda _pod: None
    ) -> None:
        self._events = events
        self._store = store
        self._on_pod_gone = on_pod_gone
        self._parser = PodParser()
        self.pods: dict[str, Pod] = {}
        self._keys: dict[str, dict[tuple[str, str], None]] = {}

    def replaced(self, kind: str, objects: Sequence[bytes]) -> None:
        """Replaces all objects of a kind."""
        seen = set()
        for raw in objects:
            key = self.changed(kind, "MODIFIED", raw)
            if key is not None:
                seen.add(key)
        for key in [key for key in self._known(kind) if key not in seen]:
            self._gone(kind, key)

    def changed(self, kind: str, change: str, raw: bytes) -> tuple[str, str] | None:
        """Applies a change; returns namespace and name of the object. Unreadable objects are logged and skipped."""
        key = ("", "")
        try:
            manifest = decode(kind, raw)
            key = (namespace_of(manifest) if "namespace" in (manifest.get("metadata") or {}) else "", name_of(manifest))
            if change == DELETED:
                self._gone(kind, key)
            elif kind == "Pod":
                self._put_pod(manifest, raw)
            elif kind == "Node":
                self._known(kind)[key] = None
                self._events.put_node(parse_node(manifest, raw))
            else:
                self._known(kind)[key] = None
                self._store.put({**manifest, "kind": kind})
        except (ValueError, KeyError, TypeError) as error:
            fields = {"kind": kind, "object": "/".join(filter(None, key)), "err": str(error)}
            logger.error("Unreadable object skipped", extra=fields)  # noqa: TRY400 - the text is complete
            return None
        return key

    def restore(self, raw: bytes) -> Pod:
        """Takes a pod of a checkpoint in; the scheduler's state has it already."""
        pod = self._parser.parse(decode("Pod", raw), raw)
        self.pods[pod.key] = pod
        return pod

    def foreign_pods(self, profiles: Mapping[str, object]) -> Counter[str]:
        """Pending pods of other schedulers, by scheduler name."""
        names = (pod.spec.scheduler_name for pod in self.pods.values() if not pod.node)
        return Counter(name for name in names if name not in profiles)

    def requeue(self, profiles: Collection[str]) -> None:
        """Takes in the pending pods of new profiles, known so far as pods of other schedulers."""
        for pod in self.pods.values():
            if not pod.node and pod.spec.scheduler_name in profiles:
                self._events.put_pod(pod)

    def _known(self, kind: str) -> dict[tuple[str, str], Any]:
        if kind == "Pod":
            return {(pod.namespace, pod.name): pod for pod in self.pods.values()}
        return self._keys.setdefault(kind, {})

    def _put_pod(self, manifest: Mapping[str, Any], raw: bytes) -> None:
        pod = self._parser.parse(manifest, raw)
        before = self.pods.get(pod.key)
        if before is not None and before.uid != pod.uid:
            self._delete_pod(before)
            before = None
        if before is not None and before.resource_version == pod.resource_version:
            return
        self.pods[pod.key] = pod
        self._events.put_pod(pod, before)
        if pod.is_finished:
            del self.pods[pod.key]
            self._on_pod_gone(pod)

    def _delete_pod(self, pod: Pod) -> None:
        self._events.delete_pod(pod)
        self._on_pod_gone(pod)

    def _gone(self, kind: str, key: tuple[str, str]) -> None:
        if kind == "Pod":
            pod = self.pods.pop(f"{key[0]}/{key[1]}", None)
            if pod is not None:
                self._delete_pod(pod)
            return
        self._known(kind).pop(key, None)
        if kind == "Node":
            self._events.delete_node(key[1])
        elif kind in KINDS:
            self._store.delete(kind, *key)


class ObjectSink(Protocol):
    """Takes objects in, on the scheduler's thread: the mirror itself, or one that records."""

    def replaced(self, kind: str, objects: Sequence[bytes]) -> None: ...

    def changed(self, kind: str, change: str, raw: bytes) -> tuple[str, str] | None: ...


@dataclass(frozen=True, slots=True)
class MirrorFeed:
    """Reflector handler: from the event loop to the mirror, by the inbox of the scheduler's thread."""

    kind: str
    mirror: ObjectSink
    inbox: Inbox

    def replaced(self, items: Sequence[RawObject]) -> None:
        objects = [item.data for item in items]
        self.inbox.post(partial(self.mirror.replaced, self.kind, objects))

    def changed(self, change: str, item: RawObject) -> None:
        self.inbox.post(partial(self._take, change, item.data))

    def _take(self, change: str, data: bytes) -> None:
        self.mirror.changed(self.kind, change, data)
