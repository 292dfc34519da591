"""Wave of pods on nodes with room for most of them, and the expected result after any fault.

All pods that fit anywhere are of one size, and every node has room for 8 of them: by CPU, by memory or by number. So
there is a place for every pod wherever the others are, and one more on any node is one too many.
"""

import random
from collections.abc import Iterator
from typing import Final

from tests.e2e.faults.pod_log import PodLog
from tests.e2e.kubewasp import condition, ours
from tools.testbed.client import ApiError, Object
from tools.testbed.cluster import Cluster
from tools.testbed.nodes import FakeNodes
from tools.testbed.waiting import wait_until

CPU, MEMORY, PER_NODE = "500m", "1Gi", 8
ROOM_FOR_8: Final = (
    {"cpu": "4", "memory": "64Gi", "pods": "110"},
    {"cpu": "16", "memory": "8Gi", "pods": "110"},
    {"cpu": "16", "memory": "64Gi", "pods": "8"},
)
NODES: Final = 8 * len(ROOM_FOR_8)
# 40 more than there is room for: urgent and usual pods take the place of humble ones, and others wait for a place.
SIZES: Final = {"urgent": 20, "usual": 142, "opened": 10, "humble": 60, "gated": 10, "huge": 10}
PRIORITIES: Final = {"urgent": 1000, "humble": -1000}
MUST_BE_BOUND: Final = ("urgent", "usual", "opened")
GATE: Final = "example.com/wait"
TIMEOUT: Final = 150.0


class Wave:
    """The pods of one test, and a log of what became of them."""

    def __init__(self, cluster: Cluster, nodes: FakeNodes) -> None:
        self.cluster = cluster
        for capacity in ROOM_FOR_8:
            nodes.create(NODES // len(ROOM_FOR_8), capacity=capacity)
        for kind, value in PRIORITIES.items():
            cluster.create(
                {
                    "apiVersion": "scheduling.k8s.io/v1",
                    "kind": "PriorityClass",
                    "metadata": {"name": self._class_of(kind)},
                    "value": value,
                }
            )
        self._to_make = [self._pod(kind, number) for kind, size in SIZES.items() for number in range(size)]
        random.Random(1).shuffle(self._to_make)
        self.size = len(self._to_make)
        self.log = PodLog(cluster)

    def create(self, share: float = 1.0) -> None:
        """Creates a share of the remaining pods; retries while the API server is unavailable."""
        count = round(share * len(self._to_make))
        now, self._to_make = self._to_make[:count], self._to_make[count:]
        self.cluster.client.each(self._create, now)

    def open_gates(self) -> None:
        """To be called when all are made."""
        for number in range(SIZES["opened"]):
            self.cluster.patch("Pod", f"opened-{number}", {"spec": {"schedulingGates": None}})

    def wait_bound(self, count: int) -> None:
        wait_until(lambda: len(self.cluster.placements()) >= count, TIMEOUT, f"{count} pods to be bound", self._told)

    def wait_settled(self) -> None:
        """Until every pod is where it belongs."""
        wait_until(lambda: not next(self._unsettled(), ""), TIMEOUT, "all pods to be settled", self._told)

    def _class_of(self, kind: str) -> str:
        return f"{self.cluster.namespace}-{kind}"

    def _pod(self, kind: str, number: int) -> Object:
        spec: Object = {"priorityClassName": self._class_of(kind)} if kind in PRIORITIES else {}
        if kind in {"gated", "opened"}:
            spec["schedulingGates"] = [{"name": GATE}]
        return ours(f"{kind}-{number}", cpu="64" if kind == "huge" else CPU, memory=MEMORY, **spec)

    def _create(self, manifest: Object) -> None:
        def made() -> bool:
            try:
                self.cluster.create(manifest)
            except ApiError as error:
                if error.reason != "AlreadyExists":  # it was made, and the answer was lost
                    raise
            return True

        wait_until(made, TIMEOUT, f"{manifest['metadata']['name']} to be made")

    def _unsettled(self) -> Iterator[str]:
        """Problems of the end state."""
        pods = self.cluster.list_all("Pod")
        pending = {found["metadata"]["name"]: condition(found) for found in pods if "nodeName" not in found["spec"]}
        room = NODES * PER_NODE - (len(pods) - len(pending))
        for name, said in pending.items():
            kind, reason = name.partition("-")[0], said.get("reason")
            if kind in MUST_BE_BOUND or (kind == "humble" and room > 0):
                yield f"{name} has no node: {said}"
            elif reason != ("SchedulingGated" if kind == "gated" else "Unschedulable"):
                yield f"{name} does not say why it has no node: {said}"

    def _told(self) -> str:
        return "\n".join(self._unsettled())
