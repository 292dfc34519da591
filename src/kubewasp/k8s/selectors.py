"""Label selectors and node selectors, parsed once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubewasp.errors import KubewaspError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_INTEGER = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = 1000  # leading zeros included; Python reads no more than 4300


class SelectorError(KubewaspError, ValueError):
    """An invalid selector."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        if self.operator == "In":
            return value is not None and value in self.values
        if self.operator == "NotIn":
            return value is None or value not in self.values
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        if value is None:
            return False
        found, wanted = _int64(value), _int64(self.values[0])
        if found is None or wanted is None:
            return False
        return found > wanted if self.operator == "Gt" else found < wanted


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Requirements that are ANDed; an empty selector matches everything, None in its place matches nothing."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.matches(labels) for requirement in self.requirements)

    @property
    def is_empty(self) -> bool:
        return not self.requirements

    def with_values(self, values: Mapping[str, str]) -> LabelSelector:
        """The selector with further requirements: each label has its value."""
        more = tuple(Requirement(key, "In", (value,)) for key, value in values.items())
        return LabelSelector(self.requirements + more)


EVERYTHING = LabelSelector()


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """Requirements on labels and fields, ANDed. An invalid term never matches."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
    invalid: str = ""

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        if self.invalid or not (self.expressions or self.fields):
            return False
        return all(r.matches(labels) for r in self.expressions) and all(
            r.matches({"metadata.name": name}) for r in self.fields
        )

    def names(self) -> frozenset[str] | None:
        """The node names of a `metadata.name In` requirement."""
        named = [frozenset(r.values) for r in self.fields if r.key == "metadata.name" and r.operator == "In"]
        return frozenset.intersection(*named) if named else None


def label_selector(value: Mapping[str, Any] | None) -> LabelSelector | None:
    """A metav1.LabelSelector; None stays None and matches nothing. SelectorError if it is invalid."""
    if value is None:
        return None
    found = [Requirement(key, "In", (text,)) for key, text in sorted((value.get("matchLabels") or {}).items())]
    found += [_requirement(item, numeric=False) for item in value.get("matchExpressions") or ()]
    return LabelSelector(tuple(found))


def valid_label_selector(value: Mapping[str, Any] | None) -> LabelSelector | None:
    """The same, for objects whose invalid selectors match nothing."""
    try:
        return label_selector(value)
    except SelectorError:
        return None


def map_selector(values: Mapping[str, str]) -> LabelSelector:
    """The selector of a plain map of labels."""
    return LabelSelector(tuple(Requirement(key, "In", (value,)) for key, value in sorted(values.items())))


def node_selector_terms(terms: Sequence[Mapping[str, Any]]) -> tuple[NodeSelectorTerm, ...]:
    return tuple(node_selector_term(term) for term in terms)


def node_selector_term(term: Mapping[str, Any]) -> NodeSelectorTerm:
    try:
        expressions = tuple(_requirement(item, numeric=True) for item in term.get("matchExpressions") or ())
        fields = tuple(_field_requirement(item) for item in term.get("matchFields") or ())
    except SelectorError as error:
        return NodeSelectorTerm(invalid=str(error))
    return NodeSelectorTerm(expressions, fields)


def _requirement(item: Mapping[str, Any], *, numeric: bool) -> Requirement:
    key, operator = item.get("key") or "", item.get("operator") or ""
    values = tuple(item.get("values") or ())
    if operator in ("In", "NotIn"):
        if not values:
            raise SelectorError(f"{key}: {operator} needs at least one value")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            raise SelectorError(f"{key}: {operator} takes no values")
    elif numeric and operator in ("Gt", "Lt"):
        if len(values) != 1 or _int64(values[0]) is None:
            raise SelectorError(f"{key}: {operator} needs exactly one integer")
    else:
        raise SelectorError(f"{key}: unknown operator {operator!r}")
    return Requirement(key, operator, values)


def _field_requirement(item: Mapping[str, Any]) -> Requirement:
    found = _requirement(item, numeric=False)
    if found.operator not in ("In", "NotIn") or len(found.values) != 1:
        raise SelectorError(f"{found.key}: a field takes In or NotIn with exactly one value")
    return found


def _int64(text: str) -> int | None:
    if not _INTEGER.fullmatch(text) or len(text) > _MOST_DIGITS:
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None
