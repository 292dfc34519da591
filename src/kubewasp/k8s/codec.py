"""Codec of Kubernetes objects: JSON form to protobuf and back, with the bytes of the API server.

HOT PATH (guard: make bars, codec). The fields are in `wire_table`, single values in `wire_values`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from google.protobuf.message import DecodeError, Message

from kubewasp.k8s.errors import ManifestError, WireError, quoted
from kubewasp.k8s.kinds import message_name, message_of_kind
from kubewasp.k8s.schema import message_class
from kubewasp.k8s.wire_table import VALUE_MESSAGES, Field, messages
from kubewasp.k8s.wire_values import VALUE_TYPES, Mismatch, text_to_wire

__all__ = ["decode", "decode_message", "encode", "encode_message", "message_name", "unwrap_unknown", "wrap_unknown"]

_Encoder: TypeAlias = Callable[[Any], Any]
_Decoder: TypeAlias = Callable[[Any], Any]

# dict first: isinstance with Mapping costs a tenth of the encoding.
_OBJECT: Final = (dict, Mapping)
_ENVELOPE: Final = b"k8s\0"


def encode(kind: str, manifest: Mapping[str, Any]) -> bytes:
    """The protobuf bytes of an object of a kind such as `Pod` or `events.v1.Event`."""
    return encode_message(message_of_kind(kind), manifest)


def decode(kind: str, data: bytes) -> dict[str, Any]:
    """The JSON form of an object of a kind, without `kind` and `apiVersion`: these are not part of the bytes."""
    decoded: dict[str, Any] = decode_message(message_of_kind(kind), data)
    return decoded


def encode_message(name: str, value: Any) -> bytes:
    """The protobuf bytes of any message of the wire table, e.g. `core.v1.Toleration`."""
    try:
        wire = _encoder(name)(value)
    except Mismatch as mismatch:
        raise ManifestError("".join(reversed(mismatch.segments)).removeprefix("."), str(mismatch)) from None
    if name in VALUE_MESSAGES:
        return bytes(wire)
    return message_class(name)(**wire).SerializeToString(deterministic=True)


def decode_message(name: str, data: bytes) -> Any:
    """The JSON form of any message of the wire table: a dict, or a single value for types such as Quantity."""
    try:
        return _decoder(name)(data if name in VALUE_MESSAGES else message_class(name).FromString(data))
    except WireError as error:
        raise WireError(f"{name}: {error}") from None
    except (DecodeError, ValueError):
        raise WireError(f"{name}: not a valid protobuf message") from None


def wrap_unknown(api_version: str, kind: str, raw: bytes) -> bytes:
    """The body of an HTTP request: an object in the envelope `runtime.Unknown`."""
    unknown: Any = message_class("runtime.Unknown")
    type_meta = {"apiVersion": api_version, "kind": kind}
    message = unknown(typeMeta=type_meta, raw=raw, contentEncoding="", contentType="")
    return _ENVELOPE + bytes(message.SerializeToString())


def unwrap_unknown(data: bytes) -> tuple[str, str, bytes]:
    """The apiVersion, the kind and the bytes of the object in an envelope."""
    if not data.startswith(_ENVELOPE):
        raise WireError("not a Kubernetes protobuf body: it does not start with k8s\\0")
    unknown: Any = message_class("runtime.Unknown")
    try:
        message = unknown.FromString(data[len(_ENVELOPE) :])
        api_version, kind = message.typeMeta.apiVersion, message.typeMeta.kind
    except (DecodeError, UnicodeDecodeError):
        raise WireError("runtime.Unknown: not a valid protobuf message") from None
    return api_version, kind, message.raw


@cache
def _encoder(name: str) -> _Encoder:
    if name in VALUE_TYPES:
        return VALUE_TYPES[name].to_wire
    return _object_encoder(name)


def _object_encoder(name: str) -> _Encoder:
    """Function from an object in JSON form to the arguments of its message class."""
    fields = [field for field in messages()[name] if field.in_json]
    encoders = {field.name: _field_encoder(field) for field in fields if not field.inline}
    inlined = tuple((field.name, _encoder(field.type)) for field in fields if field.inline)
    defaults = _defaults(name)

    def encode_object(value: Any) -> dict[str, Any]:
        if not isinstance(value, _OBJECT):
            raise Mismatch("an object", value)
        wire = defaults.copy()
        key = ""
        try:
            for key, item in value.items():
                if item is not None and key in encoders:
                    wire[key] = encoders[key](item)
        except Mismatch as mismatch:
            mismatch.segments.append(f".{key}")
            raise
        for key, encode_inlined in inlined:
            wire[key] = encode_inlined(value)
        return wire

    return encode_object


def _defaults(name: str) -> dict[str, Any]:
    """The wire form of an empty object: its required fields with zero values."""
    return {
        field.name: VALUE_TYPES[field.type].wire_zero if field.type in VALUE_TYPES else _defaults(field.type)
        for field in messages()[name]
        if field.required
    }


def _field_encoder(field: Field) -> _Encoder:
    if field.repeated:
        return _list_encoder(_encoder(field.type))
    if field.is_map:
        return _map_encoder(_encoder(field.type))
    return _encoder(field.type)


def _list_encoder(encode_item: _Encoder) -> _Encoder:
    def encode_list(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise Mismatch("a list", value)
        wire: list[Any] = []
        try:
            for item in value:
                wire.append(encode_item(item))  # noqa: PERF401 its length is the index of the item in an error
        except Mismatch as mismatch:
            mismatch.segments.append(f"[{len(wire)}]")
            raise
        return wire

    return encode_list


def _map_encoder(encode_item: _Encoder) -> _Encoder:
    def encode_map(value: Any) -> dict[str, Any]:
        if not isinstance(value, _OBJECT):
            raise Mismatch("an object", value)
        wire = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise Mismatch("string keys", key)
            text_to_wire(key)
            try:
                wire[key] = encode_item(item)
            except Mismatch as mismatch:
                mismatch.segments.append(f"[{quoted(key)}]")
                raise
        return wire

    return encode_map


@cache
def _decoder(name: str) -> _Decoder:
    if name in VALUE_TYPES:
        return VALUE_TYPES[name].from_wire
    return _object_decoder(name)


def _object_decoder(name: str) -> _Decoder:
    """Function from a message to its JSON form, without required fields that have their zero value."""
    fields = [field for field in messages()[name] if field.in_json]
    decoders = {field.number: (field.name, _field_decoder(field), _zero(field)) for field in fields if not field.inline}
    inlined = {field.number: _decoder(field.type) for field in fields if field.inline}

    def decode_object(message: Message) -> dict[str, Any]:
        decoded: dict[str, Any] = {}
        for descriptor, wire in message.ListFields():
            number = descriptor.number
            if number in decoders:
                key, decode_field, zero = decoders[number]
                value = decode_field(wire)
                if value != zero:
                    decoded[key] = value
            elif number in inlined:
                decoded.update(inlined[number](wire))
        return decoded

    return decode_object


def _zero(field: Field) -> Any:
    """The JSON value that is equivalent to an absent field."""
    if not field.required:
        return None
    return VALUE_TYPES[field.type].json_zero if field.type in VALUE_TYPES else {}


def _field_decoder(field: Field) -> _Decoder:
    decode_item = _decoder(field.type)
    if field.repeated:
        return lambda wire: [decode_item(item) for item in wire]
    if field.is_map:
        return lambda wire: {key: decode_item(item) for key, item in sorted(wire.items())}
    return decode_item
