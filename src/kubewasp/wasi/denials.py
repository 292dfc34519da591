"""What a program asked for and did not get, and which grant it would have needed."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.wasi.grants import Directory, plain_path

if TYPE_CHECKING:
    from collections.abc import Sequence

FIRST_DIRECTORY = 3
_HOST_PERMISSIONS = 2


class Cause(StrEnum):
    """Why it was not given."""

    NOT_GRANTED = "not granted"
    READ_ONLY = "read-only"
    OUTSIDE = "outside"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class Denial:
    """A call that was denied. Relative and absolute paths are not told apart: most programs' libraries do not."""

    function: str
    path: str
    cause: Cause
    writes: bool
    grant: Directory | None = None

    @property
    def text(self) -> str:
        """Says what was asked for and which grant is missing."""
        asked = f"the program asked {'to change' if self.writes else 'for'} {self.path}"
        if self.cause is Cause.NOT_GRANTED:
            return f"{asked}: no directory that holds it was granted; add --dir {self._wanted()}"
        if self.cause is Cause.READ_ONLY:
            return f"{asked}: --dir {self.grant} is read-only; take :ro away to let the program write there"
        if self.cause is Cause.HOST:
            return f"{asked}: the permissions of this machine's files forbid it"
        granted = f"--dir {self.grant}" if self.grant is not None else "the granted directory"
        return f"{asked}: it leads out of {granted} (by .. or a symbolic link); grant the directory that it leads to"

    def _wanted(self) -> Directory:
        """The directory to grant: the one that holds the file. What exists here tells what was meant."""
        relative = self.path.lstrip("/")
        absolute = Path("/", relative)
        if self._exists(Path(relative)) and not self._exists(absolute):
            folder = posixpath.dirname(relative) or "."
        else:
            folder = str(absolute if absolute.is_dir() else absolute.parent)
        return Directory(folder, folder, read_only=not self.writes)

    def _exists(self, path: Path) -> bool:
        """Of a file that is to be made, the directory."""
        return path.exists() or (self.writes and path.parent.is_dir())


def asked_for(
    opened: Sequence[Directory | None], function: str, error: int, paths: Sequence[tuple[int, str]], *, writes: bool
) -> Denial:
    """Why a call was denied.

    `opened` are the directories that the program found open, None being the witness; `paths` are those of the call,
    each with the number of the directory that it starts from.
    """
    witness = FIRST_DIRECTORY + opened.index(None) if None in opened else -1
    for fd, path in paths:
        if fd == witness:
            return Denial(function, posixpath.join("/", path), Cause.NOT_GRANTED, writes)
    directories = [(_granted(opened, fd), path) for fd, path in paths]
    for grant, path in directories:
        if grant is not None and grant.read_only and writes and _stays(path):
            return Denial(function, posixpath.join(grant.guest, path), Cause.READ_ONLY, writes, grant)
    grant, path = next(((grant, path) for grant, path in directories if not _stays(path)), directories[0])
    shown = path if grant is None else posixpath.join(grant.guest, path.lstrip("/"))
    return Denial(function, shown, Cause.HOST if error == _HOST_PERMISSIONS else Cause.OUTSIDE, writes, grant)


def _granted(opened: Sequence[Directory | None], fd: int) -> Directory | None:
    """The granted directory with that number; None for one that the program opened in a granted one."""
    number = fd - FIRST_DIRECTORY
    return opened[number] if 0 <= number < len(opened) else None


def _stays(path: str) -> bool:
    """Whether a path stays in its directory, as far as that can be seen from the path."""
    return not path.startswith("/") and plain_path(path).split("/")[0] != ".."
