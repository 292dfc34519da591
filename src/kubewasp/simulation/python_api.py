"""Simulation from Python: one call with manifests and a configuration, one result."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.k8s.manifests import taken_apart
from kubewasp.scheduler.configuration import AddedPlugin, configure
from kubewasp.simulation import loading
from kubewasp.simulation.comparison import Comparison, MovedPod, compare
from kubewasp.simulation.error_log import ErrorLog
from kubewasp.simulation.result import (
    ErrorCause,
    NodeUsage,
    PendingPod,
    Placement,
    PreemptedPod,
    SimulationResult,
    Utilization,
    usage,
)
from kubewasp.simulation.simulator import ended, filled_cluster
from kubewasp.state.node_table import NodeTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kubewasp.simulation.loading import ClusterInput

__all__ = [
    "Comparison",
    "ErrorCause",
    "MovedPod",
    "NodeUsage",
    "PendingPod",
    "Placement",
    "PreemptedPod",
    "SimulationResult",
    "Utilization",
    "compare",
    "simulate",
]


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
    table = NodeTable()
    errors = ErrorLog(table)
    cluster, warnings = filled_cluster(
        settings,
        names,
        found,
        seed=seed,
        real_entropy=real_entropy,
        start_time=start_time,
        table=table,
        listeners=[errors],
    )
    before = usage(cluster)
    cluster.settle()
    return ended(cluster, errors, before=before, warnings=warnings)


def _read(manifests: Iterable[str | os.PathLike[str] | Mapping[str, object]]) -> ClusterInput:
    found = loading.ClusterInput()
    for number, given in enumerate(manifests, start=1):
        if isinstance(given, str | os.PathLike):
            loading.add_files(found, Path(given))
        else:
            for manifest in taken_apart(dict(given), f"manifest {number}"):
                loading.add(found, manifest)
    return found
