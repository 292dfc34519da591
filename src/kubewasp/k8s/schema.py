"""Protobuf message classes, built at run time from the wire table: there is no generated code."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from kubewasp.k8s.wire_table import VALUE_MESSAGES, Field, messages

if TYPE_CHECKING:
    from google.protobuf.message import Message

_PACKAGE: Final = "kubewasp.k8s"
_Proto = descriptor_pb2.FieldDescriptorProto
_SCALARS: Final = {
    "string": _Proto.TYPE_STRING,
    "bytes": _Proto.TYPE_BYTES,
    "bool": _Proto.TYPE_BOOL,
    "int32": _Proto.TYPE_INT32,
    "int64": _Proto.TYPE_INT64,
}


@cache
def message_class(name: str) -> type[Message]:
    """The class of a message of the wire table, such as `core.v1.Pod`."""
    descriptor = _pool().FindMessageTypeByName(f"{_PACKAGE}.{_identifier(name)}")
    return message_factory.GetMessageClass(descriptor)


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    # proto2 as in Kubernetes, but the parser refuses text that is not UTF-8.
    file = descriptor_pb2.FileDescriptorProto(name="kubewasp/k8s.proto", package=_PACKAGE, syntax="editions")
    file.edition = descriptor_pb2.EDITION_2023
    file.options.features.repeated_field_encoding = descriptor_pb2.FeatureSet.EXPANDED
    for name, fields in messages().items():
        message = file.message_type.add(name=_identifier(name))
        for field in fields:
            _add_field(message, field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _add_field(message: descriptor_pb2.DescriptorProto, field: Field) -> None:
    proto = message.field.add(name=field.name, number=field.number, label=_Proto.LABEL_OPTIONAL)
    if field.repeated or field.is_map:
        proto.label = _Proto.LABEL_REPEATED
    if not field.is_map:
        _set_type(proto, field.type)
        return
    entry = message.nested_type.add(name=f"{field.name[0].upper()}{field.name[1:]}Entry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=_Proto.LABEL_OPTIONAL, type=_Proto.TYPE_STRING)
    _set_type(entry.field.add(name="value", number=2, label=_Proto.LABEL_OPTIONAL), field.type)
    proto.type = _Proto.TYPE_MESSAGE
    proto.type_name = f".{_PACKAGE}.{message.name}.{entry.name}"


def _set_type(proto: descriptor_pb2.FieldDescriptorProto, type_name: str) -> None:
    if type_name in VALUE_MESSAGES:
        # The same bytes as a sub-message; the codec encodes and caches whole quantities and times.
        proto.type = _Proto.TYPE_BYTES
    elif type_name in _SCALARS:
        proto.type = _SCALARS[type_name]
    else:
        proto.type = _Proto.TYPE_MESSAGE
        proto.type_name = f".{_PACKAGE}.{_identifier(type_name)}"


def _identifier(name: str) -> str:
    return name.replace(".", "_")
