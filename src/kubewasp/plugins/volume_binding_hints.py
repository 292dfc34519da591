"""Hints of VolumeBinding: what a node or a claim lacks, for explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kubewasp.k8s.resources import bytes_text
from kubewasp.plugins.hint_texts import labels_lacking
from kubewasp.plugins.volume_binder import rows_allowed
from kubewasp.state.object_kinds import STORAGE_CLASS

if TYPE_CHECKING:
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.storage import PersistentVolumeClaim, StorageClass
    from kubewasp.plugins.volume_binder import PodClaims, VolumeBinder
    from kubewasp.state.node_table import NodeTable
    from kubewasp.state.object_store import ObjectStore


def claim_hint(claim: PersistentVolumeClaim, store: ObjectStore) -> str:
    """For an unbound claim of a class that binds immediately."""
    if claim.storage_class and store.get(STORAGE_CLASS, claim.storage_class) is None:
        return f"StorageClass {claim.storage_class}, for claim {claim.name}"
    return f"claim {claim.name} bound to {f'volume {claim.volume}' if claim.volume else 'a volume'}"


def node_hints(binder: VolumeBinder, claims: PodClaims, table: NodeTable, row: int) -> list[str]:
    """For a node that cannot access the bound volumes, or has no volumes for the other claims."""
    node = table.node(row)
    found = _bound_hints(binder, claims, table, row)
    one = np.array([row])
    unmatched = {claim.key for claim, choice in binder.find(claims, table, one).matches if choice[0] < 0}
    for claim, storage_class in claims.delayed:
        if claim.selected_node not in (None, node.name):
            found.append(f"to be {claim.selected_node}, where claim {claim.name} is provisioned")
        elif claim.selected_node is not None or claim.key in unmatched:
            if not rows_allowed(storage_class, table, one).all():
                found += _provisioning_hints(claim, storage_class, node)
            elif not binder.rows_with_space(claim, storage_class, table, one).all():
                size = bytes_text(claim.size.value())
                found.append(f"{size} of capacity in class {storage_class.name}, for claim {claim.name}")
    return found


def _bound_hints(binder: VolumeBinder, claims: PodClaims, table: NodeTable, row: int) -> list[str]:
    found = []
    for claim in claims.bound:
        volume = binder.volumes.get(claim.volume)
        if volume is None:
            found.append(f"PersistentVolume {claim.volume}, for claim {claim.name}")
        elif not binder.reaches(volume, table, np.array([row])).all():
            labels = labels_lacking(volume.affinity or (), table.node(row))
            found += [f"{label}, where volume {volume.name} is" for label in labels] or [
                f"access to volume {volume.name}"
            ]
    return found


def _provisioning_hints(claim: PersistentVolumeClaim, storage_class: StorageClass, node: Node) -> list[str]:
    name = storage_class.name
    if not storage_class.provisions:
        return [f"a free volume of {bytes_text(claim.size.value())} in class {name}, for claim {claim.name}"]
    labels = labels_lacking(storage_class.topologies, node)
    return [f"{label}, an allowed topology of class {name}" for label in labels] or [f"a topology of class {name}"]
