"""Changes that would help a pending pod: the hints of plugins on single nodes, put together over nodes."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from kubewasp.k8s import quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.console.study import StudiedDecision

_MOST: Final = 3
_AMOUNT: Final = re.compile(r"\b\d+(?:\.\d+)?(?:[numkMGTPE]i?|Ki)?\b")


def help_texts(decision: StudiedDecision) -> list[str]:
    """For example `2 more nvidia.com/gpu on any of 12 nodes`; what needs the fewest changes first."""
    if decision.node:
        return [f"nothing: it fits on {decision.node}, and waits for its next attempt"]
    grid = decision.grid
    by_change: dict[tuple[str, ...], list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for place, hints in grid.hints.items():
        if hints:
            texts = tuple(dict.fromkeys(hints))
            by_change[tuple(_AMOUNT.sub("#", text) for text in texts)].append((texts, grid.names[place]))
    is_part = sum(map(len, by_change.values())) < len(grid.names) - grid.feasible
    ranked = sorted(by_change.values(), key=lambda found: (len(found[0][0]), -len(found)))
    found = [_text(nodes, is_part=is_part) for nodes in ranked[:_MOST]]
    if decision.victims and decision.nominated_node:
        number = len(decision.victims)
        gone = f"{number} pods are" if number > 1 else "1 pod is"
        found.insert(0, f"nothing: it will have room on {decision.nominated_node} once {gone} preempted")
    return found


def _text(found: Sequence[tuple[tuple[str, ...], str]], *, is_part: bool) -> str:
    """One change: the least of those that differ in amounts."""
    texts, node = min(found, key=lambda item: tuple(map(_size, item[0])))
    alike = sum(other == texts for other, _ in found)
    change = " and ".join(texts)
    where = f"any of {alike:,} nodes" if alike > 1 else node
    others = len(found) - alike
    if others:
        where += f", or larger amounts on {others:,} other nodes"
    elif alike > 1 and is_part:
        where += " that are nearest to it"
    return f"{change} on {where}"


def _size(text: str) -> tuple[float, ...]:
    return tuple(_number(amount) for amount in _AMOUNT.findall(text))


def _number(text: str) -> float:
    try:
        return quantity.parse(text).nanos / 1e9
    except ValueError:
        return 0.0
