"""Controllers outside the input, made up from their pods.

`kubectl get nodes,pods -o yaml` has pods without their ReplicaSets, and operators own pods by kinds of their own. Such
a pod is replaced when it is lost, as its controller would do it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s.objects import name_of
from kubewasp.simulation.workloads import controller_of, identity, is_finished

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.simulation.loading import ClusterInput
    from kubewasp.simulation.workloads import Identity

# A DaemonSet's pod does not move, and a static pod belongs to its node.
_BOUND_TO_NODES: Final = ("DaemonSet", "Node")


def with_controllers(objects: ClusterInput) -> ClusterInput:
    """The input with a controller for every pod that names one."""
    known = {identity(item) for item in objects.workloads}
    pods: dict[Identity, list[Mapping[str, Any]]] = {}
    for pod in objects.pods:
        owner = controller_of(pod)
        if owner is not None and owner not in known and owner[0] not in _BOUND_TO_NODES and not is_finished(pod):
            pods.setdefault(owner, []).append(pod)
    if not pods:
        return objects
    return replace(objects, workloads=[*objects.workloads, *(_controller(key, some) for key, some in pods.items())])


def _controller(owner: Identity, pods: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    kind, namespace, name = owner
    metadata, spec = pods[0].get("metadata") or {}, dict(pods[0].get("spec") or {})
    reference = next(item for item in metadata["ownerReferences"] if item.get("controller"))
    spec.pop("nodeName", None)
    labels = metadata.get("labels") or {}
    made: dict[str, Any] = {
        "replicas": len(pods),
        "selector": (labels if kind == "ReplicationController" else {"matchLabels": labels}) if labels else None,
        "template": {"metadata": {"labels": labels, "annotations": metadata.get("annotations") or {}}, "spec": spec},
    }
    if kind == "Job":
        made["parallelism"] = len(pods)
    if kind == "StatefulSet":
        claims = [item["name"] for item in spec.get("volumes") or () if _is_of_template(item, name_of(pods[0]))]
        spec["volumes"] = [item for item in spec.get("volumes") or () if item["name"] not in claims]
        made["volumeClaimTemplates"] = [{"metadata": {"name": claim}} for claim in claims]
        ordinals = [int(number) for pod in pods if (number := name_of(pod).rpartition("-")[2]).isdecimal()]
        made["ordinals"] = {"start": min(ordinals, default=0)}
    return {
        "apiVersion": reference.get("apiVersion") or "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "uid": reference.get("uid") or ""},
        "spec": made,
    }


def _is_of_template(volume: Mapping[str, Any], pod: str) -> bool:
    """Whether a volume is the claim of a StatefulSet's pod, which has the name of the pod."""
    claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
    return bool(claim) and claim == f"{volume['name']}-{pod}"
