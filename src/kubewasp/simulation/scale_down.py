"""Order in which controllers remove pods when they are scaled down.

As in Kubernetes: a StatefulSet removes the highest ordinals. Others remove pods without a node first, then unready
ones, those with the lowest `pod-deletion-cost`, those that share their node with most of their like, and the newest.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.k8s.pods import Pod

_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_LONGEST_COST: Final = 11  # characters of a 32-bit number


def removed_last_first(kind: str, pods: Sequence[Pod], costs: Mapping[str, int]) -> list[Pod]:
    """The pods of a controller, the first to be removed at the end. `costs` are their deletion costs by uid."""
    if kind == "StatefulSet":
        return sorted(pods, key=lambda pod: _ordinal(pod.name))
    alike = _ranks(pods)
    order = sorted(
        enumerate(pods),
        key=lambda item: (
            not item[1].node,
            item[1].is_unready,
            -costs.get(item[1].uid, 0),
            alike[item[1].uid],
            item[1].created,
            item[0],  # created at the same time: the later one is the newer one
        ),
    )
    return [pod for _, pod in order]


def deletion_cost(manifest: Mapping[str, Any]) -> int:
    """The deletion cost of a pod; 0 for an invalid one."""
    written = (manifest["metadata"].get("annotations") or {}).get(_COST) or ""
    with contextlib.suppress(ValueError):
        if len(written) <= _LONGEST_COST:
            return int(written)
    return 0


def _ranks(pods: Sequence[Pod]) -> dict[str, int]:
    """Numbers of pods on the same node, by uid."""
    on_node = Counter(pod.node for pod in pods if pod.node)
    return {pod.uid: on_node[pod.node] for pod in pods}


def _ordinal(name: str) -> int:
    number = name.rpartition("-")[2]
    return int(number) if number.isascii() and number.isdigit() and len(number) <= 10 else 0
