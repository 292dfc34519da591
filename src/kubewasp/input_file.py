"""Input files: a path, or standard input in place of one."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import IO, Final, Literal, Protocol

# Above the largest limit of a reader: none accepts more, and memory is bounded.
_MAX_BYTES: Final = 2**30


class InputFile(Protocol):
    """What readers of a file use of it; its text is its name in errors. A `Path` is one."""

    @property
    def parent(self) -> Path:
        """Folder at which relative paths in the file start."""

    def open(self, mode: Literal["rb"], /) -> IO[bytes]: ...


class StandardInput:
    """Standard input of the process. The content is read once, by the first reader, and kept."""

    def __init__(self) -> None:
        self._content: bytes | None = None

    def __str__(self) -> str:
        return "standard input"

    @property
    def parent(self) -> Path:
        """The working directory."""
        return Path()

    def open(self, _mode: Literal["rb"], /) -> IO[bytes]:
        if self._content is None:
            if sys.stdin is None:
                raise OSError(None, "is closed")
            self._content = sys.stdin.buffer.read(_MAX_BYTES + 1)
        return io.BytesIO(self._content)


def input_file(file: str | InputFile) -> InputFile:
    """The file of this path, or the file itself."""
    return Path(file) if isinstance(file, str) else file
