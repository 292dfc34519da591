"""Row cache: updates of changed rows, and eviction."""

from typing import Any

import pytest

from kubewasp.state.row_cache import RowCache
from tests.plugins.building import make_node, make_pod, make_table


def test_only_rows_that_changed_are_computed_again() -> None:
    table = make_table(make_node(f"n{number}") for number in range(10))
    asked: list[list[int]] = []

    def compute(rows: Any) -> Any:
        asked.append(rows.tolist())
        return table.pod_count[rows]

    for _ in range(2):
        table.cache.get("key", compute)
    table.add_pod(make_pod(node="n3"))
    assert table.cache.get("key", compute)[3] == 1
    assert asked == [list(range(10)), [3]]


def test_what_depends_on_nodes_only_is_not_computed_again_for_pods() -> None:
    table = make_table(make_node(f"n{number}") for number in range(10))
    asked: list[list[int]] = []

    def compute(rows: Any) -> Any:
        asked.append(rows.tolist())
        return table.max_pods[rows]

    table.cache.get("key", compute, of_nodes=True)
    table.add_pod(make_pod(node="n3"))
    table.cache.get("key", compute, of_nodes=True)
    table.put_node(make_node("n4", pods="7"))
    assert table.cache.get("key", compute, of_nodes=True)[4] == 7
    assert asked == [list(range(10)), [4]]


def test_the_entry_that_was_not_asked_for_longest_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowCache, "_MOST", 2)
    table = make_table([make_node("n")])
    asked: list[str] = []

    def get(key: str) -> None:
        def compute(rows: Any) -> Any:
            asked.append(key)
            return table.max_pods[rows]

        table.cache.get(key, compute)

    for key in "abacab":
        get(key)
    assert asked == ["a", "b", "c", "b"]
