"""History of bindings, of pods that have ended too. A cluster itself knows only the pods that are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.simulation.cluster_objects import Placed

if TYPE_CHECKING:
    from kubewasp.k8s.pods import Pod
    from kubewasp.simulation.embedded_cluster import EmbeddedCluster


class BindingHistory:
    """All bindings of a cluster from now on, in order. Implements `PlacementListener`."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._clock = cluster.clock
        self.bindings: list[Placed] = []
        cluster.objects.subscribe_placements(self)

    def placed(self, pod: Pod) -> None:
        self.bindings.append(Placed(self._clock.now(), pod))
