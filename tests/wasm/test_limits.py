from dataclasses import fields
from typing import Any

import pytest

from kubewasp.errors import KubewaspError
from kubewasp.wasm.limits import MIB, LimitError, Limits, config_name


def problem(settings: dict[str, Any]) -> str:
    with pytest.raises(LimitError) as caught:
        Limits.from_mapping(settings)
    return str(caught.value)


def test_every_limit_has_a_default() -> None:
    assert Limits.from_mapping({}) == Limits()
    assert Limits().memory == 256 * MIB


def test_limits_are_set_by_name() -> None:
    limits = Limits.from_mapping({"memory": 64 * MIB, "call_timeout": 0.5})
    assert (limits.memory, limits.call_timeout) == (64 * MIB, 0.5)


def test_an_unknown_limit_is_refused_with_the_known_ones() -> None:
    text = problem({"timeout": 1})
    assert text.startswith("limits.timeout: unknown limit; there are call_timeout, compile_memory,")


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"memory": "1Gi"}, 'limits.memory: expected an integer, got "1Gi"'),
        ({"memory": 1.5e9}, "limits.memory: expected an integer, got 1500000000.0"),
        ({"memory": True}, "limits.memory: expected an integer, got true"),
        ({"memory": 0}, "limits.memory: expected a size from 64Ki to 4Gi, got 0 bytes"),
        ({"memory": 2**33}, "limits.memory: expected a size from 64Ki to 4Gi, got 8Gi"),
        ({"call_timeout": None}, "limits.callTimeout: expected a number, got null"),
        ({"call_timeout": 0}, "limits.callTimeout: expected a duration from 10ms to 10m0s, got 0s"),
        ({"call_timeout": float("nan")}, "limits.callTimeout: expected a duration from 10ms to 10m0s, got nan"),
        ({"start_timeout": -1}, "limits.startTimeout: expected a duration from 10ms to 10m0s, got -1s"),
        ({"call_timeout": 1e308}, "limits.callTimeout: expected a duration from 10ms to 10m0s, got 1e+308"),
        ({"memory": 10**5000}, "limits.memory: expected a size from 64Ki to 4Gi, got a very large integer"),
        ({"memory": {"a": []}}, "limits.memory: expected an integer, got an object"),
        ({"reason": -1}, "limits.reason: expected a size from 0 bytes to 1Mi, got -1 bytes"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_by_name(settings: dict[str, Any], text: str) -> None:
    assert problem(settings) == text


def test_a_wrong_limit_is_the_users_mistake() -> None:
    assert issubclass(LimitError, KubewaspError)


@pytest.mark.parametrize("name", [field.name for field in fields(Limits)])
def test_every_limit_is_bounded_on_both_sides(name: str) -> None:
    for value in (-1, 2**63):
        assert problem({name: value}).startswith(f"limits.{config_name(name)}: expected ")


def test_a_configuration_file_has_units() -> None:
    limits = Limits.from_config({"callTimeout": "500ms", "startTimeout": 2, "memory": "64Mi", "guestSize": 1000})
    assert limits == Limits(call_timeout=0.5, start_timeout=2, memory=64 * MIB, guest_size=1000)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"call_timeout": 1}, "limits.call_timeout: unknown limit; there are memory, callTimeout, startTimeout,"),
        ({"callTimeout": "soon"}, "limits.callTimeout: expected a duration such as 500ms or 1m30s, got 'soon'"),
        ({"memory": "lots"}, "limits.memory: "),
        ({"memory": "1"}, "limits.memory: expected a size from 64Ki to 4Gi, got 1 bytes"),
    ],
)
def test_a_limit_of_a_configuration_file_is_refused_by_its_name_there(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(LimitError) as caught:
        Limits.from_config(settings)
    assert str(caught.value).startswith(text)
