"""Copies of nodes: fresh machines of the same shape, with names and ids of their own."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s.nodes import HOSTNAME
from kubewasp.simulation import loading
from kubewasp.simulation.loading import ClusterInput

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from kubewasp.simulation.cluster_objects import ClusterObjects

# Taints that Kubernetes puts on a node for its state; a fresh node has none of them.
_STATE_TAINTS: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
_OWN_METADATA: Final = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "ownerReferences")
_OWN_SPEC: Final = ("providerID", "podCIDR", "podCIDRs", "externalID", "unschedulable", "taints")
_SHAPE: Final = ("capacity", "allocatable", "images", "declaredFeatures")


def node_copy(
    node: Mapping[str, Any],
    name: str,
    *,
    resources: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A fresh node like another one.

    Args:
        node: Manifest of the other node.
        name: Name of the copy.
        resources: Allocatable amounts that differ.
        labels: Labels that differ.
    """
    metadata, spec, status = (node.get(part) or {} for part in ("metadata", "spec", "status"))
    own = metadata.get("name")
    kept = {key: name if value == own else value for key, value in (metadata.get("labels") or {}).items()}
    made = {key: value for key, value in metadata.items() if key not in _OWN_METADATA}
    fresh = {key: value for key, value in spec.items() if key not in _OWN_SPEC}
    taints = [taint for taint in spec.get("taints") or () if not str(taint.get("key")).startswith(_STATE_TAINTS)]
    shape = {key: status[key] for key in _SHAPE if key in status}
    for amounts in ("capacity", "allocatable"):
        if resources and (amounts in shape or amounts == "allocatable"):
            shape[amounts] = {**(shape.get(amounts) or {}), **resources}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {**made, "name": name, "labels": {**kept, HOSTNAME: name, **(labels or {})}},
        "spec": {**fresh, **({"taints": taints} if taints else {})},
        "status": shape,
    }


def new_names(stem: str, taken: Container[str]) -> Iterator[str]:
    """Names for copies of a node that no other node has."""
    return (name for number in itertools.count(1) if (name := f"{stem}-copy-{number}") not in taken)


def add_nodes(
    objects: ClusterObjects, nodes: Sequence[Mapping[str, Any]], others: Iterable[Mapping[str, Any]] = ()
) -> None:
    """Adds nodes and objects that belong to them; DaemonSets follow."""
    loading.fill(objects, ClusterInput(nodes=list(nodes), others=list(others)))


def csi_node_copies(others: Iterable[Mapping[str, Any]], like: str, names: Iterable[str]) -> list[dict[str, Any]]:
    """The CSINode of a node for its copies: the limits of its volumes."""
    found = next(
        (item for item in others if item.get("kind") == "CSINode" and (item.get("metadata") or {}).get("name") == like),
        None,
    )
    if found is None:
        return []
    return [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": name},
            "spec": found.get("spec") or {},
        }
        for name in names
    ]
