"""Clusters in memory for tests: one-line objects, and a scheduler that has run until idle."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kubewasp.framework.config.model import SchedulerConfig
from kubewasp.framework.observer import NO_OBSERVER, SchedulerObserver
from kubewasp.k8s.manifests import taken_apart
from kubewasp.scheduler.composition import set_up
from kubewasp.simulation import loading
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from tests.framework.configs import read
from tests.guests.build import SOURCES, wat_text

Object = dict[str, Any]
DEFAULT = "default-scheduler"


def node(
    name: str, *, cpu: str = "4", memory: str = "16Gi", pods: str = "110", taints: Sequence[Object] = (), **labels: str
) -> Object:
    """`zone` is a label with a longer name; other labels are what they are called."""
    named = {"topology.kubernetes.io/zone" if key == "zone" else key: value for key, value in labels.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **named}},
        "spec": {"taints": list(taints)},
        "status": {"allocatable": {"cpu": cpu, "memory": memory, "pods": pods}},
    }


def spec(cpu: str = "100m", memory: str = "100Mi", **more: Any) -> Object:
    return {
        "containers": [{"name": "main", "image": "image", "resources": {"requests": {"cpu": cpu, "memory": memory}}}],
        **more,
    }


def pod(
    name: str, *, on: str = "", labels: Mapping[str, str] | None = None, namespace: str = "", **more: Any
) -> Object:
    """`on` is the node it is bound to; `cpu`, `memory` and any other field of a spec may follow."""
    metadata: Object = {"name": name, "labels": dict(labels or {})}
    if namespace:
        metadata["namespace"] = namespace
    body = spec(**more)
    if on:
        body["nodeName"] = on
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def workload(
    kind: str, name: str, replicas: int | None = None, *, template: Object | None = None, **more: Any
) -> Object:
    """A workload of pods with the label `app: NAME`; `more` are fields of its spec."""
    version = {"Job": "batch/v1", "ReplicationController": "v1"}.get(kind, "apps/v1")
    labels = {"app": name}
    fields: Object = {"template": {"metadata": {"labels": labels}, "spec": template or spec()}, **more}
    if kind == "Job":
        fields |= {} if replicas is None else {"parallelism": replicas}
    else:
        fields["selector"] = labels if kind == "ReplicationController" else {"matchLabels": labels}
        fields |= {} if replicas is None else {"replicas": replicas}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": fields}


def priority_class(name: str, value: int, **more: Any) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **more,
    }


def owned_by(kind: str, name: str, body: Object) -> Object:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"uid of {name}", "controller": True}
    return {**body, "metadata": {**body["metadata"], "ownerReferences": [reference]}}


def added(*objects: Object) -> loading.ClusterInput:
    found = loading.ClusterInput()
    for number, body in enumerate(objects):
        for manifest in taken_apart(body, f"object {number}"):
            loading.add(found, manifest)
    return found


def started(
    config: SchedulerConfig | None = None, observer: SchedulerObserver = NO_OBSERVER, **more: Any
) -> EmbeddedCluster:
    return EmbeddedCluster(set_up(config or read(), observer=observer), **more)


def filled(*objects: Object, config: SchedulerConfig | None = None, **more: Any) -> EmbeddedCluster:
    cluster = started(config, **more)
    loading.fill(cluster.objects, added(*objects))
    return cluster


def settled(*objects: Object, config: SchedulerConfig | None = None) -> EmbeddedCluster:
    cluster = filled(*objects, config=config)
    cluster.settle()
    return cluster


def placed(cluster: EmbeddedCluster) -> dict[str, str]:
    """The node of every pod that has one, by the pod's name."""
    return {pod.name: pod.node for pod in cluster.pods.values() if pod.node}


def pending(cluster: EmbeddedCluster) -> dict[str, str]:
    """Messages of pods without a node."""
    found = {}
    for pod in cluster.pods.values():
        if not pod.node:
            queued = cluster.scheduler.queue.get(pod.uid)
            found[pod.name] = "" if queued is None else queued.gate_reason or queued.message
    return found


# ---------------------------------------------------------------------- guests


def steered(name: str, **globals_: int) -> Path:
    """A test guest whose globals begin with other values."""
    text = (SOURCES / "wat" / f"{name}.wat").read_text()
    for key, value in globals_.items():
        pattern = rf'(\(export "{key}"\) \(mut i32\) \(i32.const) -?\d+\)'
        text, count = re.subn(pattern, rf"\1 {value})", text)
        assert count == 1, key
    return wat_text(text, name)


def wasm(name: str, guest: Path, **args: Any) -> Object:
    """An entry of `pluginConfig`."""
    return {"name": name, "args": {"guestURL": f"file://{guest}", **args}}


def profile(
    *guests: Object, scheduler: str = DEFAULT, weights: Mapping[str, int] | None = None, **points: Any
) -> Object:
    """A profile with the default plugins and those guests, at all their extension points."""
    enabled = [{"name": item["name"], "weight": (weights or {}).get(item["name"], 0)} for item in guests]
    return {
        "schedulerName": scheduler,
        "plugins": {"multiPoint": {"enabled": enabled}, **points},
        "pluginConfig": list(guests),
    }


def config(*profiles_: Object, **more: Any) -> SchedulerConfig:
    return read(profiles=list(profiles_), **more)
