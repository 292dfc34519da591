"""Fuzz target: host calls with any numbers, through the adapter: an answer or a failed hook, and no other effect.

The first byte chooses the import, the next ones its arguments: edges of the guest's memory, or four bytes each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.wasm.core.abi import EXTENSION_IMPORTS
from tests.guests import EXTENSION, IMPORTS
from tests.wasm.core.abi_checks import SMALL, check_extension, check_import

if TYPE_CHECKING:
    from collections.abc import Iterator


def edges(size: int) -> list[int]:
    """Addresses and lengths around everything that could be an edge, for a memory of that size; unsigned."""
    found = {0, 1, 6, 8, 48, 64, 128, 1024, size - 8, size - 1, size, size + 1, 2**31 - 1, 2**31, 2**32 - 1}
    return sorted(edge % 2**32 for edge in found)


def signed(number: int) -> int:
    """As i32."""
    return (number + 2**31) % 2**32 - 2**31


def one(data: bytes) -> None:
    """Calls one import. AssertionError for an effect that it must not have."""
    which = data[0] % (len(IMPORTS) + len(EXTENSION)) if data else 0
    arguments = list(_arguments(data[1:]))
    if which < len(IMPORTS):
        check_import(SMALL, which, arguments[: IMPORTS[which][2]])
    else:
        number = which - len(IMPORTS)
        check_extension(SMALL, number, arguments[: len(EXTENSION_IMPORTS[number].parameters)])


def seeds() -> Iterator[bytes]:
    for which in range(len(IMPORTS) + len(EXTENSION)):
        yield bytes([which, *range(8, 13)])
        yield bytes([which, *range(5)])


def _arguments(data: bytes) -> Iterator[int]:
    """Five arguments: a byte below 128 is the number of an edge, another one is followed by the number itself."""
    known, at = edges(SMALL), 0
    for _ in range(5):
        kind = data[at] if at < len(data) else 0
        if kind < 128:
            yield signed(known[kind % len(known)])
            at += 1
        else:
            yield signed(int.from_bytes(data[at + 1 : at + 5], "little"))
            at += 5
