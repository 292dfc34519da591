"""History of the pods of a run: arrival, placement and node of each, also of those that have ended."""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from kubewasp.lab.experiments.fairness import NamespaceTotals
from kubewasp.lab.experiments.occupancy import capacity
from kubewasp.lab.experiments.typical_pods import PodShapes
from kubewasp.simulation.result import workload_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod, PodSpec
    from kubewasp.scheduler.attempt import Attempt
    from kubewasp.simulation.embedded_cluster import EmbeddedCluster

_MOST_SPECS: Final = 4096  # that results are kept of


class PodFate(NamedTuple):
    """Times in simulated seconds. `node` is that of the last placement; without one, `placed` is None.

    `workload` is that of `Placement`.
    """

    arrival: float
    placed: float | None = None
    node: str = ""
    workload: str = ""

    @property
    def wait(self) -> float | None:
        """Seconds from arrival to the last placement."""
        return None if self.placed is None else self.placed - self.arrival


class LastMessages:
    """Messages of the last attempts of pods without a node, by uid. Implements `AttemptListener`."""

    def __init__(self) -> None:
        self._messages: dict[str, str] = {}

    def attempted(self, attempt: Attempt) -> None:
        if attempt.node:
            self._messages.pop(attempt.pod.uid, None)
        else:
            self._messages[attempt.pod.uid] = attempt.message

    def take(self, uid: str) -> str:
        """The message of a pod that leaves; empty if it had no attempt."""
        return self._messages.pop(uid, "")


class PodHistory:
    """Pods of a cluster from now on; those bound before are not counted.

    Implements `ObjectListener` and `PlacementListener`. Takes eight bytes for each placement, and more for each pod
    only if their fates are kept. `left` are the messages of pods that left without a node, with their number.
    """

    def __init__(
        self, cluster: EmbeddedCluster, *, keeps_fates: bool = False, messages: LastMessages | None = None
    ) -> None:
        self.waits = array("d")
        self.arrived = 0
        self.left: Counter[str] = Counter()
        self.shapes = PodShapes()
        self._fates: dict[str, PodFate] | None = {} if keeps_fates else None
        self._cluster = cluster
        self._clock = cluster.clock
        self._messages = LastMessages() if messages is None else messages
        self._arrivals: dict[str, tuple[str, float]] = {}  # of pods without a node, with their namespaces
        self._namespaces: dict[str, NamespaceTotals] = {}
        self._capacity = capacity(cluster)
        self._shares: dict[PodSpec, float] = {}
        for pod in cluster.pods.values():
            self.put_pod(pod, None)
        cluster.objects.subscribe(self)
        cluster.objects.subscribe_placements(self)

    @property
    def fates(self) -> Mapping[str, PodFate]:
        """Fates by pod (`namespace/name`), in order of arrival; empty if they are not kept."""
        return self._fates or {}

    def namespaces(self) -> dict[str, NamespaceTotals]:
        """Totals by namespace, with the waits up to now of pods without a node."""
        found = {
            name: NamespaceTotals(totals.arrived, totals.placed, totals.asked, totals.got, totals.wait)
            for name, totals in sorted(self._namespaces.items())
        }
        now = self._clock.now()
        for namespace, arrival in self._arrivals.values():
            found[namespace].wait += now - arrival
        return found

    def put_pod(self, pod: Pod, before: Pod | None) -> None:
        if before is not None:
            return
        self.shapes.add(pod)
        if pod.node:
            return
        now = self._clock.now()
        self.arrived += 1
        self._arrivals[pod.uid] = pod.namespace, now
        totals = self._namespaces.setdefault(pod.namespace, NamespaceTotals())
        totals.arrived += 1
        totals.asked += self._dominant_share(pod.spec)
        if self._fates is not None:
            self._fates[pod.key] = PodFate(now, workload=workload_of(self._cluster, pod))

    def delete_pod(self, pod: Pod) -> None:
        known = self._arrivals.pop(pod.uid, None)
        if known is not None:
            namespace, arrival = known
            self._namespaces[namespace].wait += self._clock.now() - arrival
            self.left[self._messages.take(pod.uid)] += 1

    def put_node(self, node: Node) -> None: ...

    def delete_node(self, name: str) -> None: ...

    def placed(self, pod: Pod) -> None:
        known = self._arrivals.pop(pod.uid, None)
        if known is None:
            return
        namespace, arrival = known
        now = self._clock.now()
        self.waits.append(now - arrival)
        totals = self._namespaces[namespace]
        totals.placed += 1
        totals.got += self._dominant_share(pod.spec)
        totals.wait += now - arrival
        if self._fates is not None:
            self._fates[pod.key] = PodFate(arrival, now, pod.node, self._fates[pod.key].workload)

    def _dominant_share(self, spec: PodSpec) -> float:
        share = self._shares.get(spec)
        if share is None:
            if len(self._shares) >= _MOST_SPECS:
                self._shares.clear()
            requests = spec.resources.requests
            shares = (requests.get(name) / total for name, total in self._capacity.items())
            share = self._shares[spec] = max(shares, default=0.0)
        return share
