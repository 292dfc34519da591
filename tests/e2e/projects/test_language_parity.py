"""Equal placements and messages of one policy: guests whose toolchains take a minute, and the plugin in the process."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.test_nodenumber_parity import _in_process, configurations, guest, outcome, waves

__all__ = ["_in_process"]  # a fixture


@pytest.mark.parametrize("language", ["rust"])
@settings(max_examples=60, deadline=None)
@given(config=configurations(), weight=st.sampled_from([1, 20]), given_waves=waves())
def test_a_guest_places_pods_as_the_plugin_in_the_process_does(
    language: str, config: dict[str, Any], weight: int, given_waves: list[Any]
) -> None:
    args = {"guestURL": str(guest(language)), "guestConfig": json.dumps(config)}
    assert outcome("policy", args, weight, given_waves) == outcome("NodeNumber", config, weight, given_waves)
