"""A program's memory, as the host functions read and write it: with bounds, and with one look at its size a call."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wasmtime import Memory, Store


class ProgramMemory:
    """Where the memory is and how long, at the time it is made; it may move when the program runs on."""

    __slots__ = ("_base", "_size")

    def __init__(self, store: Store, memory: Memory) -> None:
        self._base = ctypes.addressof(memory.data_ptr(store).contents)
        self._size = memory.data_len(store)

    def check(self, address: int, length: int) -> None:
        """IndexError for a place outside; `address` and `length` are not negative."""
        if address + length > self._size:
            raise IndexError("outside of the program's memory")

    def read(self, address: int, length: int) -> bytes:
        self.check(address, length)
        return ctypes.string_at(self._base + address, length)

    def write(self, address: int, content: bytes) -> None:
        self.check(address, len(content))
        ctypes.memmove(self._base + address, content, len(content))

    def write_number(self, address: int, number: int) -> None:
        self.write(address, number.to_bytes(4, "little"))
