"""Index of the volumes of pods, by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kubewasp.k8s.csi_migration import BY_SOURCE
from kubewasp.k8s.storage import uses_claim
from kubewasp.state.columns import Column
from kubewasp.state.pod_index import RowCounts

if TYPE_CHECKING:
    from kubewasp.k8s.pods import Pod, PodSpec, Volume

# Inline disks that two pods on one node may not both write.
EXCLUSIVE_DISKS: Final = frozenset(("gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"))


def may_attach(volume: Volume) -> bool:
    """Whether a CSI driver may have to attach the volume to the node."""
    return uses_claim(volume) or volume.source in BY_SOURCE


class VolumeIndex:
    """Claims, exclusive disks and the number of attachable volumes of the pods on all rows."""

    def __init__(self) -> None:
        self.claims: dict[tuple[str, str], int] = {}
        self.with_disks: dict[PodSpec, RowCounts] = {}
        self._attachable = Column(np.int32)
        self.attachable = self._attachable.view

    def count(self, row: int, pod: Pod, sign: int) -> None:
        has_disks = False
        for volume in pod.spec.volumes:
            if volume.claim:
                key = (pod.namespace, volume.claim)
                self.claims[key] = self.claims.get(key, 0) + sign
                if not self.claims[key]:
                    del self.claims[key]
            if may_attach(volume):
                self._attachable.own[row] += sign
            has_disks = has_disks or volume.source in EXCLUSIVE_DISKS
        if has_disks:
            counts = self.with_disks.setdefault(pod.spec, RowCounts())
            counts.add(row, sign, len(self.attachable))
            if not counts:
                del self.with_disks[pod.spec]

    def grow(self, capacity: int) -> None:
        self.attachable = self._attachable.grow(capacity)
        for counts in self.with_disks.values():
            counts.grow(capacity)
