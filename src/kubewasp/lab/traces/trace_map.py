"""Map of a trace: which column is what of a pod, and of a node. Presets for known formats.

```yaml
kind: TraceMap
pods:
  name: job_id
  arrival: submit_time            # seconds, or a time such as 2026-01-05T12:00:00Z
  duration: runtime               # or `end`, and `start` if it waited before; neither: it stays
  requests:
    cpu: {column: cores}
    memory: {column: memory_mib, unit: Mi}
  labels: {team: user}
  nodeAffinity: {gpu-model: {column: models, separator: "|"}}
```
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s import manifests
from kubewasp.k8s.errors import ManifestError, shown
from kubewasp.k8s.names import name_problems
from kubewasp.lab.traces.trace_errors import TraceError
from kubewasp.lab.traces.trace_values import Value, parse_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kubewasp.input_file import InputFile

_SINGLE: Final = ("name", "namespace", "arrival", "start", "duration", "end", "priority", "schedulerName")
_MAPS: Final = ("requests", "labels", "annotations", "nodeSelector", "nodeAffinity")
_NODE_MAPS: Final = ("allocatable", "labels", "annotations")


@dataclass(frozen=True, slots=True)
class PodMap:
    """Values of a pod. All but the requests are optional."""

    single: Mapping[str, Value]
    requests: Mapping[str, Value]
    labels: Mapping[str, Value]
    annotations: Mapping[str, Value]
    node_selector: Mapping[str, Value]
    node_affinity: Mapping[str, Value]
    has_options: bool = False  # columns may be missing

    def over(self, columns: Collection[str]) -> PodMap:
        """The map for a file with these columns. A missing one is an error, or without effect if there are options."""
        present = partial(_present, columns=columns, has_options=self.has_options)
        requests = present(self.requests, "pods.requests")
        if not requests:
            raise TraceError(f"no column for requests; there are {', '.join(columns)}")
        return PodMap(
            present(self.single, "pods"),
            requests,
            present(self.labels, "pods.labels"),
            present(self.annotations, "pods.annotations"),
            present(self.node_selector, "pods.nodeSelector"),
            present(self.node_affinity, "pods.nodeAffinity"),
        )


@dataclass(frozen=True, slots=True)
class NodeMap:
    """Values of a node."""

    name: Value
    allocatable: Mapping[str, Value]
    labels: Mapping[str, Value]
    annotations: Mapping[str, Value]
    has_options: bool = False

    def over(self, columns: Collection[str]) -> NodeMap:
        """As `PodMap.over`; the name is required."""
        present = partial(_present, columns=columns, has_options=self.has_options)
        _present({"name": self.name}, "nodes", columns, has_options=False)
        return NodeMap(
            self.name,
            present(self.allocatable, "nodes.allocatable"),
            present(self.labels, "nodes.labels"),
            present(self.annotations, "nodes.annotations"),
        )


@dataclass(frozen=True, slots=True)
class TraceMap:
    """A map of a trace. A trace without nodes runs on those of manifests."""

    pods: PodMap
    nodes: NodeMap | None = None


def load(path: InputFile) -> TraceMap:
    """A map in a file."""
    found = manifests.load(path)
    if len(found) != 1 or found[0].kind != "TraceMap":
        raise TraceError(f"{path}: expected one document of kind TraceMap")
    try:
        return parse(found[0].body)
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None
    except ManifestError as error:
        raise TraceError(f"{path}: {error.problem}") from None


def parse(body: Mapping[str, Any], *, has_options: bool = False) -> TraceMap:
    _check_fields(body, "", ("apiVersion", "kind", "metadata", "pods", "nodes"))
    if "pods" not in body:
        raise TraceError("pods: missing; it maps columns to pods")
    pods = replace(_pods(_object(body["pods"], "pods")), has_options=has_options)
    if body.get("nodes") is None:
        return TraceMap(pods)
    return TraceMap(pods, replace(_nodes(_object(body["nodes"], "nodes")), has_options=has_options))


def _pods(body: Mapping[str, Any]) -> PodMap:
    _check_fields(body, "pods", (*_SINGLE, *_MAPS))
    if "duration" in body and "end" in body:
        raise TraceError("pods: duration and end exclude each other")
    if not body.get("requests"):
        raise TraceError("pods.requests: missing; a trace without requests has no load")
    single = {name: parse_value(body[name], f"pods.{name}") for name in _SINGLE if name in body}
    requests, labels, annotations, selector, affinity = (_values(body, "pods", name) for name in _MAPS)
    return PodMap(single, requests, labels, annotations, selector, affinity)


def _nodes(body: Mapping[str, Any]) -> NodeMap:
    _check_fields(body, "nodes", ("name", *_NODE_MAPS))
    if "name" not in body or not body.get("allocatable"):
        raise TraceError("nodes: name and allocatable are required")
    allocatable, labels, annotations = (_values(body, "nodes", name) for name in _NODE_MAPS)
    return NodeMap(parse_value(body["name"], "nodes.name"), allocatable, labels, annotations)


def _present(
    values: Mapping[str, Value], path: str, columns: Collection[str], *, has_options: bool
) -> dict[str, Value]:
    """Values whose columns are there."""
    found = {}
    for name, value in values.items():
        missing = [column for column in value.columns if column not in columns]
        if not missing:
            found[name] = value
        elif not has_options:
            raise TraceError(f'no column "{missing[0]}" ({path}.{name} of the map); there are {", ".join(columns)}')
    return found


def _values(body: Mapping[str, Any], parent: str, name: str) -> dict[str, Value]:
    """Values by key: a resource, a label."""
    found = _object(body.get(name) or {}, f"{parent}.{name}")
    for key in found:
        if problems := name_problems(key):
            raise TraceError(f"{parent}.{name}: {shown(key)}: {problems[0]}")
    return {key: parse_value(item, f"{parent}.{name}.{key}") for key, item in found.items()}


def _object(given: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise TraceError(f"{path}: expected an object, got {shown(given)}")
    return given


def _check_fields(body: Mapping[str, Any], path: str, known: Iterable[str]) -> None:
    for key in body:
        if key not in known:
            place = f"{path}.{key}" if path else str(key)
            raise TraceError(f"{place}: unknown field; there are {', '.join(known)}")


# ---------------------------------------------------------------------- presets

# Alibaba's cluster-trace-gpu-v2023: GPUs by thousandths, as examples/plugins/gpu-share reads them.
_GPU: Final = "kubewasp.dev/gpu-milli"
_OPENB: Final = {
    "pods": {
        "name": "name",
        "arrival": "creation_time",
        "start": "scheduled_time",
        "end": "deletion_time",
        "requests": {
            "cpu": {"column": "cpu_milli", "unit": "m"},
            "memory": {"column": "memory_mib", "unit": "Mi"},
            _GPU: {"column": "gpu_milli", "times": "num_gpu"},
        },
        "labels": {"qos": "qos"},
        "nodeAffinity": {"gpu-model": {"column": "gpu_spec", "separator": "|"}},
    },
    "nodes": {
        "name": "sn",
        "allocatable": {
            "cpu": {"column": "cpu_milli", "unit": "m"},
            "memory": {"column": "memory_mib", "unit": "Mi"},
            _GPU: {"column": "gpu", "unit": "k"},
            "pods": {"value": "1k"},
        },
        "labels": {"gpu-model": "model"},
    },
}
# Columns with the names of Kubernetes; only arrival and requests must be there.
_GENERIC: Final = {
    "pods": {
        "name": "name",
        "namespace": "namespace",
        "arrival": "arrival",
        "duration": "duration",
        "priority": "priority",
        "requests": {"cpu": "cpu", "memory": "memory", "nvidia.com/gpu": "gpu"},
        "labels": {"app": "app"},
    },
    "nodes": {
        "name": "name",
        "allocatable": {"cpu": "cpu", "memory": "memory", "nvidia.com/gpu": "gpu", "pods": {"value": "110"}},
        "labels": {"topology.kubernetes.io/zone": "zone"},
    },
}
PRESETS: Final[Mapping[str, TraceMap]] = {"openb": parse(_OPENB), "generic": parse(_GENERIC, has_options=True)}
