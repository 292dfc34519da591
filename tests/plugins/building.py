"""Small clusters for plugin tests: one-line nodes, pods and terms, and a fake handle."""

import itertools
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubewasp.framework.cluster_events import Action, RecordedEvent
from kubewasp.framework.handle import DetachedHandle
from kubewasp.framework.plugin import EnqueueExtensions, FilterPlugin, PreScorePlugin, ScorePlugin
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.codec import encode
from kubewasp.k8s.nodes import Node, parse_node
from kubewasp.k8s.pods import Pod, PodParser
from kubewasp.state.node_table import NodeTable
from kubewasp.state.object_store import ObjectStore

PARSER = PodParser()
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_numbers = itertools.count(1)


def make_node(
    name: str,
    labels: Mapping[str, str] | None = None,
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: str = "110",
    allocatable: Mapping[str, str] | None = None,
    taints: Sequence[str] = (),
    images: Mapping[str, int] | None = None,
    unschedulable: bool = False,
    **status: Any,
) -> Node:
    """A node; a taint is `key=value:Effect`, `allocatable` adds to the usual resources."""
    manifest = {
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"taints": [_taint(text) for text in taints], "unschedulable": unschedulable},
        "status": {
            "allocatable": {"cpu": cpu, "memory": memory, "pods": pods, **(allocatable or {})},
            "images": [{"names": [image], "sizeBytes": size} for image, size in (images or {}).items()],
            **status,
        },
    }
    return parse_node(manifest, encode("Node", manifest))


def make_pod(
    name: str = "",
    labels: Mapping[str, str] | None = None,
    *,
    namespace: str = "default",
    node: str = "",
    requests: Mapping[str, str] | None = None,
    owner: tuple[str, str, str] | None = None,
    terminating: bool = False,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Pod:
    """A pod; without a name it gets a unique one. `owner` is apiVersion, kind and name of its controller."""
    name = name or f"pod-{next(_numbers)}"
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
    if terminating:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if owner is not None:
        keys = ("apiVersion", "kind", "name")
        metadata["ownerReferences"] = [{**dict(zip(keys, owner, strict=True)), "controller": True, "uid": "owner"}]
    container = {"name": "main", "image": "image", "resources": {"requests": dict(requests or {})}}
    body = {"containers": [container], "nodeName": node, **spec}
    return PARSER.parse({"metadata": metadata, "spec": body, "status": dict(status or {})})


def spread(
    key: str,
    skew: int = 1,
    *,
    when: str = "DoNotSchedule",
    match: Mapping[str, str] | None = None,
    selector: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A topology spread constraint. `match` are labels to select; neither `match` nor `selector`: no selector."""
    item: dict[str, Any] = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when, **more}
    if match is not None or selector is not None:
        item["labelSelector"] = selector if match is None else {"matchLabels": dict(match)}
    return item


def term(
    key: str, match: Mapping[str, str] | None = None, *, selector: Mapping[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """A term of pod affinity or anti-affinity."""
    item: dict[str, Any] = {"topologyKey": key, **more}
    if match is not None or selector is not None:
        item["labelSelector"] = selector if match is None else {"matchLabels": dict(match)}
    return item


def affinity(
    required: Sequence[Mapping[str, Any]] = (),
    anti: Sequence[Mapping[str, Any]] = (),
    preferred: Sequence[tuple[int, Mapping[str, Any]]] = (),
    preferred_anti: Sequence[tuple[int, Mapping[str, Any]]] = (),
) -> dict[str, Any]:
    """`spec.affinity` with those terms between pods."""
    return {"podAffinity": _affinity(required, preferred), "podAntiAffinity": _affinity(anti, preferred_anti)}


def make_table(nodes: Iterable[Node] = (), pods: Iterable[Pod] = ()) -> NodeTable:
    table = NodeTable()
    for node in nodes:
        table.put_node(node)
    for pod in pods:
        table.add_pod(pod)
    return table


class FakeClock:
    """Clock with manual advance."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return self.time


class FakeClient:
    """Records calls; `errors` are returned, by the name of the call."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.errors: dict[str, str] = {}

    def bind(self, pod: Pod, node: str, annotations: Mapping[str, str] | None = None) -> Status:
        return self._call("bind", pod, node, *([annotations] if annotations else ()))

    def update(self, manifest: Mapping[str, Any]) -> Status:
        return self._call("update", manifest)

    def evict(self, victims: Sequence[Pod], preemptor: Pod, node: str) -> Status:
        return self._call("evict", victims, preemptor, node)

    def _call(self, name: str, *arguments: Any) -> Status:
        self.calls.append((name, *arguments))
        return Status(Code.ERROR, self.errors[name]) if name in self.errors else SUCCESS


class FakeHandle(DetachedHandle):
    """Fake handle for plugins; `objects` are manifests for the store."""

    def __init__(self, table: NodeTable | None = None, objects: Iterable[Mapping[str, Any]] = ()) -> None:
        self.table = make_table() if table is None else table
        self.store = ObjectStore()
        self.clock = FakeClock()
        self.client = FakeClient()
        self.events: list[RecordedEvent] = []
        for manifest in objects:
            self.store.put(manifest)

    def record_event(self, event: RecordedEvent) -> None:
        self.events.append(event)

    def is_evicted(self, uid: str) -> bool:
        return False

    def new_random(self) -> random.Random:
        return random.Random(0)

    def is_preempting(self, uid: str) -> bool:
        return False


def filtered(plugin: FilterPlugin, state: Any, pod: Pod, table: NodeTable) -> dict[str, Status]:
    """Filter statuses by node."""
    rows = table.order()
    verdicts = plugin.filter(state, pod, table, rows)
    names = [table.node(row).name for row in rows.tolist()]
    if verdicts is None:
        return dict.fromkeys(names, SUCCESS)
    return {name: verdicts.statuses[number] for name, number in zip(names, verdicts.numbers.tolist(), strict=True)}


def scored(
    plugin: PreScorePlugin, state: Any, pod: Pod, table: NodeTable, feasible: Iterable[str] | None = None
) -> tuple[dict[str, int], dict[str, int]] | Status:
    """Scores before and after normalizing by the name of the node, or the status of PreScore if it does not succeed."""
    assert isinstance(plugin, ScorePlugin)
    rows = table.order()
    if feasible is not None:
        wanted = set(feasible)
        rows = rows[[table.node(row).name in wanted for row in rows.tolist()]]
    names = [table.node(row).name for row in rows.tolist()]
    status = plugin.pre_score(state, pod, table, rows)
    if not status.is_success:
        return status
    raw = plugin.score(state, pod, table, rows)
    assert not isinstance(raw, Status)
    normal = plugin.normalize(state, pod, raw.copy())
    assert not isinstance(normal, Status)
    return dict(zip(names, raw.tolist(), strict=True)), dict(zip(names, normal.tolist(), strict=True))


def wakes(plugin: EnqueueExtensions, resource: str, action: Action, pod: Pod, *change: Any) -> bool:
    """Whether a pod that the plugin rejected is worth another try after that change (old object, new object)."""
    old, new = (*change, None, None)[:2]
    return any(
        item.resource == resource and item.actions & action and (item.hint is None or item.hint(pod, old, new))
        for item in plugin.events()
    )


def _taint(text: str) -> dict[str, str]:
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}


def _affinity(
    required: Sequence[Mapping[str, Any]], preferred: Sequence[tuple[int, Mapping[str, Any]]]
) -> dict[str, Any]:
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": list(required),
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": weight, "podAffinityTerm": item} for weight, item in preferred
        ],
    }
