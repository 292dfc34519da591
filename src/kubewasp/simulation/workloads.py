"""Workload controllers of a simulated cluster: pods of Deployments, ReplicaSets, StatefulSets, Jobs and DaemonSets.

Existing pods count: a dump of a whole cluster gives no pod twice.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.objects import name_of, namespace_of
from kubewasp.k8s.selectors import node_selector_terms
from kubewasp.k8s.taints import parse_tolerations, untolerated

WORKLOADS = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "Job", "DaemonSet")
_API_VERSIONS = {"ReplicationController": "v1", "Job": "batch/v1"}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TEMPLATE_HASH = "pod-template-hash"
_DAEMON_TOLERATIONS = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)

Manifest = Mapping[str, Any]
Identity = tuple[str, str, str]


@dataclass(slots=True)
class Expansion:
    """Output of the controllers: current owners (with the ReplicaSets of Deployments), pods, and their claims."""

    owners: list[Manifest] = field(default_factory=list)
    pods: list[Manifest] = field(default_factory=list)
    claims: list[Manifest] = field(default_factory=list)


def expand(
    workloads: Sequence[Manifest],
    pods: Sequence[Manifest],
    nodes: Sequence[Manifest],
    replica_sets: Iterable[Manifest] = (),
) -> Expansion:
    """The missing pods. `replica_sets` are existing ReplicaSets of Deployments that are applied again."""
    found = Expansion([item for item in workloads if item.get("kind") != "Deployment"])
    known = list(replica_sets)
    for deployment in (item for item in workloads if item.get("kind") == "Deployment"):
        if not any(controller_of(item) == identity(deployment) for item in found.owners):
            found.owners += _rolled_out(deployment, known)
    owned: dict[Identity, list[Manifest]] = {}
    for pod in pods:
        controller = controller_of(pod)
        if controller is not None:
            owned.setdefault(controller, []).append(pod)
    taken = {(namespace_of(pod), name_of(pod)) for pod in pods if not is_finished(pod)}
    for owner in found.owners:
        for pod in _missing_pods(owner, owned.get(identity(owner), ()), nodes, taken):
            taken.add((namespace_of(pod), name_of(pod)))
            found.pods.append(pod)
            found.claims += _claims(owner, name_of(pod))
    return found


def surplus(owner: Manifest, pods: Sequence[str]) -> Sequence[str]:
    """The pods of an owner beyond its replicas, from the end of the list."""
    return () if owner["kind"] == "DaemonSet" else pods[wanted(owner) :]


def replacement(
    owner: Manifest, lost: Manifest, taken: Container[str], nodes: Mapping[str, Manifest]
) -> Manifest | None:
    """The controller's replacement for a lost pod; in a StatefulSet it has the same name."""
    if owner["kind"] == "StatefulSet":
        return _pod(owner, name_of(lost))
    if owner["kind"] == "DaemonSet":
        node = nodes.get(_pinned_to(lost))
        return None if node is None else _daemon_pod(owner, node, name_of(lost))
    numbers = itertools.count(wanted(owner))
    return next(_pod(owner, name) for number in numbers if (name := f"{name_of(owner)}-{number}") not in taken)


def further_pod(
    workload: Manifest, name: str, replica_sets: Iterable[Manifest] = ()
) -> tuple[dict[str, Any], list[Manifest]]:
    """A pod beyond those of a workload, and its claims. `replica_sets` are existing ones of Deployments."""
    owner = workload
    if workload["kind"] == "Deployment":
        one = {**workload, "spec": {**(workload.get("spec") or {}), "replicas": 1}}
        owner = next(item for item in _rolled_out(one, replica_sets) if wanted(item) == 1)
    return _pod(owner, name), _claims(owner, name)


def _missing_pods(
    owner: Manifest, owned: Sequence[Manifest], nodes: Sequence[Manifest], taken: Container[tuple[str, str]]
) -> Iterable[Manifest]:
    active = [pod for pod in owned if not is_finished(pod)]
    if owner["kind"] == "DaemonSet":
        served = {_pinned_to(pod) for pod in active}
        without = [node for node in nodes if name_of(node) not in served]
        made = (_daemon_pod(owner, node, f"{name_of(owner)}-{name_of(node)}") for node in without)
        return [pod for pod in made if pod is not None]
    if owner["kind"] == "StatefulSet":
        first = ((owner.get("spec") or {}).get("ordinals") or {}).get("start") or 0
        numbers: Iterable[int] = range(first, first + wanted(owner))
        missing = wanted(owner)
    else:
        numbers = itertools.count()
        succeeded = sum((pod.get("status") or {}).get("phase") == "Succeeded" for pod in owned)
        missing = max(0, wanted(owner, succeeded) - len(active))
    names = (f"{name_of(owner)}-{number}" for number in numbers)
    free = (name for name in names if (namespace_of(owner), name) not in taken)
    return (_pod(owner, name) for name in itertools.islice(free, missing))


