"""Validation of label names and label values, with the texts of Kubernetes."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_SUBDOMAIN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_MAX_WORD, _MAX_SUBDOMAIN = 63, 253
_EMPTY: Final = "must be non-empty"


def name_problems(name: str) -> list[str]:
    """The problems of a qualified name such as `example.com/gpu` or `zone`."""
    prefix, slash, word = name.rpartition("/")
    if "/" in prefix:
        expected = _expected(_WORD_RULE, _WORD, "MyName", "my.name", "123-abc")
        return [
            f"a qualified name {expected} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    problems = [f"prefix part {text}" for text in _prefix_problems(prefix)] if slash else []
    if not word:
        problems.append(f"name part {_EMPTY}")
    elif len(word.encode("utf-8", "replace")) > _MAX_WORD:
        problems.append(f"name part {_at_most(_MAX_WORD)}")
    if not re.fullmatch(_WORD, word):
        problems.append(f"name part {_expected(_WORD_RULE, _WORD, 'MyName', 'my.name', '123-abc')}")
    return problems


def value_problems(value: str) -> list[str]:
    """The problems of a label value."""
    problems = []
    if len(value.encode("utf-8", "replace")) > _MAX_WORD:
        problems.append(_at_most(_MAX_WORD))
    if value and not re.fullmatch(_WORD, value):
        rule = _WORD_RULE.replace("must consist", "a valid label must be an empty string or consist", 1)
        problems.append(_expected(rule, f"({_WORD})?", "MyValue", "my_value", "12345"))
    return problems


def _prefix_problems(prefix: str) -> list[str]:
    if not prefix:
        return [_EMPTY]
    problems = []
    if len(prefix.encode("utf-8", "replace")) > _MAX_SUBDOMAIN:
        problems.append(_at_most(_MAX_SUBDOMAIN))
    if not re.fullmatch(_SUBDOMAIN, prefix):
        problems.append(_expected(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com"))
    return problems


_WORD_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)


def _expected(rule: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


def _at_most(count: int) -> str:
    return f"must be no more than {count} bytes"
