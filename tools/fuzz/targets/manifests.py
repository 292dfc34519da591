"""Manifests in YAML and JSON, and snapshots: read, checked, put into a cluster, and scheduled."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from kubewasp.framework.config.reading import default_config
from kubewasp.k8s import manifests
from kubewasp.lab.snapshots import cluster_snapshot
from kubewasp.lab.snapshots.snapshot_fields import KeptFields
from kubewasp.scheduler.composition import set_up
from kubewasp.simulation import loading
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from tools.fuzz.labels import error_label

if TYPE_CHECKING:
    from collections.abc import Iterable

_EXAMPLES: Final = Path(__file__).parents[3] / "examples"
# Larger clusters are valid, and slow.
_MOST_PODS: Final = 200
_DEEP: Final = b"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: " + b"[" * 400 + b"]" * 400


def seeds() -> Iterable[bytes]:
    for folder in ("manifests", "clusters"):
        for path in sorted((_EXAMPLES / folder).glob("*.yaml")):
            yield path.read_bytes()
    yield _DEEP
    yield b'{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}]}'
    for path in sorted((_EXAMPLES / "clusters").glob("*.yaml")):
        packed = _snapshot(path)
        yield packed
        yield gzip.decompress(packed)
    yield b"a: &a [x]\nb: [*a, *a]\napiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {n: 1}}"


def _snapshot(path: Path) -> bytes:
    file = io.BytesIO()
    cluster_snapshot.of_manifests(loading.read([path]), KeptFields()).write(file)
    return file.getvalue()


def one(data: bytes) -> str:
    try:
        found = loading.ClusterInput()
        for manifest in manifests.parse(data, "fuzz.yaml"):
            loading.add(found, manifest)
        cluster = EmbeddedCluster(set_up(default_config()))
        loading.fill(cluster.objects, found)
    except KubewaspError as error:
        return error_label(error)
    if len(cluster.pods) > _MOST_PODS:
        return "many pods"
    cluster.settle()
    messages = {cluster.why_pending(pod).partition(":")[0] for pod in cluster.pods.values() if not pod.node}
    return f"{len(cluster.pods)} pods, {sorted(messages)}"
