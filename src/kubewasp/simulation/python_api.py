"""Simulation from Python: one call with manifests and a configuration, one result."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.k8s.manifests import load, taken_apart
from kubewasp.scheduler.configuration import AddedPlugin, configure
from kubewasp.simulation import loading
from kubewasp.simulation.simulator import filled_cluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kubewasp.simulation.embedded_cluster import EmbeddedCluster
    from kubewasp.simulation.loading import ClusterInput


@dataclass(frozen=True, slots=True)
class Placement:
    """A pod (`namespace/name`) bound to a node, with the time in simulated seconds."""

    pod: str
    node: str
    at: float


@dataclass(frozen=True, slots=True)
class PendingPod:
    """A pod (`namespace/name`) without a node, with the message of its last scheduling attempt."""

    pod: str
    message: str


@dataclass(frozen=True, slots=True)
class PreemptedPod:
    """A pod (`namespace/name`) preempted on a node, and its preemptor."""

    pod: str
    by: str
    node: str


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """Result of a simulation. `placements` are those at the end, in the order of binding."""

    placements: tuple[Placement, ...]
    pending: tuple[PendingPod, ...]
    preempted: tuple[PreemptedPod, ...]
    warnings: tuple[str, ...]
    simulated_seconds: float

    def node_of(self, pod: str) -> str | None:
        """The node of a pod (`namespace/name`), None if it has none."""
        return next((placement.node for placement in self.placements if placement.pod == pod), None)


def simulate(
    manifests: Iterable[str | os.PathLike[str] | Mapping[str, object]],
    *,
    config: str | os.PathLike[str] | None = None,
    plugins: Mapping[str, str] | None = None,
    plugin_configs: Mapping[str, str] | None = None,
    seed: int = 0,
    real_entropy: bool = False,
    start_time: float | None = None,
    strict: bool = False,
) -> SimulationResult:
    """Schedules the pods of the manifests on their nodes, in memory, until nothing changes.

    Manifests are files, folders, or objects. `config` is a file with a KubeSchedulerConfiguration. `plugins` adds wasm
    plugins by name (a path or an address each), `plugin_configs` are their `guestConfig`. `start_time` is the
    wall-clock time at the start, in seconds since 1970; by default now. Guests get random numbers from `seed` and the
    simulated clock, with `real_entropy` those of this machine. With `strict`, unknown fields and kinds in manifests are
    errors instead of warnings.

    >>> result = simulate(["cluster.yaml"], plugins={"nodenumber": "nodenumber.wasm"})  # doctest: +SKIP
    >>> result.node_of("default/web-0")                                                 # doctest: +SKIP
    'node-7'
    """
    path = None if config is None else Path(config)
    added = [AddedPlugin(name, guest) for name, guest in (plugins or {}).items()]
    settings, names = configure(path, added, plugin_configs, option="plugin_configs:")
    found = _read(manifests)
    if strict:
        found.mistakes.raise_if_any()
    cluster, warnings = filled_cluster(
        settings, names, found, seed=seed, real_entropy=real_entropy, start_time=start_time
    )
    cluster.settle()
    return _result(cluster, tuple(warnings))


def _read(manifests: Iterable[str | os.PathLike[str] | Mapping[str, object]]) -> ClusterInput:
    found = loading.ClusterInput()
    for number, given in enumerate(manifests, start=1):
        if isinstance(given, str | os.PathLike):
            for file in loading.files(Path(given)):
                for manifest in load(file):
                    loading.add(found, manifest)
        else:
            for manifest in taken_apart(dict(given), f"manifest {number}"):
                loading.add(found, manifest)
    return found


def _result(cluster: EmbeddedCluster, warnings: tuple[str, ...]) -> SimulationResult:
    there = {pod.uid: pod for pod in cluster.pods.values()}
    return SimulationResult(
        placements=tuple(Placement(pod.key, pod.node, at) for at, pod in cluster.objects.bindings if pod.uid in there),
        pending=tuple(PendingPod(pod.key, cluster.why_pending(pod)) for pod in there.values() if not pod.node),
        preempted=tuple(PreemptedPod(item.pod.key, item.by.key, item.node) for item in cluster.objects.preemptions),
        warnings=warnings,
        simulated_seconds=cluster.clock.now(),
    )
