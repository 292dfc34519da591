"""Texts for unschedulable pods, identical to kube-scheduler's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kubewasp.framework.status import Status

NO_NODES = "no nodes available to schedule pods"


def fit_error(total: int, reasons: Mapping[str, int], *, pre_filter: str = "", post_filter: str = "") -> str:
    """`0/N nodes are available: …`: the reason of PreFilter, or each reason with its number of nodes."""
    text = f"0/{total} nodes are available:"
    if pre_filter:
        text += f" {pre_filter}."
    elif reasons:
        # Sorted as texts: "10 x" precedes "2 y".
        text += f" {', '.join(sorted(f'{count} {reason}' for reason, count in reasons.items()))}."
    if post_filter:
        text += f" {post_filter}"
    return text


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
