"""Sets of pod fields, and keys of pods by them.  HOT PATH (guard: make counts)."""

from __future__ import annotations

import re
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

from kubewasp.k8s.wire_table import messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kubewasp.k8s.pods import Pod
    from kubewasp.k8s.resources import Resources

_METADATA, _SPEC, _STATUS = 1, 2, 3
_ALL_OF_METADATA, _ALL_OF_SPEC = 2**32 - 1, 2**64 - 1
# Bits of `others`.
REQUESTS, STATUS, OBJECT = 1, 2, 4
# The volume of a service account's token has a name of the pod's own, in the volumes and in each container.
_TOKEN_VOLUME: Final = re.compile(rb"kube-api-access-[a-z0-9]{5}")
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


class PodFields(NamedTuple):
    """A set of fields: a bit by number for those of metadata and spec; other inputs of a plugin about a pod."""

    metadata: int = 0
    others: int = 0
    spec: int = 0

    def union(self, more: PodFields) -> PodFields:
        return PodFields(self.metadata | more.metadata, self.others | more.others, self.spec | more.spec)

    @property
    def names(self) -> tuple[str, ...]:
        """The fields, for messages."""
        if self.others & OBJECT:
            return ("the whole pod",)
        parts = [("metadata", self.metadata, _ALL_OF_METADATA), ("spec", self.spec, _ALL_OF_SPEC)]
        found = [name for part, bits, whole in parts for name in _names(part, bits, whole)]
        return (*found, *(name for bit, name in ((REQUESTS, "requests"), (STATUS, "status")) if self.others & bit))


NO_FIELDS: Final = PodFields()
_REQUESTS_ONLY: Final = PodFields(others=REQUESTS)


@cache
def _numbers() -> dict[str, dict[str, int]]:
    """Field numbers of metadata and spec by name."""
    parts = {"metadata": "apis.meta.v1.ObjectMeta", "spec": "core.v1.PodSpec"}
    return {part: {field.name: field.number for field in messages()[kind]} for part, kind in parts.items()}


def _names(part: str, bits: int, whole: int) -> Iterator[str]:
    if bits == whole:
        yield part
    else:
        yield from (f"{part}.{name}" for name, number in _numbers()[part].items() if bits >> number & 1)


def named(names: Iterable[str]) -> PodFields:
    """The fields with names such as `metadata.labels`, `spec`, `requests`. An unknown one counts as the whole pod."""
    found = NO_FIELDS
    for name in names:
        found = found.union(_named(name))
    return found


@cache
def _named(name: str) -> PodFields:
    part, _, field = name.partition(".")
    number = _numbers().get(part, {}).get(field)
    if part == "metadata":
        bits = _ALL_OF_METADATA if not field else 0 if number is None else 1 << number
        return PodFields(metadata=bits) if bits else PodFields(others=OBJECT)
    if part == "spec":
        bits = _ALL_OF_SPEC if not field else 0 if number is None else 1 << number
        return PodFields(spec=bits) if bits else PodFields(others=OBJECT)
    return PodFields(others={"requests": REQUESTS, "status": STATUS}.get(name, OBJECT))


@cache
def without_names() -> PodFields:
    """The fields of a pure guest that does not report what it reads: not name, uid, times, owners and status."""
    return named(("metadata.namespace", "metadata.labels", "metadata.annotations", "spec", "requests"))


def key_of(pod: Pod, fields: PodFields) -> bytes:
    """A digest of the fields of a pod."""
    if fields == NO_FIELDS:
        return b""
    if fields.others & OBJECT:
        return pod.encoded
    parts: list[bytes] = []
    encoded = pod.encoded
    for part, start, end in _fields(encoded, 0, len(encoded)) if fields != _REQUESTS_ONLY else ():
        if part == _SPEC and fields.spec:
            if fields.spec == _ALL_OF_SPEC:
                parts.append(encoded[start:end])
            else:
                _select(encoded, start, end, fields.spec, parts)
        elif part == _METADATA and fields.metadata:
            _select(encoded, start, end, fields.metadata, parts)
        elif part == _STATUS and fields.others & STATUS:
            parts.append(encoded[start:end])
    content = b"\0".join(parts)
    if b"kube-api-access-" in content:
        content = _TOKEN_VOLUME.sub(b"", content)
    if fields.others & REQUESTS:
        content += _amounts(pod.resources.requests) + _amounts(pod.resources.non_zero)
    return blake2b(content, digest_size=16).digest()


def _amounts(of: Resources) -> bytes:
    return f"{of.cpu} {of.memory} {of.ephemeral} {sorted(of.scalars.items()) if of.scalars else ''};".encode()


def _select(encoded: bytes, start: int, end: int, bits: int, parts: list[bytes]) -> None:
    """Adds the fields of a message, with their numbers."""
    for number, begin, until in _fields(encoded, start, end):
        if bits >> number & 1:
            parts += (number.to_bytes(1, "little"), encoded[begin:until])


def _fields(encoded: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Numbers of the fields of a message, with the places of their contents. The pod was parsed before."""
    while at < end:
        tag, at = _number(encoded, at)
        kind, start = tag & 7, at
        if kind == _BYTES:
            length, start = _number(encoded, at)
            at = start + length
        elif kind == _VARINT:
            _, at = _number(encoded, at)
        else:
            at += {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}[kind]
        yield min(tag >> 3, 255), start, at


def _number(encoded: bytes, at: int) -> tuple[int, int]:
    """A varint, and the place after it."""
    value = encoded[at]
    at += 1
    if value < 0x80:
        return value, at
    value &= 0x7F
    shift = 7
    while True:
        byte = encoded[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
