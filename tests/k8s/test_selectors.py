"""Label selectors and node selector terms."""

from typing import Any

import pytest

from kubewasp.k8s.selectors import (
    EVERYTHING,
    LabelSelector,
    Requirement,
    SelectorError,
    label_selector,
    map_selector,
    node_selector_term,
    node_selector_terms,
    valid_label_selector,
)

LABELS = {"zone": "a", "size": "10", "empty": ""}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("key", "operator", "values", "matches"),
    [
        ("zone", "In", ("a", "b"), True),
        ("zone", "In", ("b",), False),
        ("other", "In", ("a",), False),
        ("zone", "NotIn", ("a",), False),
        ("zone", "NotIn", ("b",), True),
        ("other", "NotIn", ("a",), True),
        ("zone", "Exists", (), True),
        ("empty", "Exists", (), True),
        ("other", "Exists", (), False),
        ("zone", "DoesNotExist", (), False),
        ("other", "DoesNotExist", (), True),
    ],
)
def test_operators_of_both_kinds_of_selectors(key: str, operator: str, values: tuple[str, ...], matches: bool) -> None:
    item = expression(key, operator, *values)
    selector = label_selector({"matchExpressions": [item]})
    assert selector is not None
    assert selector.matches(LABELS) is matches
    assert node_selector_term({"matchExpressions": [item]}).matches("n", LABELS) is matches


@pytest.mark.parametrize(
    ("key", "operator", "value", "matches"),
    [
        ("size", "Gt", "9", True),
        ("size", "Gt", "10", False),
        ("size", "Lt", "11", True),
        ("size", "Lt", "10", False),
        ("size", "Gt", "-1", True),
        ("size", "Gt", "0" * 900 + "9", True),
        ("size", "Gt", "+9", True),
        ("zone", "Gt", "1", False),
        ("zone", "Lt", "1", False),
        ("other", "Lt", "1", False),
        ("empty", "Lt", "1", False),
    ],
)
def test_greater_and_less_compare_whole_numbers(key: str, operator: str, value: str, matches: bool) -> None:
    term = node_selector_term({"matchExpressions": [expression(key, operator, value)]})
    assert not term.invalid
    assert term.matches("n", LABELS) is matches


def test_numbers_are_decimal_and_have_64_bits() -> None:
    term = node_selector_term({"matchExpressions": [expression("size", "Gt", "0")]})
    assert not term.matches("n", {"size": str(2**63)})
    assert term.matches("n", {"size": str(2**63 - 1)})
    for text in ("0x10", "1_0", " 1", "1.0", "٣"):
        assert not term.matches("n", {"size": text})


def test_no_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert label_selector(None) is None
    empty = label_selector({})
    assert empty == EVERYTHING
    assert empty is not None
    assert empty.is_empty
    assert empty.matches({})


def test_labels_and_expressions_must_all_hold() -> None:
    selector = label_selector({"matchLabels": {"zone": "a"}, "matchExpressions": [expression("size", "Exists")]})
    assert selector is not None
    assert not selector.is_empty
    assert selector.matches(LABELS)
    assert not selector.matches({"zone": "a"})
    assert not selector.matches({"zone": "b", "size": "1"})


@pytest.mark.parametrize(
    "item",
    [
        expression("a", "In"),
        expression("a", "NotIn"),
        expression("a", "Exists", "x"),
        expression("a", "DoesNotExist", "x"),
        expression("a", "Gt", "1"),
        expression("a", "Nonsense", "1"),
        {"key": "a"},
    ],
)
def test_a_selector_with_a_wrong_operator_or_wrong_values_cannot_be_parsed(item: dict[str, Any]) -> None:
    with pytest.raises(SelectorError, match="a: "):
        label_selector({"matchExpressions": [item]})
    assert valid_label_selector({"matchExpressions": [item]}) is None


@pytest.mark.parametrize(
    "term",
    [
        {"matchExpressions": [expression("zone", "In")]},
        {"matchExpressions": [expression("zone", "Exists", "a")]},
        {"matchExpressions": [expression("size", "Gt")]},
        {"matchExpressions": [expression("size", "Gt", "1", "2")]},
        {"matchExpressions": [expression("size", "Lt", "many")]},
        {"matchExpressions": [expression("zone", "In", "a"), expression("zone", "Nonsense", "a")]},
        {"matchFields": [expression("metadata.name", "In", "n", "m")]},
        {"matchFields": [expression("metadata.name", "Exists")]},
        {"matchFields": [expression("metadata.name", "Gt", "1")]},
    ],
)
def test_a_term_that_cannot_be_parsed_never_matches(term: dict[str, Any]) -> None:
    parsed = node_selector_term(term)
    assert parsed.invalid
    assert not parsed.matches("n", LABELS)


def test_an_empty_term_matches_nothing() -> None:
    for term in ({}, {"matchExpressions": [], "matchFields": None}):
        assert not node_selector_term(term).matches("n", LABELS)


def test_expressions_and_fields_of_a_term_must_all_hold() -> None:
    term = node_selector_term(
        {
            "matchExpressions": [expression("zone", "In", "a"), expression("size", "Exists")],
            "matchFields": [expression("metadata.name", "In", "n")],
        }
    )
    assert term.matches("n", LABELS)
    assert not term.matches("m", LABELS)
    assert not term.matches("n", {"zone": "a"})


def test_fields_may_be_negated() -> None:
    term = node_selector_term({"matchFields": [expression("metadata.name", "NotIn", "n")]})
    assert not term.matches("n", {})
    assert term.matches("m", {})
    assert term.names() is None


def test_the_names_that_a_term_leaves() -> None:
    def fields(*names: str) -> dict[str, Any]:
        return {"matchFields": [expression("metadata.name", "In", name) for name in names]}

    found = [term.names() for term in node_selector_terms([fields("n"), fields("n", "m"), {}])]
    assert found == [{"n"}, frozenset(), None]


def test_a_plain_map_asks_for_each_label_with_its_value() -> None:
    selector = map_selector({"b": "2", "a": "1"})
    assert selector == LabelSelector((Requirement("a", "In", ("1",)), Requirement("b", "In", ("2",))))
    assert map_selector({}).matches({})


def test_values_can_be_added_to_a_selector() -> None:
    selector = map_selector({"a": "1"}).with_values({"b": "2"})
    assert selector.matches({"a": "1", "b": "2"})
    assert not selector.matches({"a": "1", "b": "3"})


@pytest.mark.parametrize("operator", ["Gt", "Lt"])
def test_thousands_of_digits_are_no_integer(operator: str) -> None:
    large = node_selector_term({"matchExpressions": [expression("size", operator, "9" * 5000)]})
    assert large.invalid
    small = node_selector_term({"matchExpressions": [expression("size", operator, "1")]})
    assert not small.matches("node", {"size": "9" * 5000})
