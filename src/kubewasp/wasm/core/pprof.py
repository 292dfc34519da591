"""Profiles in the format of pprof: a gzipped protobuf, profile.proto of github.com/google/pprof.

A location is a function: the runtime's samples have no lines.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Final

from kubewasp.k8s.varint import leb128

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kubewasp.wasm.core.profiling import Function

    Field = tuple[int, int | bytes]

# Mappings: the guest and the host. With their functions known, pprof looks for no symbols.
_GUEST, _HOST = 1, 2


def encode(
    stacks: Mapping[tuple[Function, ...], int], *, guest: str, host: str, period_ns: int, ended_ns: int
) -> bytes:
    """Samples of stacks, outermost function first, as a pprof profile of counts and CPU time."""
    texts = _Texts()
    functions: dict[Function, int] = {}
    samples = []
    for stack, count in stacks.items():
        places = [functions.setdefault(item, len(functions) + 1) for item in reversed(stack)]  # innermost first
        values = _packed((count, count * period_ns))
        samples.append(_message((1, _packed(places)), (2, values)))
    cpu = _message((1, texts.add("cpu")), (2, texts.add("nanoseconds")))
    document: list[Field] = [(1, _message((1, texts.add("samples")), (2, texts.add("count")))), (1, cpu)]
    document += [(2, sample) for sample in samples]
    for number, name in ((_GUEST, guest), (_HOST, host)):
        document.append((3, _message((1, number), (5, texts.add(name)), (7, 1))))
    for item, number in functions.items():
        mapping = _HOST if item.is_host else _GUEST
        document.append((4, _message((1, number), (2, mapping), (4, _message((1, number))))))
        text = texts.add(item.name)
        document.append((5, _message((1, number), (2, text), (3, text))))
    duration = sum(stacks.values()) * period_ns
    document += [(9, ended_ns - duration), (10, duration), (11, cpu), (12, period_ns), (14, texts.add("cpu"))]
    document += [(6, text.encode()) for text in texts.numbers]
    return gzip.compress(_message(*document), mtime=0)


class _Texts:
    """The table of texts: fields have the number of a text. The first one is empty."""

    def __init__(self) -> None:
        self.numbers = {"": 0}

    def add(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


_VARINT: Final = 0
_BYTES: Final = 2


def _message(*fields: Field) -> bytes:
    return b"".join(
        leb128(number << 3 | _VARINT) + leb128(value)
        if isinstance(value, int)
        else leb128(number << 3 | _BYTES) + leb128(len(value)) + value
        for number, value in fields
    )


def _packed(values: Iterable[int]) -> bytes:
    return b"".join(map(leb128, values))
