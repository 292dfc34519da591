"""Equal placements and messages of one policy in languages with a slow toolchain, beside the plugin in the process."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.nodenumber import MIXED, Wave, check_parity, configurations, waves


@pytest.mark.parametrize("language", ["rust", "javascript", "zig", "assemblyscript"])
@settings(max_examples=60, deadline=None)
@example(config={"reserved": 3}, weight=20, given_waves=MIXED)
@given(config=configurations(), weight=st.sampled_from([1, 20]), given_waves=waves())
def test_a_guest_places_pods_as_the_plugin_in_the_process_does(
    language: str, config: dict[str, Any], weight: int, given_waves: list[Wave]
) -> None:
    check_parity(language, config, weight, given_waves)
