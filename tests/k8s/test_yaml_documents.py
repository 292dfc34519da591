from typing import Any

import pytest

from kubewasp.k8s.yaml_documents import YamlError, documents


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("~", None), ("null", None), ("yes", True), ("Off", False), ("'yes'", "yes"), ("!!str yes", "yes"), ("y", "y"),
        ("12", 12), ("-5", -5), ("0644", 420), ("0x1F", 31), ("1.5", 1.5), ("1e3", 1000.0), ("1_000", "1_000"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"), ("2026-01-02", "2026-01-02"), ("12:30:45", "12:30:45"),
        ("=", "="), ("100m", "100m"), ("9" * 101, "9" * 101), ("|\n a\n b\n", "a\nb\n"),
        ("[a, {b: 1}]", ["a", {"b": 1}]),
    ],
)  # fmt: skip
def test_values_are_what_kubernetes_reads(text: str, value: Any) -> None:
    assert list(documents(text)) == [value]
    assert type(next(documents(text))) is type(value)


def test_keys_are_always_strings() -> None:
    assert list(documents("80: a\ntrue: b\n")) == [{"80": "a", "true": "b"}]


def test_documents_come_one_after_the_other() -> None:
    assert list(documents("a: 1\n---\n---\n- b\n")) == [{"a": 1}, None, ["b"]]
    assert list(documents("# nothing\n")) == []


def test_aliases_stand_for_what_was_anchored() -> None:
    assert list(documents("a: &x {b: 1}\nc: [*x, *x]\n")) == [{"a": {"b": 1}, "c": [{"b": 1}, {"b": 1}]}]


def test_merged_keys_give_way_to_those_of_the_object() -> None:
    text = "base: &base {a: 1, b: 2}\none: {<<: *base, b: 3}\nmany: {b: 4, <<: [*base, {c: 5}]}\n"
    read = next(documents(text))
    assert read["one"] == {"a": 1, "b": 3}
    assert read["many"] == {"a": 1, "b": 4, "c": 5}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb: &b [*b]", "line 2: *b inside &b: an alias must not contain itself"),
        ("a: *b", "line 1: *b has no anchor &b before it"),
        ("a: 1\na: 2", 'line 2: duplicate key "a" in the same object'),
        ("[a]: b", "line 1: a key must be a string"),
        ("<<: 1", "line 1: << takes an object or a list of objects"),
        ("a: !!binary aGk=", "line 1: the tag tag:yaml.org,2002:binary has no meaning in Kubernetes"),
        ("a: !!set {b}", "line 1: the tag tag:yaml.org,2002:set has no meaning in Kubernetes"),
        ("a: 1\nb: c: d", "line 2: mapping values are not allowed in this context"),
        ("a: 1\nb: \x00", "line 2: control characters are not allowed"),
        ("[" * 100_000, "line 1: nested more than 200 deep"),
        ("- " * 100_000, "line 1: nested more than 200 deep"),
    ],
)
def test_what_cannot_be_an_object_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(YamlError) as caught:
        list(documents(text))
    assert str(caught.value) == problem


@pytest.mark.parametrize("reference", ["[{}]", "{{<<: [{}]}}"])
def test_alias_bomb_is_refused(reference: str) -> None:
    first = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" if reference == "[{}]" else "a0: &a0 {b: 1, c: 2}\n"
    levels = (f"a{level}: &a{level} {reference.format(', '.join([f'*a{level - 1}'] * 10))}\n" for level in range(1, 12))
    with pytest.raises(YamlError, match="aliases expand to more than 2,000,000 values"):
        list(documents(first + "".join(levels)))
