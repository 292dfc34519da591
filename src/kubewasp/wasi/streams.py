"""What a program's standard streams are connected to.

A source is asked for at most so many bytes and gives none at its end; a sink takes bytes. Both are called on the thread
that runs the program, one call at a time, so they may block: that holds the program back. Whoever makes one that blocks
sees to it that it ends when the program's time is over.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

from kubewasp.errors import KubewaspError

Source = Callable[[int], bytes]
Sink = Callable[[bytes], object]


class OutputLimitError(KubewaspError):
    """A program wrote more than is kept of it."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """An open file of this process, as a source or a sink."""

    number: int

    def __call__(self, wanted: int | bytes) -> bytes:
        if isinstance(wanted, int):
            return os.read(self.number, wanted)
        rest = memoryview(wanted)
        while rest:
            rest = rest[os.write(self.number, rest) :]
        return b""


class Buffer:
    """A sink that keeps what was written, up to a limit; more than that ends the program."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._content = bytearray()

    def __call__(self, content: bytes) -> None:
        if len(self._content) + len(content) > self._limit:
            raise OutputLimitError(f"the program wrote more than {self._limit} bytes")
        self._content += content

    def content(self) -> bytes:
        return bytes(self._content)


def of_bytes(content: bytes) -> Source:
    return BytesIO(content).read


def nothing(_wanted: int) -> bytes:
    """A source that is at its end."""
    return b""


def dropped(_content: bytes) -> None:
    """A sink for what nobody wants."""


def own_streams(stdin: Source, stdout: Sink, stderr: Sink) -> tuple[bool, bool, bool]:
    """Which of them are the standard streams of this process."""
    return (stdin == Descriptor(0), stdout == Descriptor(1), stderr == Descriptor(2))
