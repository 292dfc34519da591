"""Denied calls of a WASI program, with the missing capability."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.wasi.capabilities import Preopen, plain_path

if TYPE_CHECKING:
    from collections.abc import Sequence

FIRST_PREOPEN = 3
_EACCES = 2


class Cause(StrEnum):
    """Cause of a denial."""

    NOT_GRANTED = "not granted"
    READ_ONLY = "read-only"
    OUTSIDE = "outside"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class Denial:
    """Denied call. Relative and absolute paths are equivalent, as in most C libraries."""

    function: str
    path: str
    cause: Cause
    writes: bool
    preopen: Preopen | None = None

    @property
    def text(self) -> str:
        """The denied path and the option that grants it."""
        denied = f"denied {'write' if self.writes else 'read'} access to {self.path}"
        if self.cause is Cause.NOT_GRANTED:
            return f"{denied}: not in a granted directory; add --dir {self._missing()}"
        if self.cause is Cause.READ_ONLY:
            return f"{denied}: --dir {self.preopen} is read-only; remove :ro to allow it"
        if self.cause is Cause.HOST:
            return f"{denied}: file permissions of the host"
        preopen = f"--dir {self.preopen}" if self.preopen is not None else "the granted directory"
        return f"{denied}: outside of {preopen} (through .. or a symbolic link); grant the target directory"

    def _missing(self) -> Preopen:
        """The directory to grant: the parent of the file. Existing files decide between relative and absolute."""
        relative = self.path.lstrip("/")
        absolute = Path("/", relative)
        if self._exists(Path(relative)) and not self._exists(absolute):
            folder = posixpath.dirname(relative) or "."
        else:
            folder = str(absolute if absolute.is_dir() else absolute.parent)
        return Preopen(folder, folder, read_only=not self.writes)

    def _exists(self, path: Path) -> bool:
        """For a write, the parent directory is sufficient."""
        return path.exists() or (self.writes and path.parent.is_dir())


def denial_of(
    opened: Sequence[Preopen | None], function: str, error: int, paths: Sequence[tuple[int, str]], *, writes: bool
) -> Denial:
    """The denial of a failed call.

    `opened`: preopens in the order of their descriptors, None for the sentinel; `paths`: the paths of the call, each
    with the descriptor of its base directory.
    """
    sentinel = FIRST_PREOPEN + opened.index(None) if None in opened else -1
    for fd, path in paths:
        if fd == sentinel:
            return Denial(function, posixpath.join("/", path), Cause.NOT_GRANTED, writes)
    located = [(_preopen(opened, fd), path) for fd, path in paths]
    for preopen, path in located:
        if preopen is not None and preopen.read_only and writes and _stays_inside(path):
            return Denial(function, posixpath.join(preopen.guest, path), Cause.READ_ONLY, writes, preopen)
    preopen, path = next(((preopen, path) for preopen, path in located if not _stays_inside(path)), located[0])
    shown = path if preopen is None else posixpath.join(preopen.guest, path.lstrip("/"))
    return Denial(function, shown, Cause.HOST if error == _EACCES else Cause.OUTSIDE, writes, preopen)


def _preopen(opened: Sequence[Preopen | None], fd: int) -> Preopen | None:
    """The preopen with that descriptor; None for a directory opened by the program."""
    number = fd - FIRST_PREOPEN
    return opened[number] if 0 <= number < len(opened) else None


def _stays_inside(path: str) -> bool:
    """Whether a path stays in its base directory, symbolic links aside."""
    return not path.startswith("/") and plain_path(path).split("/")[0] != ".."
