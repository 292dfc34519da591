"""Size of a sample of nodes, and the start of the next search.  HOT PATH (guard: make counts)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Smaller clusters are searched as a whole, and no sample is smaller.
MIN_NODES: Final = 100
_LEAST_PERCENTAGE: Final = 5


@dataclass(slots=True)
class Rotation:
    """Start of the next search in the order of nodes; shared by all profiles."""

    start: int = 0


def configured_share(nodes: int, percentage: int) -> int:
    """Feasible nodes wanted with `percentageOfNodesToScore` above 0."""
    return nodes if nodes < MIN_NODES else max(MIN_NODES, nodes * percentage // 100)


def adaptive_share(nodes: int) -> int:
    """Feasible nodes wanted by kube-scheduler without `percentageOfNodesToScore`: 50 %, less in large clusters."""
    return configured_share(nodes, max(_LEAST_PERCENTAGE, 50 - nodes // 125))
