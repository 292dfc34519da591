from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.k8s.selectors import EVERYTHING, LabelSelector, node_selector_terms
from kubewasp.state.label_masks import rows_matching_any, rows_matching_terms
from tests.plugins.building import make_node, make_table

if TYPE_CHECKING:
    from kubewasp.state.node_table import NodeTable

LABELS: list[dict[str, str]] = [{}, {"k": "1"}, {"k": "2", "l": "1"}, {"k": "10"}, {"l": "x"}, {"k": "text", "l": "2"}]


def table() -> NodeTable:
    return make_table(make_node(f"n{number}", labels) for number, labels in enumerate(LABELS))


_KEYS = st.sampled_from(["k", "l", "absent"])
_VALUES = st.lists(st.sampled_from(["1", "2", "3", "10", "x", "text", "nowhere"]), max_size=3)
_OPERATORS = st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Wrong"])
_EXPRESSIONS = st.lists(st.fixed_dictionaries({"key": _KEYS, "operator": _OPERATORS, "values": _VALUES}), max_size=3)
_FIELDS = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.just("metadata.name"),
            "operator": st.sampled_from(["In", "NotIn"]),
            "values": st.lists(st.sampled_from(["n1", "n2"]), min_size=1, max_size=2),
        }
    ),
    max_size=1,
)
_TERMS = st.lists(st.fixed_dictionaries({"matchExpressions": _EXPRESSIONS, "matchFields": _FIELDS}), max_size=3)


@given(_TERMS)
def test_columns_say_what_terms_say_of_each_node_without_its_name(written: list[dict[str, Any]]) -> None:
    nodes, terms = table(), node_selector_terms(written)
    rows = nodes.order()
    expected = [any(term.matches("", nodes.node(row).labels) for term in terms) for row in rows.tolist()]
    assert rows_matching_terms(nodes, terms, rows).tolist() == expected


def test_a_selector_without_requirements_matches_all_and_no_selector_none() -> None:
    nodes = table()
    rows = np.array([1, 3])
    assert rows_matching_any(nodes, [EVERYTHING.requirements], rows).tolist() == [True, True]
    assert rows_matching_any(nodes, [], rows).tolist() == [False, False]


def test_selectors_for_one_label_are_answered_together() -> None:
    nodes = table()
    selectors = [LabelSelector().with_values({"k": value}).requirements for value in ("1", "10", "nowhere")]
    assert rows_matching_any(nodes, selectors, nodes.order()).tolist() == [False, True, False, True, False, False]
