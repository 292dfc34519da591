"""Bars of the scheduling cycle on an embedded cluster: all default plugins, every node evaluated."""

from __future__ import annotations

import gc
import statistics
import time
from typing import TYPE_CHECKING, Any

from kubewasp.framework.config.reading import default_config
from kubewasp.k8s import sample_cluster
from kubewasp.scheduler.composition import set_up
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from tests.guests import build
from tools.bench.bars.bar import Bar
from tools.bench.bars.host import resident

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

NODES, PODS, ROUNDS = 5000, 10_000, 20
MANY_PODS = 100_000


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    step(f"{NODES:,} nodes, {PODS:,} pods")
    yield from _plain(step)
    step("growth from 1,000 to 20,000 nodes")
    yield from _growth()
    step(f"{MANY_PODS:,} existing pods")
    yield from _many()


def _plain(step: Callable[[str], None]) -> Iterator[Bar]:
    """Many short rounds by turns, so that all see the same machine; the median of the rounds counts."""
    clusters = {
        "none": _cluster(NODES),
        "alike": _cluster(NODES, str(build.example("prefer_label"))),
        "different": _cluster(NODES, str(build.wat("pod_node_name"))),
    }
    for cluster in clusters.values():
        _per_pod(cluster, 100)  # evaluates every node once
    spent: dict[str, list[float]] = {name: [] for name in clusters}
    for turn in range(ROUNDS):
        step(f"{NODES:,} nodes, {PODS:,} pods: round {turn + 1} of {ROUNDS}")
        for name, cluster in clusters.items():
            spent[name].append(_per_pod(cluster, PODS // ROUNDS))
    best = {name: statistics.median(seconds) for name, seconds in spent.items()}
    added = [with_plugin / without for with_plugin, without in zip(spent["alike"], spent["none"], strict=True)]
    yield Bar("one pod, built-in plugins, 5,000 nodes", best["none"] * 1e3, "ms", at_most=0.6)
    note = ", ".join(
        (
            f"{best['none'] * 1e6:.0f} µs without",
            f"{best['alike'] * 1e6:.0f} µs with",
            f"{best['different'] * 1e6:.0f} µs with one without signatures",
        )
    )
    more = 100 * (statistics.median(added) - 1)
    yield Bar("overhead of a wasm Score plugin that signs pods", more, "%", at_most=15, note=note)


def _growth() -> Iterator[Bar]:
    costs = {nodes: min(_per_pod(_cluster(nodes), 1000) for _ in range(2)) for nodes in (1000, 5000, 20_000)}
    ratio = costs[20_000] / costs[1000]
    note = ", ".join(f"{nodes:,} nodes: {cost * 1e6:.0f} µs" for nodes, cost in costs.items())
    yield Bar("a pod, 20,000 nodes against 1,000", ratio, "x", at_most=20, note=note)


def _many() -> Iterator[Bar]:
    before = resident()
    cluster = _cluster(NODES)
    for number in range(MANY_PODS):
        cluster.apply(labelled_pod(f"old-{number}", number % 100, node=f"node-{1 + number % NODES}"))
    gc.collect()
    memory = (resident() - before) / 1e9
    plain = _per_pod(cluster, 300)
    spread = _per_pod(cluster, 300, with_spread)
    together = _per_pod(cluster, 300, with_affinity)
    yield Bar("5,000 nodes and 100,000 pods: memory", memory, "GB", at_most=1.5)
    note = f"plain {plain * 1e6:.0f} µs, spread {spread * 1e6:.0f} µs, affinity {together * 1e6:.0f} µs"
    yield Bar("a pod with spread constraints against a plain one", spread / plain, "x", at_most=5, note=note)
    yield Bar("a pod with inter-pod affinity against a plain one", together / plain, "x", at_most=5)


def _cluster(nodes: int, guest: str = "") -> EmbeddedCluster:
    config = default_config()
    if guest:
        config = config.with_wasm_plugin("bench", guest)
    cluster = EmbeddedCluster(set_up(config))
    for number in range(1, nodes + 1):
        node = sample_cluster.node(number)
        capacity = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "500"}
        status = node["status"] | {"capacity": capacity, "allocatable": capacity}
        cluster.apply(node | {"status": status})
    return cluster


def _per_pod(
    cluster: EmbeddedCluster, pods: int, change: Callable[[dict[str, Any]], None] = lambda _spec: None
) -> float:
    """Seconds per scheduling attempt, from the queue to the bound pod, without reading manifests."""
    first = len(cluster.pods)
    for number in range(first, first + pods):
        manifest = labelled_pod(f"new-{number}", number % 20)
        change(manifest["spec"])
        cluster.apply(manifest)
    seconds: list[float] = []
    gc.collect()
    while True:
        began = time.perf_counter()
        attempt = cluster.scheduler.schedule_one()
        if attempt is None:
            break
        if not attempt.node:
            raise RuntimeError(attempt.message)
        seconds.append(time.perf_counter() - began)
    return statistics.fmean(seconds)


def labelled_pod(name: str, group: int, node: str = "") -> dict[str, Any]:
    manifest = sample_cluster.pod(name)
    spec = manifest["spec"] | {"schedulerName": "default-scheduler"}
    if node:
        spec["nodeName"] = node
    metadata = manifest["metadata"] | {"labels": {"app": f"app-{group}"}}
    return manifest | {"metadata": metadata, "spec": spec}


_SELECTOR: Mapping[str, Any] = {"matchLabels": {"app": "app-1"}}


def with_spread(spec: dict[str, Any]) -> None:
    spec["topologySpreadConstraints"] = [
        {
            "maxSkew": 1000,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": _SELECTOR,
        },
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": _SELECTOR,
        },
    ]


def with_affinity(spec: dict[str, Any]) -> None:
    term = {"labelSelector": _SELECTOR, "topologyKey": "topology.kubernetes.io/zone"}
    preferred = {"weight": 50, "podAffinityTerm": term | {"topologyKey": "kubernetes.io/hostname"}}
    spec["affinity"] = {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
        "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]},
    }
