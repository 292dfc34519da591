"""Validation of component descriptions."""

import json
from typing import Any

import pytest

from kubewasp.framework.cluster_events import ClusterEvent
from kubewasp.wasm.component import description
from kubewasp.wasm.errors import GuestLoadError


def parsed(**told: Any) -> description.ComponentDescription:
    return description.parse(json.dumps({"protocol": 1, "hooks": ["filter"], **told}))


def test_a_description_is_read() -> None:
    found = parsed(events=[[1, 9]], wants=["pods"], signature=5, logs=[[1, "careful"]])
    assert found.hooks == ("filter",)
    assert found.events == (ClusterEvent("Node", 9),)
    assert (found.wants_pods, found.wants_waiting_pods, found.signature) == (True, False, 5)
    assert found.log.log_lines()[0].text == "careful"


def test_the_plugins_own_error_is_told() -> None:
    with pytest.raises(GuestLoadError, match=r"^wasm: start error: config\.x: missing$"):
        parsed(error="config.x: missing")


def test_another_protocol_is_an_error() -> None:
    with pytest.raises(GuestLoadError, match="the guest speaks protocol 2, this host 1; build it again"):
        parsed(protocol=2)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"hooks": []}, "does not implement any hook"),
        ({"hooks": ["fliter"]}, "unknown hook 'fliter'"),
        ({"hooks": None}, "cannot be read"),
        ({"hooks": [["filter"]]}, "cannot be read"),
        ({"events": [[99, 1]]}, "cannot be read"),
        ({"events": 5}, "cannot be read"),
        ({"signature": -1}, "cannot be read"),
        ({"logs": ["x"]}, "cannot be read"),
    ],
)
def test_a_description_of_another_form_is_a_load_error(told: dict[str, Any], message: str) -> None:
    with pytest.raises(GuestLoadError, match=message):
        parsed(**told)


@pytest.mark.parametrize("text", ["", "[]", "nonsense"])
def test_what_is_no_description_is_a_load_error(text: str) -> None:
    with pytest.raises(GuestLoadError, match="wasm: start error: the answer is not"):
        description.parse(text)
