"""Folded lists for readable output: pods by workload, nodes by name, pending pods by reason."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from kubewasp.wasm.hook_failures import without_prints

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kubewasp.simulation.result import PendingPod

FEW: Final = 3  # names that are listed, not folded
_SERIAL: Final = re.compile(r"-\d+$")
# Numbers of nodes in a message: "0/28 nodes are available", "24 Insufficient cpu".
_COUNT: Final = re.compile(r"(?<![\w./:-])\d+(?:/\d+)?(?= )")


def workload(pod: str, owner: str = "") -> str:
    """The name that folds a pod with its like: `default/web-*`. A bare pod without a number has its own."""
    stem = owner or _SERIAL.sub("", pod)
    return pod if stem == pod else f"{stem}-*"


def folded(pods: Iterable[tuple[str, str]]) -> list[str]:
    """Pods, given with their workloads: all of few, otherwise one text per workload such as `default/web-* (34)`."""
    listed = list(pods)
    if len(listed) <= FEW:
        return [pod for pod, _ in listed]
    groups: dict[str, list[str]] = {}
    for pod, owner in listed:
        groups.setdefault(workload(pod, owner), []).append(pod)
    largest_first = sorted(groups.items(), key=lambda item: -len(item[1]))
    return [f"{name} ({len(pods):,})" if len(pods) > 1 else pods[0] for name, pods in largest_first]


def shortened(names: Sequence[str], most: int) -> list[str]:
    """The first names, and the number of the others."""
    if len(names) <= most + 1:
        return list(names)
    return [*names[:most], f"… {len(names) - most:,} more"]


def by_reason(pending: Iterable[PendingPod]) -> list[tuple[str, list[PendingPod]]]:
    """Pending pods by reason, the most frequent first. Messages that differ in numbers of nodes only are one reason."""
    groups: dict[str, list[PendingPod]] = {}
    for pod in pending:
        groups.setdefault(_COUNT.sub("#", pod.message), []).append(pod)
    found = []
    for pods in groups.values():
        [(message, _), *others] = Counter(pod.message for pod in pods).most_common()
        found.append((f"{message} (other numbers for some)" if others else message, pods))
    return sorted(found, key=lambda item: -len(item[1]))


def node_pool(name: str) -> str:
    """The name that folds a node with its like: `spot-a1` and `spot-a2.internal` are `spot-*`."""
    stem = name.partition(".")[0].rpartition("-")[0]
    return f"{stem}-*" if stem else name


def node_pools(names: Iterable[str], most: int) -> dict[str, list[str]] | None:
    """Nodes by pool; None where names do not group them: one pool, or too many."""
    pools: dict[str, list[str]] = {}
    for name in names:
        pools.setdefault(node_pool(name), []).append(name)
    return pools if 1 < len(pools) <= most else None


def in_short(text: str) -> str:
    """The first line of a text such as an error with its stack trace; output of a guest is left out."""
    first, _, rest = without_prints(text).strip().partition("\n")
    return f"{first} …" if rest else first


def counted(count: int, noun: str) -> str:
    """`1 pod`, `2,000 pods`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
