"""Pod index: counts by labels and by affinity terms, per row."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.state import pod_index
from kubewasp.state.pod_index import PodIndex, RowCounts
from tests.plugins.building import ZONE, affinity, make_pod, term

WEB = {"app": "web"}


def is_web(_namespace: str, labels: Mapping[str, str]) -> bool:
    return labels.get("app") == "web"


def an_index(capacity: int = 4) -> PodIndex:
    index = PodIndex()
    index.grow(capacity)
    return index


# ---------------------------------------------------------------------- counts by row


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(1, 3)), max_size=120), st.integers(0, 3))
def test_counts_are_the_same_however_many_rows_there_are(changes: list[tuple[int, int]], keep: int) -> None:
    """A dictionary becomes a column on the way; the columns grow while it is filled."""
    counts, expected, capacity = RowCounts(), dict.fromkeys(range(100), 0), 100
    for place, (row, amount) in enumerate(changes):
        counts.add(row, amount, capacity)
        expected[row] += amount
        if place % 40 == 39:
            capacity += 50
            counts.grow(capacity)
    for row, amount in changes[keep:]:
        counts.add(row, -amount, capacity)
        expected[row] -= amount
    wanted = {row: amount for row, amount in expected.items() if amount}
    column = np.zeros(capacity, np.int32)
    counts.add_to(column)
    assert {row: int(column[row]) for row in np.flatnonzero(column).tolist()} == wanted
    assert set(counts.rows().tolist()) == set(wanted)
    assert counts.of(np.arange(100)).tolist() == list(expected.values())
    assert bool(counts) is bool(wanted)


# ---------------------------------------------------------------------- queries


def test_a_query_counts_pods_that_were_there_and_those_that_come_and_go() -> None:
    index = an_index()
    pods = [make_pod(labels=WEB) for _ in range(3)]
    index.count(0, pods[0], 1)
    found = index.counts("web", is_web, with_terminating=True)
    index.count(1, pods[1], 1)
    index.count(1, pods[2], 1)
    index.count(1, make_pod(labels={"app": "db"}), 1)
    assert found[:4].tolist() == [1, 2, 0, 0]
    for pod, row in zip(pods, (0, 1, 1), strict=True):
        index.count(row, pod, -1)
    assert not found.any()


@pytest.mark.parametrize("with_terminating", [True, False])
def test_terminating_pods_count_where_they_are_asked_for(with_terminating: bool) -> None:
    index = an_index()
    before, after = make_pod(labels=WEB, terminating=True), make_pod(labels=WEB, terminating=True)
    index.count(0, before, 1)
    found = index.counts("web", is_web, with_terminating=with_terminating)
    index.count(0, after, 1)
    index.count(0, make_pod(labels=WEB), 1)
    assert found[0] == 1 + 2 * with_terminating


def test_pods_are_told_apart_by_namespace() -> None:
    index = an_index()
    found = index.counts("ns", lambda namespace, _labels: namespace == "ns", with_terminating=True)
    index.count(0, make_pod(labels=WEB, namespace="ns"), 1)
    index.count(0, make_pod(labels=WEB), 1)
    assert found[0] == 1


def test_a_predicate_is_asked_once_for_pods_that_are_alike() -> None:
    index = an_index()
    asked: list[Any] = []
    index.counts("all", lambda namespace, labels: not asked.append((namespace, labels)), with_terminating=True)
    for row in range(4):
        index.count(row, make_pod(labels=WEB), 1)
    assert len(asked) == 1


def test_equal_labels_of_another_mapping_are_the_same_kind() -> None:
    index = an_index()
    one, other = make_pod(labels=WEB), make_pod(labels=WEB)
    object.__setattr__(other, "labels", dict(WEB))
    found = index.counts("web", is_web, with_terminating=True)
    index.count(0, one, 1)
    index.count(0, other, 1)
    index.count(0, one, -1)
    index.count(0, other, -1)
    assert found[0] == 0


def test_a_query_that_is_dropped_is_answered_again_from_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_index, "_MOST_QUERIES", 1)
    index = an_index()
    index.count(0, make_pod(labels=WEB), 1)
    index.counts("web", is_web, with_terminating=True)
    index.counts("none", lambda _namespace, _labels: False, with_terminating=True)
    index.count(1, make_pod(labels=WEB), 1)
    assert index.counts("web", is_web, with_terminating=True)[:2].tolist() == [1, 1]


def test_columns_grow() -> None:
    index = an_index()
    index.count(0, make_pod(labels=WEB), 1)
    index.counts("web", is_web, with_terminating=True)
    index.grow(40)
    index.count(39, make_pod(labels=WEB), 1)
    found = index.counts("web", is_web, with_terminating=True)
    assert (len(found), found[0], found[39]) == (40, 1, 1)


def test_columns_grow_under_pods_that_are_many() -> None:
    index = an_index(40)
    for row in range(40):
        index.count(row, make_pod(labels=WEB, affinity=affinity(anti=[term(ZONE, WEB)])), 1)
    index.grow(80)
    index.count(79, make_pod(labels=WEB, affinity=affinity(anti=[term(ZONE, WEB)])), 1)
    found = index.counts("web", is_web, with_terminating=True)
    assert (len(found), int(found.sum()), found[79]) == (80, 41, 1)
    assert [len(counts.rows()) for counts in index.with_affinity.values()] == [41]


# ---------------------------------------------------------------------- affinity


def test_pods_with_the_same_terms_are_counted_together_and_forgotten_with_the_last() -> None:
    index = an_index()
    apart = affinity(anti=[term(ZONE, WEB)])
    one, other = make_pod(affinity=apart), make_pod(affinity=apart, priority=5)
    versions = [index.affinity_version]
    for row, pod, sign in ((0, one, 1), (2, other, 1), (0, one, -1), (2, other, -1)):
        index.count(row, pod, sign)
        versions.append(index.affinity_version)
    assert index.with_affinity == {}
    assert [later > earlier for earlier, later in itertools.pairwise(versions)] == [True, False, False, True]
    index.count(1, other, 1)
    index.count(1, make_pod(), 1)
    assert [counts.rows().tolist() for counts in index.with_affinity.values()] == [[1]]
