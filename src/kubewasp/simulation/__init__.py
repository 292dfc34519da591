"""Scheduling on a cluster in memory: manifests, controllers, scenarios and simulated time.

Public: the names in `__all__`. The modules of this package are private.

>>> from kubewasp.simulation import simulate                           # doctest: +SKIP
>>> simulate(["cluster.yaml", "pods/"]).node_of("default/web-0")       # doctest: +SKIP
'node-7'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from kubewasp.simulation.python_api import (
        Comparison,
        ErrorCause,
        MovedPod,
        NodeUsage,
        PendingPod,
        Placement,
        PreemptedPod,
        SimulationResult,
        Utilization,
        compare,
        simulate,
    )


def __getattr__(name: str) -> object:
    """Import on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kubewasp.simulation import python_api

    return getattr(python_api, name)
