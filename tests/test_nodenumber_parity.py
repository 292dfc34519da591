"""Equal placements and messages of one policy: in process, in WebAssembly text, in Go, in Python, in C.

tests/e2e/projects has the languages with slow toolchains.
"""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.nodenumber import MIXED, NAMES, Wave, check_parity, configurations, outcome, waves
from tests.simulation.simulating import node, pod


@pytest.mark.parametrize("language", ["wat", "go", "python", "c"])
@settings(max_examples=40)
@example(config={"reserved": 3}, weight=20, given_waves=MIXED)
@given(config=configurations(), weight=st.sampled_from([1, 20]), given_waves=waves())
def test_a_guest_places_pods_as_the_plugin_in_the_process_does(
    language: str, config: dict[str, Any], weight: int, given_waves: list[Wave]
) -> None:
    check_parity(language, config, weight, given_waves)


def test_the_fixed_clusters_have_pods_that_fit_and_pods_that_do_not() -> None:
    before, after = outcome("NodeNumber", {"reserved": 3}, 20, MIXED)
    assert (before["default/web-3"][0], after["default/web-4"][0]) == ("", "node-4")
    assert "2 node number 3 is reserved" in before["default/web-3"][1]
    assert "Insufficient cpu" in after["default/big-4"][1]


def test_the_policy_makes_a_difference_in_these_clusters() -> None:
    wave = Wave([node(name) for name in NAMES], [], [pod("web-3"), pod("web-4"), pod("web-5")])
    placed = [outcome("NodeNumber", config, 20, [wave])[0] for config in ({}, {"reverse": True}, {"reserved": 4})]
    assert placed[0]["default/web-4"][0] == "node-4"
    assert all(other["default/web-4"][0] != "node-4" for other in placed[1:])
