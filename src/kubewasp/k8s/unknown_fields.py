"""Unknown fields of manifests: fields that a Kubernetes object of the kind does not have, with the likely meant name.

Only names are compared; the codec checks the values. Contents of unknown kinds are not examined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from kubewasp.k8s.errors import quoted
from kubewasp.k8s.spelling import LIKE, did_you_mean, nearest
from kubewasp.k8s.wire_table import Field, messages
from kubewasp.k8s.wire_values import VALUE_TYPES

MAX_FIELDS: Final = 100
_TYPE_META: Final = frozenset(("apiVersion", "kind"))
_LONGEST_NAME: Final = 64
_INDEX: Final = re.compile(r"\[(?:\d+|\"(?:[^\"\\]|\\.)*\")\]")

_Check = Callable[[Any, str, "tuple[tuple[str, str], ...]"], "Iterator[UnknownField]"]


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field by its path; `meant` is the name or path of the likely intended field, or empty."""

    path: str
    meant: str

    @property
    def place(self) -> str:
        return place(self.path)

    def __str__(self) -> str:
        return f"{self.path}: unknown field{did_you_mean(self.meant)}"


def place(path: str) -> str:
    """The path without indexes: equal for the same mistake in several containers or objects."""
    return _INDEX.sub("[]", path)


def unknown_fields(message: str, value: Any) -> list[UnknownField]:
    """The unknown fields of an object of a message such as `core.v1.Pod`; at most `MAX_FIELDS`."""
    found = []
    for field in _check(message)(value, "", ()):
        found.append(field)
        if len(found) == MAX_FIELDS:
            break
    return found


@cache
def _check(message: str) -> _Check:
    """Function over the values of a message, with the path and the messages around it (path and name each)."""
    fields = json_fields(message)
    nested = {name: _nested(field) for name, field in fields.items() if field.type not in VALUE_TYPES}
    known = fields.keys() | (_TYPE_META if f"{message}List" in messages() else frozenset())

    def check(value: Any, path: str, around: tuple[tuple[str, str], ...]) -> Iterator[UnknownField]:
        if not isinstance(value, Mapping):
            return
        around = (*around, (path, message))
        for key, item in value.items():
            if key in nested:
                yield from nested[key](item, _joined(path, key), around)
            elif key not in known and (path or key not in _TYPE_META):
                shown = key if isinstance(key, str) else repr(key)
                yield UnknownField(_joined(path, _shown(shown)), _meant(shown, around))

    return check


@cache
def json_fields(message: str) -> Mapping[str, Field]:
    """The fields of a message by their names in JSON, with those of its inlined messages."""
    found: dict[str, Field] = {}
    for field in messages()[message]:
        if field.inline:
            found |= json_fields(field.type)
        elif field.in_json:
            found[field.name] = field
    return found


def _nested(field: Field) -> _Check:
    def check(value: Any, path: str, around: tuple[tuple[str, str], ...]) -> Iterator[UnknownField]:
        # Looked up late: messages contain themselves.
        each = _check(field.type)
        if field.repeated:
            for number, item in enumerate(value if isinstance(value, list | tuple) else ()):
                yield from each(item, f"{path}[{number}]", around)
        elif field.is_map:
            for key, item in value.items() if isinstance(value, Mapping) else ():
                yield from each(item, f"{path}[{quoted(str(key))}]", around)
        else:
            yield from each(value, path, around)

    return check


def _meant(name: str, around: tuple[tuple[str, str], ...]) -> str:
    """A close name in the same object, else the same name in an object around it or directly below."""
    path, message = around[-1]
    close = _nearest_field(name, message, LIKE)
    if close:
        return close
    for outer_path, outer in reversed(around[:-1]):
        if same := _same(name, outer):
            return _joined(outer_path, same)
    for other, field in json_fields(message).items():
        is_object = not (field.repeated or field.is_map) and field.type not in VALUE_TYPES
        if is_object and (same := _same(name, field.type)):
            return _joined(path, f"{other}.{same}")
    return _nearest_field(name, message)


@lru_cache(maxsize=4096)
def _nearest_field(name: str, message: str, *closeness: float) -> str:
    return nearest(name, json_fields(message), *closeness)


def _same(name: str, message: str) -> str:
    """The field of that name in any case; empty if there is none."""
    return next((field for field in json_fields(message) if field.lower() == name.lower()), "")


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _shown(name: str) -> str:
    return name if name.isidentifier() and len(name) <= _LONGEST_NAME else quoted(name)
