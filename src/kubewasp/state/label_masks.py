"""Masks of the rows that match label selectors, computed from label columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kubewasp.state.columns import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from kubewasp.k8s.selectors import NodeSelectorTerm, Requirement
    from kubewasp.state.node_table import NodeTable

    Rows = NDArray[np.int64]
    Mask = NDArray[np.bool_]


def rows_matching_terms(table: NodeTable, terms: Iterable[NodeSelectorTerm], rows: Rows) -> Mask:
    """Whether the labels of each row's node match one of the terms. Node names are ignored."""
    return rows_matching_any(table, [term.expressions for term in terms if _can_match(term)], rows)


def rows_matching_any(table: NodeTable, selectors: Iterable[Sequence[Requirement]], rows: Rows) -> Mask:
    """Whether the labels of each row's node match one of the selectors.

    Selectors with an In requirement on one label, such as those of local volumes, are evaluated together.
    """
    mask = np.zeros(len(rows), np.bool_)
    wanted: dict[str, list[int]] = {}
    for requirements in selectors:
        alone = single_label(requirements)
        if alone is None:
            mask |= _rows_meeting(table, requirements, rows)
        else:
            column = table.label(alone.key)
            wanted.setdefault(alone.key, []).extend(column.find(value) for value in alone.values)
    for key, numbers in wanted.items():
        mask |= np.isin(table.label(key).ids[rows], numbers)
    return mask


def single_label(requirements: Sequence[Requirement]) -> Requirement | None:
    """The requirement of a selector that consists of one In requirement."""
    return requirements[0] if len(requirements) == 1 and requirements[0].operator == "In" else None


def _can_match(term: NodeSelectorTerm) -> bool:
    if term.invalid or not (term.expressions or term.fields):
        return False
    return all(requirement.matches({"metadata.name": ""}) for requirement in term.fields)


def _rows_meeting(table: NodeTable, requirements: Iterable[Requirement], rows: Rows) -> Mask:
    mask = np.ones(len(rows), np.bool_)
    for requirement in requirements:
        column = table.label(requirement.key)
        numbers = column.ids[rows]
        if requirement.operator in ("In", "NotIn"):
            found = np.isin(numbers, [column.find(value) for value in requirement.values])
            mask &= found if requirement.operator == "In" else ~found
        elif requirement.operator in ("Exists", "DoesNotExist"):
            mask &= (numbers == ABSENT) == (requirement.operator == "DoesNotExist")
        else:
            verdicts = [requirement.matches({requirement.key: value}) for value in column.values]
            mask &= np.array(verdicts, np.bool_)[numbers]
    return mask
