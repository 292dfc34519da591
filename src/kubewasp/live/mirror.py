"""What an API server says of the cluster, as the scheduler takes it in. Runs on the scheduler's thread.

Objects come as lists, after a connection was made or made anew, and one by one. Both may say what is known already.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kubewasp.k8s.codec import decode
from kubewasp.k8s.errors import ManifestError, WireError
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.objects import name_of, namespace_of
from kubewasp.k8s.pods import Pod, PodParser
from kubewasp.k8s.selectors import SelectorError
from kubewasp.state.object_kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.apiserver.raw_object import RawObject
    from kubewasp.scheduler.scheduler import Scheduler

logger = logging.getLogger(__name__)
DELETED = "DELETED"


class Intake:
    """Keeps a scheduler's picture of the cluster up to date."""

    def __init__(self, scheduler: Scheduler, *, on_gone: Callable[[Pod], None] = lambda _pod: None) -> None:
        self._scheduler = scheduler
        self._on_gone = on_gone
        self._parser = PodParser()
        self.pods: dict[str, Pod] = {}
        self._keys: dict[str, dict[tuple[str, str], None]] = {}

    def replaced(self, kind: str, objects: Sequence[bytes]) -> None:
        """All objects of a kind: what is not among them is gone."""
        seen = set()
        for raw in objects:
            key = self.changed(kind, "MODIFIED", raw)
            if key is not None:
                seen.add(key)
        for key in [key for key in self._known(kind) if key not in seen]:
            self._gone(kind, key)

    def changed(self, kind: str, what: str, raw: bytes) -> tuple[str, str] | None:
        """One object of a kind; returns its namespace and name. One that cannot be read is told, and left out."""
        try:
            manifest = decode(kind, raw)
            key = (namespace_of(manifest) if "namespace" in (manifest.get("metadata") or {}) else "", name_of(manifest))
            if what == DELETED:
                self._gone(kind, key)
            elif kind == "Pod":
                self._put_pod(manifest, raw)
            elif kind == "Node":
                self._known(kind)[key] = None
                self._scheduler.put_node(parse_node(manifest, raw))
            else:
                self._known(kind)[key] = None
                self._scheduler.store.put({**manifest, "kind": kind})
        except (WireError, ManifestError, SelectorError, ValueError, KeyError, TypeError) as error:
            logger.error("a %s cannot be read and is left out: %s", kind, error)  # noqa: TRY400 - the text says it all
            return None
        return key

    def foreign_pods(self) -> Counter[str]:
        """How many pods wait for a scheduler that is none of ours, by its name."""
        ours = self._scheduler.frameworks
        names = (pod.spec.scheduler_name for pod in self.pods.values() if not pod.node)
        return Counter(name for name in names if name not in ours)

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
        self._scheduler.put_pod(pod, before)
        if pod.is_finished:
            del self.pods[pod.key]
            self._on_gone(pod)

    def _delete_pod(self, pod: Pod) -> None:
        self._scheduler.delete_pod(pod)
        self._on_gone(pod)

    def _gone(self, kind: str, key: tuple[str, str]) -> None:
        if kind == "Pod":
            pod = self.pods.pop(f"{key[0]}/{key[1]}", None)
            if pod is not None:
                self._delete_pod(pod)
            return
        self._known(kind).pop(key, None)
        if kind == "Node":
            self._scheduler.delete_node(key[1])
        elif kind in KINDS:
            self._scheduler.store.delete(kind, *key)


@dataclass(slots=True)
class Feed:
    """From a reflector on the event loop to the intake; `post` has an action done on the scheduler's thread."""

    kind: str
    intake: Intake
    post: Callable[[Callable[[], None]], None]

    def replaced(self, items: Sequence[RawObject]) -> None:
        objects = [item.data for item in items]
        self.post(partial(self.intake.replaced, self.kind, objects))

    def changed(self, what: str, item: RawObject) -> None:
        self.post(partial(self._take, what, item.data))

    def _take(self, what: str, data: bytes) -> None:
        self.intake.changed(self.kind, what, data)
