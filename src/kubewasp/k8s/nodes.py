"""Node: the scheduling view of a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubewasp.k8s.resources import Resources, allocatable
from kubewasp.k8s.taints import Taint, parse_taints

if TYPE_CHECKING:
    from collections.abc import Mapping

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One node. `encoded` is its protobuf, the form that guests receive."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    is_unschedulable: bool
    allocatable: Resources
    max_pods: int
    images: Mapping[str, int]
    declared_features: frozenset[str]
    conditions: Mapping[str, str]
    annotations: Mapping[str, str]
    encoded: bytes

    @property
    def zone_key(self) -> tuple[str, str]:
        """Region and zone: the group of a node in the visiting order."""
        labels = self.labels
        return labels.get(BETA_REGION, labels.get(REGION, "")), labels.get(BETA_ZONE, labels.get(ZONE, ""))


def parse_node(manifest: Mapping[str, Any], encoded: bytes = b"") -> Node:
    """A node from its valid manifest."""
    metadata, spec, status = (manifest.get(part) or {} for part in ("metadata", "spec", "status"))
    resources, max_pods = allocatable(status)
    return Node(
        name=metadata.get("name") or "",
        labels=metadata.get("labels") or {},
        taints=parse_taints(spec.get("taints")),
        is_unschedulable=bool(spec.get("unschedulable")),
        allocatable=resources,
        max_pods=max_pods,
        images={
            name: image.get("sizeBytes") or 0
            for image in status.get("images") or ()
            for name in image.get("names") or ()
        },
        declared_features=frozenset(status.get("declaredFeatures") or ()),
        conditions={c.get("type") or "": c.get("status") or "" for c in status.get("conditions") or ()},
        annotations=metadata.get("annotations") or {},
        encoded=encoded,
    )
