"""Single values in JSON form and on the wire: scalars, quantities, times, ports, raw JSON.

HOT PATH (guard: make bars, codec).
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.k8s import quantity, timestamps
from kubewasp.k8s.errors import WireError, shown
from kubewasp.k8s.schema import message_class
from kubewasp.k8s.wire_table import FIELDS_V1, INT_OR_STRING, MICRO_TIME, QUANTITY, RAW_EXTENSION, TIME

if TYPE_CHECKING:
    from collections.abc import Callable

# Longer values are not cached, so that no input can fill the memory.
_CACHED_LENGTH: Final = 64

_Quantity: Any = message_class(QUANTITY)
_Time: Any = message_class(TIME)
_IntOrString: Any = message_class(INT_OR_STRING)
_FieldsV1: Any = message_class(FIELDS_V1)
_RawExtension: Any = message_class(RAW_EXTENSION)


class Mismatch(Exception):  # noqa: N818 internal: the codec turns it into a ManifestError with the path
    """A value of the wrong type for its field; `segments` is its path, innermost first."""

    def __init__(self, expected: str, value: Any) -> None:
        super().__init__(f"expected {expected}, got {shown(value)}")
        self.segments: list[str] = []


@dataclass(frozen=True, slots=True)
class ValueType:
    """A type of single values. Required fields that are absent in JSON have its zero on the wire."""

    to_wire: Callable[[Any], Any]
    from_wire: Callable[[Any], Any]
    wire_zero: Any
    json_zero: Any


def _cached(from_wire: Callable[[bytes], str]) -> Callable[[bytes], str]:
    """The function with a cache for short values: quantities and times repeat often."""
    cached = lru_cache(maxsize=8192)(from_wire)
    return lambda wire: cached(wire) if len(wire) <= _CACHED_LENGTH else from_wire(wire)


def text_to_wire(value: Any) -> str:
    if not isinstance(value, str):
        raise Mismatch("a string", value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Mismatch("valid Unicode text", value) from None
    return value


def _bool_to_wire(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Mismatch("true or false", value)
    return value


def _int32_to_wire(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Mismatch("an integer", value)
    if not -(2**31) <= value < 2**31:
        raise Mismatch("a 32-bit integer", value)
    return value


def _int64_to_wire(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Mismatch("an integer", value)
    if not -(2**63) <= value < 2**63:
        raise Mismatch("a 64-bit integer", value)
    return value


def _bytes_to_wire(value: Any) -> bytes:
    try:
        return base64.b64decode(text_to_wire(value), validate=True)
    except (binascii.Error, ValueError):
        raise Mismatch("base64 text", value) from None


def _bytes_from_wire(wire: bytes) -> str:
    return base64.b64encode(wire).decode("ascii")


def _quantity_to_wire(value: Any) -> bytes:
    try:
        if isinstance(value, str) and len(value) <= _CACHED_LENGTH:
            return _short_quantity_to_wire(value)
        if isinstance(value, str | int | float):
            return _quantity_message(quantity.canonical(value))
    except ValueError:
        pass
    raise Mismatch("a quantity such as 500m or 2Gi", value)


@lru_cache(maxsize=8192)
def _short_quantity_to_wire(text: str) -> bytes:
    return _quantity_message(quantity.canonical(text))


def _quantity_message(text: str) -> bytes:
    return bytes(_Quantity(string=text).SerializeToString())


@_cached
def _quantity_from_wire(wire: bytes) -> str:
    return str(_Quantity.FromString(wire).string) or "0"


def _time_to_wire(value: Any) -> bytes:
    try:
        if isinstance(value, str) and len(value) <= _CACHED_LENGTH:
            return _short_time_to_wire(value)
    except ValueError:
        pass
    raise Mismatch("a time such as 2006-01-02T15:04:05Z", value)


@lru_cache(maxsize=8192)
def _short_time_to_wire(text: str) -> bytes:
    return _time_message(timestamps.parse(text) // timestamps.MICROSECONDS * timestamps.MICROSECONDS)


def _micro_time_to_wire(value: Any) -> bytes:
    try:
        if isinstance(value, str) and len(value) <= _CACHED_LENGTH:
            return _time_message(timestamps.parse(value))
    except ValueError:
        pass
    raise Mismatch("a time such as 2006-01-02T15:04:05.000000Z", value)


def _time_message(microseconds: int) -> bytes:
    if microseconds == timestamps.ZERO:
        return b""
    seconds, fraction = divmod(microseconds, timestamps.MICROSECONDS)
    return bytes(_Time(seconds=seconds, nanos=fraction * 1000).SerializeToString())


@_cached
def _time_from_wire(wire: bytes) -> str:
    return timestamps.in_seconds(_Time.FromString(wire).seconds if wire else timestamps.ZERO // timestamps.MICROSECONDS)


def _micro_time_from_wire(wire: bytes) -> str:
    if not wire:
        return timestamps.in_microseconds(timestamps.ZERO)
    message = _Time.FromString(wire)
    return timestamps.in_microseconds(message.seconds * timestamps.MICROSECONDS + message.nanos // 1000)


def _int_or_string_to_wire(value: Any) -> bytes:
    if isinstance(value, str):
        return _int_or_string_message(1, 0, text_to_wire(value))
    if not isinstance(value, int) or isinstance(value, bool):
        raise Mismatch("an integer or a string", value)
    return _int_or_string_message(0, _int32_to_wire(value), "")


def _int_or_string_message(kind: int, number: int, text: str) -> bytes:
    return bytes(_IntOrString(type=kind, intVal=number, strVal=text).SerializeToString())


def _int_or_string_from_wire(wire: bytes) -> int | str:
    message = _IntOrString.FromString(wire)
    return str(message.strVal) if message.type == 1 else int(message.intVal)


def _json_to_wire(value: Any) -> bytes:
    try:
        raw = orjson.dumps(value)
    except (TypeError, ValueError, RecursionError):
        raise Mismatch("plain JSON", value) from None
    if raw == b"null":
        raise Mismatch("plain JSON", value)
    return bytes(_FieldsV1(Raw=raw).SerializeToString())


def _json_from_wire(wire: bytes) -> Any:
    raw = _FieldsV1.FromString(wire).Raw
    try:
        return orjson.loads(raw) if raw else None
    except ValueError:
        raise WireError("managed fields are not JSON") from None


def _raw_to_wire(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise Mismatch("the bytes of an object", value)
    return bytes(_RawExtension(raw=value).SerializeToString()) if value else b""


def _raw_from_wire(wire: bytes) -> bytes:
    return bytes(_RawExtension.FromString(wire).raw)


def _same(wire: Any) -> Any:
    return wire


VALUE_TYPES: Final = {
    "string": ValueType(text_to_wire, _same, "", ""),
    "bool": ValueType(_bool_to_wire, _same, False, False),
    "int32": ValueType(_int32_to_wire, _same, 0, 0),
    "int64": ValueType(_int64_to_wire, _same, 0, 0),
    "bytes": ValueType(_bytes_to_wire, _bytes_from_wire, b"", ""),
    QUANTITY: ValueType(_quantity_to_wire, _quantity_from_wire, _quantity_message("0"), "0"),
    TIME: ValueType(_time_to_wire, _time_from_wire, b"", timestamps.in_seconds(timestamps.ZERO // 10**6)),
    MICRO_TIME: ValueType(_micro_time_to_wire, _micro_time_from_wire, b"", timestamps.in_microseconds(timestamps.ZERO)),
    INT_OR_STRING: ValueType(_int_or_string_to_wire, _int_or_string_from_wire, _int_or_string_message(0, 0, ""), 0),
    FIELDS_V1: ValueType(_json_to_wire, _json_from_wire, b"", None),
    RAW_EXTENSION: ValueType(_raw_to_wire, _raw_from_wire, b"", b""),
}
