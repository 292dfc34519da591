"""Sources and sinks for the standard streams of a program.

A source takes a maximum number of bytes and returns none at its end; a sink takes bytes. Both are called on the thread
of the program, one call at a time; a blocking one blocks the program, beyond its time limit too.
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
    """Output of a program over the limit of its buffer."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """File descriptor of this process, as a source or a sink."""

    number: int

    def __call__(self, wanted: int | bytes) -> bytes:
        if isinstance(wanted, int):
            return os.read(self.number, wanted)
        rest = memoryview(wanted)
        while rest:
            rest = rest[os.write(self.number, rest) :]
        return b""


class Buffer:
    """Sink in memory; output over the limit ends the program with OutputLimitError."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._content = bytearray()

    def __call__(self, content: bytes) -> None:
        if len(self._content) + len(content) > self._limit:
            raise OutputLimitError(f"program output is over the limit of {self._limit} bytes")
        self._content += content

    def content(self) -> bytes:
        return bytes(self._content)


def of_bytes(content: bytes) -> Source:
    """Source in memory."""
    return BytesIO(content).read


def empty(_wanted: int) -> bytes:
    """Empty source."""
    return b""


def discard(_content: bytes) -> None:
    """Sink that discards everything."""


@dataclass(frozen=True, slots=True)
class StandardStreams:
    """Standard streams of a program."""

    stdin: Source
    stdout: Sink
    stderr: Sink

    def inherited(self) -> tuple[bool, bool, bool]:
        """Flags for stdin, stdout and stderr: inherited from this process."""
        return (self.stdin == Descriptor(0), self.stdout == Descriptor(1), self.stderr == Descriptor(2))
