"""JSON documents: the values, and what has no meaning."""

from typing import Any

import pytest

from kubewasp.k8s.json_documents import MAX_DEPTH, JsonError, documents
from kubewasp.k8s.yaml_documents import documents as yaml_documents


def nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('{"a": 1}\n{"b": [2]} ', [{"a": 1}, {"b": [2]}]),
        ('{"a": 18446744073709551615}', [{"a": 2**64 - 1}]),
        ('{"a": 18446744073709551616}', [{"a": float(2**64)}]),
        ('{"a": 18446744073709551616} {"b": -9223372036854775809}', [{"a": float(2**64)}, {"b": float(-(2**63))}]),
        ('{"a": ' + "9" * 400 + "}", None),
        ('{"a": ' + "9" * 5000 + "}", None),
        ('{"a": NaN}', None),
        ("{a: 1}", None),
        (nested(100_000), None),
        ("", []),
    ],
)
def test_values_are_those_of_other_readers(text: str, values: list[Any] | None) -> None:
    assert documents(text) == values


@pytest.mark.parametrize("number", ["18446744073709551616", "-9223372036854775809", "0x1" + "0" * 16])
def test_yaml_has_numbers_of_the_same_size(number: str) -> None:
    (value,) = yaml_documents(f"a: {number}")
    assert isinstance(value["a"], float)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', 'duplicate key "c" in the same object'),
        ('{"a": 1} {"b": 1, "b": 2}', 'duplicate key "b" in the same object'),
        ('{"a": "\\ud800"}', "a string has half of a surrogate pair"),
        (nested(MAX_DEPTH + 1), "nested more than 200 deep"),
        (nested(MAX_DEPTH + 1) + nested(1), "nested more than 200 deep"),
    ],
)
def test_json_without_a_meaning_is_refused(text: str, problem: str) -> None:
    with pytest.raises(JsonError) as caught:
        documents(text)
    assert str(caught.value) == problem


def test_the_depth_that_all_parts_can_write_is_fine() -> None:
    assert len(documents(nested(MAX_DEPTH)) or ()) == 1
    assert len(documents(nested(MAX_DEPTH) + nested(MAX_DEPTH)) or ()) == 2


def test_a_duplicate_among_very_many_keys_is_found_at_once() -> None:
    """A search for each key would take hours."""
    text = "{" + ",".join(f'"{number}":1' for number in range(500_000)) + ',"499999":2}'
    with pytest.raises(JsonError, match='duplicate key "499999"'):
        documents(text)
