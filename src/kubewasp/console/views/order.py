"""Order and selection of the nodes of a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kubewasp.console.decision_grid import FEASIBLE

if TYPE_CHECKING:
    from kubewasp.console.decision_grid import DecisionGrid

TOTAL, NAME = "total", "name"
ALL: Final = ("", "feasible", "rejected")


def sorted_places(grid: DecisionGrid, *, sort: str, only: str) -> list[int]:
    """Places of the nodes: the best first, by name, or by the score of a plugin; all, feasible or rejected ones."""
    order = grid.order
    if sort == NAME:
        order = np.array(sorted(range(len(grid.names)), key=grid.names.__getitem__), np.int64)
    elif sort != TOTAL and sort in grid.scores:
        scores = np.where(grid.is_scored, grid.scores[sort].normalized, -1)
        order = order[np.argsort(-scores[order], kind="stable")]
    elif sort != TOTAL and sort in grid.objections:
        order = order[np.argsort(grid.objections[sort][order] == 0, kind="stable")]
    if only:
        is_feasible = grid.status[order] == FEASIBLE
        order = order[is_feasible if only == "feasible" else ~is_feasible]
    found: list[int] = order.tolist()
    return found
