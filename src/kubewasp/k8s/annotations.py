"""Annotations of an object: validation of keys and total size, with the texts of Kubernetes; protobuf form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewasp.k8s.names import name_problems
from kubewasp.k8s.varint import leb128

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_ANNOTATION_BYTES: Final = 256 * 1024  # of all keys and values of an object
LONGEST_KEY: Final = 253 + 1 + 63
_SHOWN: Final = 80


def key_problem(key: str) -> str:
    """The first problem of an annotation's key, empty if it is valid. Case does not matter, as in Kubernetes."""
    if len(key) > LONGEST_KEY:
        return f'annotation "{shown_key(key)}": a key of {len(key)} characters is over the limit of {LONGEST_KEY}'
    problems = name_problems(key.lower())
    return f'annotation "{shown_key(key)}": {problems[0]}' if problems else ""


def size_problem(annotations: Mapping[str, str]) -> str:
    """The problem of annotations that are too large in total, empty if they are not."""
    size = annotations_size(annotations)
    if size <= MOST_ANNOTATION_BYTES:
        return ""
    return f"annotations size {size} is larger than limit {MOST_ANNOTATION_BYTES}"


def annotations_size(annotations: Mapping[str, str]) -> int:
    """Bytes of all keys and values."""
    return sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())


def shown_key(key: str) -> str:
    """The key, shortened for a message."""
    return key if len(key) <= _SHOWN else f"{key[:_SHOWN]}…"


def encoded_annotations(annotations: Mapping[str, str]) -> bytes:
    """The protobuf of an ObjectMeta that has only these annotations."""
    return b"".join(
        _field(0x62, _field(0x0A, key.encode()) + _field(0x12, value.encode())) for key, value in annotations.items()
    )


def _field(tag: int, value: bytes) -> bytes:
    return bytes((tag,)) + leb128(len(value)) + value
