"""Validation of component descriptions."""

import json
from typing import Any

import pytest

from kubewasp.framework.cluster_events import ClusterEvent
from kubewasp.wasm.component import description
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.limits import Limits


def parsed(**told: Any) -> description.ComponentDescription:
    return description.parse(json.dumps({"protocol": 1, "hooks": ["filter"], **told}), Limits())


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
        description.parse(text, Limits())


@pytest.mark.parametrize("key", ["protocol", "error", "hooks", "events", "wants", "signature", "sdk", "plugin", "logs"])
@pytest.mark.parametrize("depth", [300, 1000, 1020, 5000])
def test_a_deeply_nested_description_is_a_load_error_or_ignored(key: str, depth: int) -> None:
    text = json.dumps({"protocol": 1, "hooks": ["filter"]})[:-1] + f', "{key}": {"[" * depth + "]" * depth}}}'
    if (key in ("sdk", "plugin") and depth < 1024) or (key, depth) == ("wants", 300):
        assert description.parse(text, Limits()).hooks == ("filter",)
        return
    with pytest.raises(GuestLoadError) as caught:
        description.parse(text, Limits())
    assert len(str(caught.value)) < 1000


def test_a_description_over_the_limit_is_a_load_error() -> None:
    with pytest.raises(GuestLoadError, match="over the limit of 1024"):
        description.parse(json.dumps({"protocol": 1, "hooks": ["filter"], "sdk": "x" * 2000}), Limits(payload=1024))


def test_start_logs_are_bounded() -> None:
    logs = [[0, "x" * 5000]] * 2000
    text = json.dumps({"protocol": 1, "hooks": ["filter"], "logs": logs})
    found = description.parse(text, Limits(log=1024))
    lines = found.log.log_lines()
    assert (len(lines), len(lines[0].text)) == (1001, 1024)
    assert lines[-1].text == "1000 more log lines and events were dropped"
