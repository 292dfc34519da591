"""Texts of hints that several plugins share: selectors in the form of kubectl, labels that a node lacks, names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.selectors import LabelSelector, NodeSelectorTerm, Requirement
    from kubewasp.state.node_table import NodeTable

_MOST: Final = 3
_SIGNS: Final = {"Gt": ">", "Lt": "<"}


def few(names: Iterable[str], most: int = _MOST) -> str:
    """The first names, and the number of the others."""
    listed = list(names)
    more = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {more} more" if more > 0 else "")


def selector_text(selector: LabelSelector | None) -> str:
    """For example `app=web,tier in (a, b),!spot`; `any labels` for an empty selector."""
    if selector is None:
        return "no labels"
    return ",".join(map(requirement_text, selector.requirements)) or "any labels"


def requirement_text(requirement: Requirement) -> str:
    key, operator, values = requirement.key, requirement.operator, requirement.values
    if operator == "Exists":
        return key
    if operator == "DoesNotExist":
        return f"!{key}"
    if operator in _SIGNS:
        return f"{key}{_SIGNS[operator]}{values[0]}"
    if len(values) == 1:
        return f"{key}{'=' if operator == 'In' else '!='}{values[0]}"
    return f"{key} {'in' if operator == 'In' else 'not in'} ({few(values)})"


def lacking(requirement: Requirement, labels: Mapping[str, str]) -> str:
    """The label that would meet a requirement, with the present value if there is another one."""
    key, value = requirement.key, labels.get(requirement.key)
    if requirement.operator == "DoesNotExist":
        return f"no label {key}"
    if requirement.operator == "NotIn":
        return f"label {key} other than {value}"
    present = "" if value is None else f" (is {value or 'empty'})"
    return f"label {requirement_text(requirement)}{present}"


def labels_lacking(terms: Sequence[NodeSelectorTerm], node: Node) -> list[str]:
    """The unmet requirements of the term that the node is nearest to; terms are alternatives."""
    unmet = [_unmet(term, node) for term in terms]
    found = min((texts for texts in unmet if texts), key=len, default=[])
    others = sum(bool(texts) for texts in unmet) - 1
    if found and others > 0:
        found[-1] += f", or another of {len(unmet)} terms"
    return found


def _unmet(term: NodeSelectorTerm, node: Node) -> list[str]:
    if term.invalid:
        return [f"a valid term: {term.invalid}"]
    texts = [lacking(item, node.labels) for item in term.expressions if not item.matches(node.labels)]
    fields = {"metadata.name": node.name}
    texts += [requirement_text(item) for item in term.fields if not item.matches(fields)]
    return texts


def domain_text(table: NodeTable, key: str, row: int) -> str:
    """The topology domain of a row, such as `topology.kubernetes.io/zone=a`."""
    return f"{key}={table.node(row).labels.get(key, '')}"
