"""JSON documents as plain values, by the rules of Kubernetes; `yaml_documents` has the same rules."""

from __future__ import annotations

import json
from typing import Any, Final

import orjson

from kubewasp.errors import KubewaspError
from kubewasp.k8s.errors import quoted

MAX_DEPTH: Final = 200
_ORJSON_DEPTH: Final = 254  # levels that orjson writes


class JsonError(KubewaspError, ValueError):
    """JSON without a meaning in Kubernetes: the same key twice, half of a character, too many levels."""


def documents(text: str) -> list[Any] | None:
    """The consecutive values in the text; None if the reader of YAML has to try: it knows the lines of errors."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_integer, object_pairs_hook=_unique)
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    else:
        # Parsers drop duplicate keys silently, each with its colon. The search for them is slow.
        if text.count(":") != _written(value).count(b":"):
            decoder.decode(text)
        return [value]
    values: list[Any] = []
    rest = 0
    try:
        while rest < len(text):
            if text[rest].isspace():
                rest += 1
                continue
            value, rest = decoder.raw_decode(text, rest)
            _written(value)
            values.append(value)
    except JsonError:
        raise
    except (ValueError, OverflowError, RecursionError):
        return None
    return values


def integer(number: int) -> int | float:
    """The number as other readers of JSON have it: of 64 bits, or a float."""
    return number if -(2**63) <= number < 2**64 else float(number)


def to_keep(written: bytes) -> bytes:
    """A copy of JSON in as much memory as it needs: orjson's own results keep their buffer of at least 4 KiB."""
    return bytes(memoryview(written))


def _written(value: Any) -> bytes:
    """The value as JSON; an error for a value that other parts could not write either."""
    for _ in range(_ORJSON_DEPTH - MAX_DEPTH):
        value = [value]
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        if "surrogate" in str(error):
            raise JsonError("a string has half of a surrogate pair") from None
        raise JsonError(f"nested more than {MAX_DEPTH} deep") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonError(f"duplicate key {quoted(key)} in the same object")
            seen.add(key)
    return found


def _integer(text: str) -> int | float:
    return integer(int(text))  # ValueError for thousands of digits


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
