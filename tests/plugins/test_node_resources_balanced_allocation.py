"""NodeResourcesBalancedAllocation: balance of used resources with and without the pod."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.status import Code, Status
from kubewasp.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from tests.plugins.building import FakeHandle, make_node, make_pod, make_table, scored

GPU = "example.com/gpu"


def make_plugin(*names: str) -> NodeResourcesBalancedAllocation:
    return NodeResourcesBalancedAllocation({"resources": [{"name": name} for name in names]}, FakeHandle())


def score(pod: Any, *others: Any, node: Any = None, plugin: Any = None) -> int | Status:
    table = make_table([node or make_node("n", cpu="4", memory="16Gi")], others)
    found = scored(plugin or make_plugin(), CycleState(), pod, table)
    return found if isinstance(found, Status) else found[1]["n"]


POD = make_pod(requests={"cpu": "1", "memory": "2Gi"})


def test_the_worked_numbers() -> None:
    assert score(POD) == 50 + (50 + 93 - 100) // 2 == 71
    assert score(POD, make_pod(node="n", requests={"cpu": "500m", "memory": "8Gi"})) == 50 + (50 + 87 - 81) // 2 == 78


def test_a_pod_that_changes_nothing_scores_75() -> None:
    assert score(make_pod(requests={"cpu": "1", "memory": "4Gi"})) == 75


def test_a_pod_that_asks_for_none_of_the_resources_skips() -> None:
    assert score(make_pod()) == Status(Code.SKIP)
    assert score(make_pod(requests={GPU: "1"})) == Status(Code.SKIP)
    assert score(make_pod(requests={GPU: "1"}), plugin=make_plugin("cpu", GPU)) != Status(Code.SKIP)


def test_defaults_for_missing_requests_do_not_count_here() -> None:
    assert score(POD, make_pod(node="n")) == 71


def test_requests_of_the_pod_as_a_whole_and_overhead_count() -> None:
    assert score(make_pod(resources={"requests": {"cpu": "1", "memory": "2Gi"}})) == 71
    assert score(make_pod(overhead={"cpu": "1", "memory": "2Gi"})) == 71


def test_a_share_is_at_most_everything() -> None:
    others = make_pod(node="n", requests={"cpu": "9", "memory": "64Gi"})
    assert score(POD, others) == 75


def test_a_resource_that_the_node_lacks_is_dropped() -> None:
    assert score(POD, node=make_node("n", cpu="4", memory="0")) == 75


@pytest.mark.parametrize("asked", [{"cpu": "1", "memory": "2Gi"}, {"cpu": "1", "memory": "2Gi", GPU: "0"}])
def test_a_scalar_that_the_pod_does_not_ask_for_is_dropped(asked: dict[str, str]) -> None:
    node = make_node("n", cpu="4", memory="16Gi", allocatable={GPU: "4"})
    assert score(make_pod(requests=asked), node=node, plugin=make_plugin("cpu", "memory", GPU)) == 71


def test_three_resources_lie_apart_by_their_standard_deviation() -> None:
    node = make_node("n", cpu="4", memory="16Gi", allocatable={GPU: "4"})
    pod = make_pod(requests={"cpu": "1", "memory": "2Gi", GPU: "4"})
    mean = (0.25 + 0.125 + 1) / 3
    deviation = math.sqrt(((0.25 - mean) ** 2 + (0.125 - mean) ** 2 + (1 - mean) ** 2) / 3)
    expected = 50 + (50 + int((1 - deviation) * 100) - 100) // 2
    assert score(pod, node=node, plugin=make_plugin("cpu", "memory", GPU)) == expected


AMOUNT = st.integers(0, 12)
ROW = st.tuples(AMOUNT, AMOUNT, AMOUNT)


def balance(amounts: list[int], capacities: tuple[int, ...], asked: tuple[int, ...]) -> int:
    """Plain reference of the rule."""
    wanted = [bool(amount) or place < 2 for place, amount in enumerate(asked)]
    items = zip(amounts, capacities, wanted, strict=True)
    shares = [min(1.0, amount / capacity) for amount, capacity, counts in items if capacity and counts]
    if len(shares) == 2:
        deviation = abs(shares[0] - shares[1]) / 2
    elif len(shares) > 2:
        mean = sum(shares) / len(shares)
        deviation = math.sqrt(sum((share - mean) * (share - mean) for share in shares) / len(shares))
    else:
        deviation = 0.0
    return int((1 - deviation) * 100.0)


@given(ROW, ROW, ROW)
def test_scores_are_those_of_the_plain_rule(
    asked: tuple[int, int, int], used: tuple[int, int, int], has: tuple[int, int, int]
) -> None:
    names = ("cpu", "memory", GPU)

    def amounts(row: tuple[int, int, int]) -> dict[str, str]:
        return {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in zip(names, row, strict=True)}

    found = score(
        make_pod("p", requests=amounts(asked)),
        make_pod("other", node="n", requests=amounts(used)),
        node=make_node("n", allocatable=amounts(has)),
        plugin=make_plugin(*names),
    )
    if not any(asked):
        assert found == Status(Code.SKIP)
        return
    together = [a + b for a, b in zip(asked, used, strict=True)]
    change = balance(together, has, asked) - balance(list(used), has, asked)
    assert found == 50 + (50 + change) // 2


@given(st.lists(ROW, min_size=1, max_size=6), ROW, ROW)
def test_a_node_that_changes_scores_as_one_that_is_new(
    others: list[tuple[int, int, int]], asked: tuple[int, int, int], has: tuple[int, int, int]
) -> None:
    """A row that changes is computed by itself, new ones all at once: both ways come to the same."""

    def amounts(row: tuple[int, int, int]) -> dict[str, str]:
        return {"cpu": f"{row[0]}m", "memory": str(row[1])}

    table = make_table([make_node("n", allocatable=amounts(has))], ())
    pod, old = make_pod(requests=amounts(asked)), make_plugin("cpu", "memory")
    for row in others:
        scored(old, CycleState(), pod, table)
        table.add_pod(make_pod(node="n", requests=amounts(row)))
    assert scored(old, CycleState(), pod, table) == scored(make_plugin("cpu", "memory"), CycleState(), pod, table)
