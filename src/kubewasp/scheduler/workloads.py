"""Turns Deployments, ReplicaSets, StatefulSets, Jobs and DaemonSets into the pods that their controllers would make.

Pods that are in the input already count: a dump of a whole cluster gives no pod twice.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import orjson

from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.objects import name_of, namespace_of
from kubewasp.k8s.selectors import node_selector_terms
from kubewasp.k8s.taints import parse_tolerations, untolerated

WORKLOADS = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "Job", "DaemonSet")
_API_VERSIONS = {"ReplicationController": "v1", "Job": "batch/v1"}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_DAEMON_TOLERATIONS = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)

Manifest = Mapping[str, Any]
Owned = dict[tuple[str, str, str], set[str]]


def expand(
    workloads: Sequence[Manifest], pods: Iterable[Manifest], nodes: Sequence[Manifest]
) -> tuple[list[Manifest], list[Manifest]]:
    """The owners to be known to the scheduler (ReplicaSets made of Deployments too), and the pods that are missing."""
    owned = _owned(pods)
    owners = [item for item in workloads if item.get("kind") != "Deployment"]
    for deployment in (item for item in workloads if item.get("kind") == "Deployment"):
        if not any(controller_of(item) == identity(deployment) for item in owners):
            owners.append(_replica_set(deployment))
    made = [pod for owner in owners for pod in _missing_pods(owner, owned, nodes)]
    return owners, made


def replacement(owner: Manifest, lost: str, taken: Container[str]) -> Manifest | None:
    """The pod that a controller makes when one of its pods is gone; a StatefulSet gives it the same name."""
    if owner["kind"] == "StatefulSet":
        return _pod(owner, lost)
    if owner["kind"] not in ("ReplicaSet", "ReplicationController", "Job"):
        return None
    numbers = itertools.count(_replicas(owner))
    return next(_pod(owner, name) for number in numbers if (name := f"{name_of(owner)}-{number}") not in taken)


def _missing_pods(owner: Manifest, owned: Owned, nodes: Sequence[Manifest]) -> list[Manifest]:
    taken = owned.get(identity(owner), set())
    if owner["kind"] == "DaemonSet":
        without = [node for node in nodes if f"on:{name_of(node)}" not in taken]
        made = (_daemon_pod(owner, node) for node in without)
        return [pod for pod in made if pod is not None and name_of(pod) not in taken]
    names = (f"{name_of(owner)}-{number}" for number in range(_replicas(owner) + len(taken)))
    free = [name for name in names if name not in taken]
    return [_pod(owner, name) for name in free[: max(0, _replicas(owner) - len(taken))]]


def _replicas(owner: Manifest) -> int:
    spec = owner.get("spec") or {}
    if owner["kind"] == "Job":
        parallelism = spec.get("parallelism")
        wanted = 1 if parallelism is None else parallelism
        completions = spec.get("completions")
        return int(wanted if completions is None else min(wanted, completions))
    return 1 if spec.get("replicas") is None else int(spec["replicas"])


def _replica_set(deployment: Manifest) -> Manifest:
    spec = deployment.get("spec") or {}
    template = spec.get("template") or {}
    digest = f"{zlib.crc32(orjson.dumps(template, option=orjson.OPT_SORT_KEYS)):08x}"
    labels = {**((template.get("metadata") or {}).get("labels") or {}), "pod-template-hash": digest}
    selector = dict(spec.get("selector") or {})
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), "pod-template-hash": digest}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{name_of(deployment)}-{digest}",
            "namespace": namespace_of(deployment),
            "labels": labels,
            "ownerReferences": [_reference(deployment)],
        },
        "spec": {
            "replicas": spec.get("replicas"),
            "selector": selector,
            "template": {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}},
        },
    }


def _pod(owner: Manifest, name: str) -> dict[str, Any]:
    template = (owner.get("spec") or {}).get("template") or {}
    metadata = dict(template.get("metadata") or {})
    labels = dict(metadata.get("labels") or {})
    if owner["kind"] == "StatefulSet":
        labels |= {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": name.rpartition("-")[2]}
    metadata |= {
        "name": name,
        "namespace": namespace_of(owner),
        "labels": labels,
        "ownerReferences": [_reference(owner)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": dict(template.get("spec") or {})}


def _daemon_pod(owner: Manifest, node: Manifest) -> dict[str, Any] | None:
    """The pod of a DaemonSet for one node, if that node should have one."""
    pod = _pod(owner, f"{name_of(owner)}-{name_of(node)}")
    spec = pod["spec"]
    tolerations = list(spec.get("tolerations") or ())
    tolerations += [{"key": key, "operator": "Exists", "effect": effect} for key, effect in _DAEMON_TOLERATIONS]
    if spec.get("hostNetwork"):
        tolerations.append(
            {"key": "node.kubernetes.io/network-unavailable", "operator": "Exists", "effect": "NoSchedule"}
        )
    spec["tolerations"] = tolerations
    parsed = parse_node(node)
    affinity = dict(spec.get("affinity") or {})
    node_affinity = dict(affinity.get("nodeAffinity") or {})
    required = node_affinity.get(_REQUIRED)
    selector = spec.get("nodeSelector") or {}
    if any(parsed.labels.get(key) != value for key, value in selector.items()):
        return None
    if required is not None:
        terms = node_selector_terms(required.get("nodeSelectorTerms") or ())
        if not any(term.matches(parsed.name, parsed.labels) for term in terms):
            return None
    if untolerated(parsed.taints, parse_tolerations(tolerations)) is not None:
        return None
    only = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [parsed.name]}]}
    node_affinity[_REQUIRED] = {"nodeSelectorTerms": [only]}
    spec["affinity"] = affinity | {"nodeAffinity": node_affinity}
    return pod


def _owned(pods: Iterable[Manifest]) -> Owned:
    """The names of the pods of each controller; for a pod on a node, that too."""
    found: Owned = {}
    for pod in pods:
        controller = controller_of(pod)
        if controller is not None:
            names = found.setdefault(controller, set())
            names.add(name_of(pod))
            node = (pod.get("spec") or {}).get("nodeName")
            if node and controller[0] == "DaemonSet":
                names.add(f"on:{node}")
    return found


def controller_of(manifest: Manifest) -> tuple[str, str, str] | None:
    for item in (manifest.get("metadata") or {}).get("ownerReferences") or ():
        if item.get("controller"):
            return item.get("kind") or "", namespace_of(manifest), item.get("name") or ""
    return None


def identity(manifest: Manifest) -> tuple[str, str, str]:
    return manifest["kind"], namespace_of(manifest), name_of(manifest)


def _reference(owner: Manifest) -> dict[str, Any]:
    kind = owner["kind"]
    uid = (owner.get("metadata") or {}).get("uid") or f"{kind}/{namespace_of(owner)}/{name_of(owner)}"
    return {
        "apiVersion": owner.get("apiVersion") or _API_VERSIONS.get(kind, "apps/v1"),
        "kind": kind,
        "name": name_of(owner),
        "uid": uid,
        "controller": True,
    }
