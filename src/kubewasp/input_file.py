"""Input files: a path, or standard input in place of one."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from typing import IO, Any, Final, Literal, Protocol

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

    def __getstate__(self) -> dict[str, Any]:
        """With the content: another process has another standard input."""
        self.open("rb").close()
        return {"_content": self._content}

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


class HeldFile(StandardInput):
    """A file with its content in memory, which can be sent to other processes and does not change meanwhile."""

    def __init__(self, name: str, content: bytes, parent: Path | None = None) -> None:
        self._name = name
        self._content = content
        self._parent = parent or Path()

    @classmethod
    def of(cls, file: InputFile, max_bytes: int = _MAX_BYTES) -> HeldFile:
        """The content of a file. OSError if there is too much of it, as for other problems."""
        with file.open("rb") as opened:
            content = opened.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(file))
        return cls(str(file), content, file.parent)

    def __str__(self) -> str:
        return self._name

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    @property
    def parent(self) -> Path:
        return self._parent

    @property
    def content(self) -> bytes:
        return self._content or b""


def input_file(file: str | InputFile) -> InputFile:
    """The file of this path, or the file itself."""
    return Path(file) if isinstance(file, str) else file