def wanted(owner: Manifest, succeeded: int = 0) -> int:
    """Desired number of pods; `succeeded` is the number of completed pods of a Job."""
    spec = owner.get("spec") or {}
    if owner["kind"] != "Job":
        return 1 if spec.get("replicas") is None else int(spec["replicas"])
    status = owner.get("status") or {}
    ended = any(
        c.get("type") in ("Complete", "Failed") and c.get("status") == "True" for c in status.get("conditions") or ()
    )
    if ended or spec.get("suspend"):
        return 0
    parallelism = 1 if spec.get("parallelism") is None else int(spec["parallelism"])
    if spec.get("completions") is None:
        return parallelism
    return max(0, min(parallelism, int(spec["completions"]) - max(succeeded, int(status.get("succeeded") or 0))))


# ---------------------------------------------------------------------- Deployments


def _rolled_out(deployment: Manifest, known: Iterable[Manifest]) -> list[Manifest]:
    """The ReplicaSets of a Deployment; those of earlier templates are scaled to zero."""
    sets: list[Manifest] = []
    current = None
    for replica_set in known:
        if controller_of(replica_set) != identity(deployment):
            continue
        is_current = current is None and _bare_template(replica_set) == _bare_template(deployment)
        replicas = (deployment.get("spec") or {}).get("replicas") if is_current else 0
        scaled = {**replica_set, "spec": {**(replica_set.get("spec") or {}), "replicas": replicas}}
        current = scaled if is_current else current
        sets.append(scaled)
    return sets if current is not None else [*sets, _replica_set(deployment)]


def _bare_template(owner: Manifest) -> Manifest:
    template = (owner.get("spec") or {}).get("template") or {}
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != _TEMPLATE_HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _replica_set(deployment: Manifest) -> Manifest:
    spec = deployment.get("spec") or {}
    template = spec.get("template") or {}
    digest = f"{zlib.crc32(orjson.dumps(template, option=orjson.OPT_SORT_KEYS)):08x}"
    labels = {**((template.get("metadata") or {}).get("labels") or {}), _TEMPLATE_HASH: digest}
    selector = dict(spec.get("selector") or {})
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), _TEMPLATE_HASH: digest}
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


# ---------------------------------------------------------------------- pods


def _pod(owner: Manifest, name: str) -> dict[str, Any]:
    template = (owner.get("spec") or {}).get("template") or {}
    metadata = dict(template.get("metadata") or {})
    labels = dict(metadata.get("labels") or {})
    spec = dict(template.get("spec") or {})
    if owner["kind"] == "StatefulSet":
        labels |= {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": name.rpartition("-")[2]}
        claims = {name_of(item): f"{name_of(item)}-{name}" for item in _claim_templates(owner)}
        if claims:
            volumes = [item for item in spec.get("volumes") or () if item.get("name") not in claims]
            volumes += [{"name": key, "persistentVolumeClaim": {"claimName": claim}} for key, claim in claims.items()]
            spec["volumes"] = volumes
    metadata |= {
        "name": name,
        "namespace": namespace_of(owner),
        "labels": labels,
        "ownerReferences": [_reference(owner)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _claim_templates(owner: Manifest) -> Sequence[Manifest]:
    if owner["kind"] != "StatefulSet":
        return ()
    return (owner.get("spec") or {}).get("volumeClaimTemplates") or ()


def _claims(owner: Manifest, pod: str) -> list[Manifest]:
    """Claims of a StatefulSet's pod."""
    made: list[Manifest] = []
    for template in _claim_templates(owner):
        metadata = {
            **(template.get("metadata") or {}),
            "name": f"{name_of(template)}-{pod}",
            "namespace": namespace_of(owner),
        }
        made.append(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": metadata,
                "spec": template.get("spec") or {},
            }
        )
    return made


def _daemon_pod(owner: Manifest, node: Manifest, name: str) -> dict[str, Any] | None:
    """The pod of a DaemonSet for a node; None if the node is not eligible."""
    pod = _pod(owner, name)
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


def _pinned_to(pod: Manifest) -> str:
    """The node of a DaemonSet's pod, bound or by affinity."""
    spec = pod.get("spec") or {}
    if spec.get("nodeName"):
        return str(spec["nodeName"])
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED) or {}
    for term in node_selector_terms(required.get("nodeSelectorTerms") or ()):
        names = term.names()
        if names is not None and len(names) == 1:
            return next(iter(names))
    return ""


# ---------------------------------------------------------------------- owners


def is_finished(pod: Manifest) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def controller_of(manifest: Manifest) -> Identity | None:
    for item in (manifest.get("metadata") or {}).get("ownerReferences") or ():
        if item.get("controller"):
            return item.get("kind") or "", namespace_of(manifest), item.get("name") or ""
    return None


def identity(manifest: Manifest) -> Identity:
    return manifest["kind"], namespace_of(manifest), name_of(manifest)


def is_made_up(reference: Manifest, namespace: str) -> bool:
    """Whether the uid of an owner reference was generated here."""
    made_up = _made_up_uid((reference.get("kind") or "", namespace, reference.get("name") or ""))
    return reference.get("uid") == made_up


def _made_up_uid(owner: Identity) -> str:
    return "/".join(owner)


def _reference(owner: Manifest) -> dict[str, Any]:
    kind = owner["kind"]
    return {
        "apiVersion": owner.get("apiVersion") or _API_VERSIONS.get(kind, "apps/v1"),
        "kind": kind,
        "name": name_of(owner),
        "uid": (owner.get("metadata") or {}).get("uid") or _made_up_uid(identity(owner)),
        "controller": True,
    }
