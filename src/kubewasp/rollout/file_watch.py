"""Watch of files by polling: replaced files, links to other files (a ConfigMap's `..data`), changed contents.

Polling takes a few system calls per file and works on every file system, with links and with mounted volumes.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class _Identity:
    """A file's place and state, without its content."""

    target: str
    device: int
    inode: int
    size: int
    modified: int


class FileWatch:
    """Contents of some files, as last seen. A file that cannot be read is unchanged: it may be in replacement."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[_Identity, str] | None] = {}

    def follow(self, paths: Iterable[str]) -> None:
        """Sets the files to watch. Those that are watched already keep their last state."""
        wanted = set(paths)
        self._seen = {path: seen for path, seen in self._seen.items() if path in wanted}
        for path in wanted - self._seen.keys():
            self._seen[path] = _state(path)

    def changed(self) -> list[str]:
        """The files whose content is another since the last call."""
        found = []
        for path, seen in list(self._seen.items()):
            if seen is not None and _identity(path) == seen[0]:
                continue
            state = _state(path)
            if state is not None:
                self._seen[path] = state
                if seen is None or state[1] != seen[1]:
                    found.append(path)
        return found


def _identity(path: str) -> _Identity | None:
    try:
        target = os.path.realpath(path)
        found = Path(path).stat()
    except OSError:
        return None
    return _Identity(target, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _state(path: str) -> tuple[_Identity, str] | None:
    identity = _identity(path)
    if identity is None:
        return None
    digest = hashlib.sha256()
    try:
        with Path(path).open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError:
        return None
    return identity, digest.hexdigest()
