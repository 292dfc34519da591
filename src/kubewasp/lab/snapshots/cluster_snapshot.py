"""Snapshots of clusters: taken from a real cluster or from manifests, anonymised, written and summarised."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

import orjson

from kubewasp import __version__
from kubewasp.k8s import snapshot_file, timestamps
from kubewasp.k8s.json_documents import to_keep
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.resources import CPU, EPHEMERAL, MEMORY, pod_resources
from kubewasp.k8s.snapshot_file import SnapshotHead
from kubewasp.lab.snapshots.anonymization import Aliases
from kubewasp.live.cluster_lists import read_cluster
from kubewasp.simulation.workloads import is_finished

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.apiserver.client import ApiClient
    from kubewasp.clock import Clock
    from kubewasp.k8s.resources import Resources
    from kubewasp.lab.snapshots.snapshot_fields import KeptFields
    from kubewasp.live.cluster_lists import ListListener
    from kubewasp.simulation.loading import ClusterInput


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """The head of a snapshot, and its objects as JSON in the order of the file, which decides ties."""

    head: SnapshotHead
    objects: Sequence[bytes]

    def anonymized(self, salt: bytes, fields: KeptFields, kept_labels: Sequence[str] = ()) -> ClusterSnapshot:
        """The same cluster with other names, label values, images, uids and addresses."""
        aliases = Aliases(salt, self.objects, kept_labels)
        objects = [_line(fields.of(orjson.loads(line), aliases)) for line in self.objects]
        return ClusterSnapshot(replace(self.head, is_anonymized=True), objects)

    def write(self, file: IO[bytes]) -> None:
        snapshot_file.write(self.head, self.objects, file)

    def summary(self) -> dict[str, Any]:
        """Origin, numbers of objects, and amounts of resources: allocatable of nodes, requested by bound pods."""
        bound, pending = 0, 0
        allocatable: Counter[str] = Counter()
        requested: Counter[str] = Counter()
        for line in self.objects:
            body = orjson.loads(line)
            if body["kind"] == "Node":
                allocatable.update(_amounts(parse_node(body).allocatable))
            elif body["kind"] == "Pod" and not is_finished(body):
                spec = body.get("spec") or {}
                if spec.get("nodeName"):
                    bound += 1
                    requested.update(_amounts(pod_resources(spec, body.get("status")).requests))
                else:
                    pending += 1
        resources = [
            {"resource": name, "allocatable": amount, "requested": requested[name]}
            for name, amount in allocatable.items()
            if amount or requested[name]
        ]
        return {**self.head.as_dict(), "pods": {"bound": bound, "pending": pending}, "resources": resources}


async def of_cluster(client: ApiClient, fields: KeptFields, clock: Clock, listener: ListListener) -> ClusterSnapshot:
    """A snapshot of a real cluster. Nothing is written there."""
    taken = timestamps.in_seconds(int(clock.wall()))
    found = await read_cluster(client, lambda manifest: _line(fields.of(manifest)), listener)
    counts = {kind: len(objects) for kind, objects in found.objects.items()}
    head = SnapshotHead(__version__, taken, found.server, counts=counts, warnings=found.warnings)
    return ClusterSnapshot(head, [line for lines in found.objects.values() for line in lines])


def of_manifests(found: ClusterInput, fields: KeptFields) -> ClusterSnapshot:
    """A snapshot of manifests; of another snapshot, it keeps time, version and warnings."""
    bodies = [*found.others, *found.nodes, *found.workloads, *found.pods]
    heads = list(found.snapshots.values())
    first = heads[0] if len(heads) == 1 else SnapshotHead("")
    head = SnapshotHead(
        __version__,
        first.taken,
        first.server,
        is_anonymized=first.is_anonymized,
        counts=Counter(body["kind"] for body in bodies),
        warnings=[warning for item in heads for warning in item.warnings][: snapshot_file.MAX_WARNINGS],
    )
    return ClusterSnapshot(head, [_line(fields.of(body)) for body in bodies])


def _line(body: dict[str, Any]) -> bytes:
    return to_keep(orjson.dumps(body, option=orjson.OPT_SORT_KEYS))


def _amounts(resources: Resources) -> dict[str, int]:
    return {CPU: resources.cpu, MEMORY: resources.memory, EPHEMERAL: resources.ephemeral, **resources.scalars}
