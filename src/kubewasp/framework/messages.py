"""Texts for unschedulable pods, identical to kube-scheduler's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewasp.k8s.texts import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kubewasp.framework.status import Status

NO_NODES = "no nodes available to schedule pods"
# Bytes of a message, which becomes a condition of the pod. kube-scheduler's own texts are far below.
MAX_MESSAGE: Final = 32 * 1024


def fit_error(total: int, reasons: Mapping[str, int], *, pre_filter: str = "", post_filter: str = "") -> str:
    """`0/N nodes are available: …`: the reason of PreFilter, or each reason with its number of nodes."""
    text = f"0/{total} nodes are available:"
    if pre_filter:
        text += f" {pre_filter}."
    elif reasons:
        # Sorted as texts: "10 x" precedes "2 y".
        text += f" {_joined(sorted(f'{count} {reason}' for reason, count in reasons.items()))}."
    if post_filter:
        text += f" {post_filter}"
    return shortened(text, MAX_MESSAGE)


def _joined(parts: Sequence[str]) -> str:
    """The parts, up to half of a message, with the number of those left out."""
    left, shown = MAX_MESSAGE // 2, 0
    while shown < len(parts) and len(parts[shown]) <= left:
        left -= len(parts[shown]) + 2
        shown += 1
    if shown == len(parts):
        return ", ".join(parts)
    shown = max(shown, 1)
    first = [shortened(part, MAX_MESSAGE // 2) for part in parts[:shown]]
    return ", ".join([*first, f"{len(parts) - shown} more reasons"] if len(parts) > shown else first)


def invalid_score(plugin: str, score: int, lowest: int, highest: int) -> str:
    return (
        f'plugin "{plugin}" returns an invalid score {score}, it should in the range of [{lowest}, {highest}] '
        "after normalizing"
    )


def histogram(statuses: Iterable[tuple[Status, int]]) -> dict[str, int]:
    """The number of nodes per reason; a node may have several."""
    counts: dict[str, int] = {}
    for status, times in statuses:
        for reason in status.reasons:
            counts[reason] = counts.get(reason, 0) + times
    return counts
