"""Mutation of inputs: bytes, numbers, tokens, and parts of other inputs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

MAX_SIZE: Final = 1 << 20
_NUMBERS: Final = (0, 1, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
_TOKENS: Final = (
    b"null", b"true", b"[]", b"{}", b"[[", b"}}", b'""', b"-1", b"1e999", b"1e-999", b"NaN", b"0x10", b"9" * 400,
    b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"&a ", b"*a", b"<<: ", b"!!python/object:os.system",
    b"---\n", b"...", b"- ", b": ", b"? ", b"|2\n", b"\r\n", b"%", b"../", b"\xe2\x80\xae", b"\x1b[31m", b"1Ki",
    b"1.5E", b"100m", b"2026-02-30T99:99:99Z", b"1h-1s",
)  # fmt: skip
_WORD: Final = re.compile(rb"[A-Za-z][A-Za-z0-9_./-]{2,40}")


def mutated(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """A changed copy of the data; one to a dozen changes."""
    for _ in range(1 << chance.choice((0, 0, 1, 2, 3))):
        data = chance.choice(_CHANGES)(data, others, chance)
    return data[:MAX_SIZE]


def _flip(data: bytes, _others: Sequence[bytes], chance: random.Random) -> bytes:
    if not data:
        return bytes([chance.randrange(256)])
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]


def _number(data: bytes, _others: Sequence[bytes], chance: random.Random) -> bytes:
    number, place = chance.choice(_NUMBERS), chance.randrange(len(data) + 1)
    if chance.random() < 0.5:
        written = str(chance.choice((number, -number))).encode()
    else:
        written = number.to_bytes(8, "little")[: chance.choice((1, 2, 4, 8))]
    return data[:place] + written + data[place + chance.choice((0, len(written))) :]


def _varint(data: bytes, _others: Sequence[bytes], chance: random.Random) -> bytes:
    number, written = chance.choice(_NUMBERS), bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    written.append(number)
    place = chance.randrange(len(data) + 1)
    return data[:place] + bytes(written) + data[place + chance.choice((0, 1)) :]


def _token(data: bytes, _others: Sequence[bytes], chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    return data[:place] + chance.choice(_TOKENS) + data[place + chance.choice((0, 0, 1, 4)) :]


def _cut(data: bytes, _others: Sequence[bytes], chance: random.Random) -> bytes:
    start, end = sorted((chance.randrange(len(data) + 1), chance.randrange(len(data) + 1)))
    return data[:start] + data[end:]


def _repeat(data: bytes, _others: Sequence[bytes], chance: random.Random) -> bytes:
    start, end = sorted((chance.randrange(len(data) + 1), chance.randrange(len(data) + 1)))
    part = data[start : min(end, start + 200)]
    return data[:start] + part * chance.choice((2, 3, 17, 1100)) + data[end:]


def _splice(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    other = chance.choice(others)
    start, end = sorted((chance.randrange(len(other) + 1), chance.randrange(len(other) + 1)))
    place = chance.randrange(len(data) + 1)
    return data[:place] + other[start:end] + data[place + chance.choice((0, end - start)) :]


def _swap_words(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """A word, such as a field's name, in place of another."""
    here, there = list(_WORD.finditer(data)), _WORD.findall(chance.choice(others))
    if not here or not there:
        return data
    found, word = chance.choice(here), bytes(chance.choice(there))
    return data[: found.start()] + word + data[found.end() :]


_CHANGES: Final[Sequence[Callable[[bytes, Sequence[bytes], random.Random], bytes]]] = (
    _flip, _number, _varint, _token, _cut, _repeat, _splice, _swap_words, _swap_words,
)  # fmt: skip
