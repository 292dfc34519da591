"""Cache folder of the user. Folders and files are opened by descriptor, without following links, and checked there.

A file that another user owns or may write to is not used. Nothing is looked up by path again.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import stat
import tempfile
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CONTINUED: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class NotOursError(OSError):
    """Another user owns the file or may write to it, or it is not a plain file."""


def directory() -> Path:
    """$KUBEWASP_CACHE_DIR, or `kubewasp` in the user's cache directory."""
    configured = os.environ.get("KUBEWASP_CACHE_DIR")
    if configured:
        return Path(configured)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kubewasp"


@cache
def private_folder() -> Path:
    """A folder that ends with the process, in place of one that cannot be used."""
    folder = Path(tempfile.mkdtemp(prefix="kubewasp-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextmanager
def opened_folder(path: Path, *, make: bool = False) -> Iterator[int]:
    """Descriptor of the folder."""
    if make:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = os.open(path, _READ | os.O_DIRECTORY)
    try:
        check_ours(os.fstat(folder), stat.S_IFDIR)
        yield folder
    finally:
        os.close(folder)


def open_file(folder: int, name: str, *, private: bool = False) -> IO[bytes]:
    """A file for reading."""
    return _checked(os.open(name, _READ | os.O_NONBLOCK, dir_fd=folder), "rb", private=private)


def continue_file(folder: int, name: str) -> IO[bytes]:
    """A file for reading and writing, new or as it is."""
    return _checked(os.open(name, _CONTINUED, 0o600, dir_fd=folder), "r+b")


def read_file(folder: int, name: str, *, private: bool = False) -> bytes:
    with open_file(folder, name, private=private) as file:
        return file.read()


def write_file(folder: int, name: str, content: Iterable[bytes], *, replace: bool = True) -> None:
    """Writes a file at once. Without `replace`, one that is there already stays."""
    fresh = f"{secrets.token_hex(16)}.new"
    try:
        with os.fdopen(os.open(fresh, _NEW, 0o600, dir_fd=folder), "wb") as file:
            file.writelines(content)
        if replace:
            os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            with suppress(FileExistsError):
                os.link(fresh, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=folder)


def names(folder: int) -> list[str]:
    return os.listdir(folder)


def prune(folder: int, suffix: str, max_bytes: int) -> None:
    """Removes the files that were used longest ago, until the rest is within the limit."""
    entries = []
    for name in names(folder):
        if name.endswith(suffix):
            with suppress(FileNotFoundError):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                entries.append((found.st_mtime, found.st_size, name))
    total = 0
    for _, size, name in sorted(entries, reverse=True):
        total += size
        if total > max_bytes:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)


def check_ours(found: os.stat_result, kind: int, *, private: bool = False) -> None:
    if stat.S_IFMT(found.st_mode) != kind:
        raise NotOursError("it is not a folder of plain files")
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise NotOursError("other users may write to it")
    if private and found.st_mode & 0o077:
        raise NotOursError("other users may read its key; delete the folder")


def _checked(descriptor: int, mode: str, *, private: bool = False) -> IO[bytes]:
    try:
        check_ours(os.fstat(descriptor), stat.S_IFREG, private=private)
        return os.fdopen(descriptor, mode)
    except BaseException:
        os.close(descriptor)
        raise
