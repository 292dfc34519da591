"""Folder of compiled modules. Compiled code runs unchecked, so every entry carries a MAC with a key of the user.

The folder, the key and the entries are opened by descriptor, without following links, and checked there: owner, and no
write access of others. Nothing is looked up by path again.
"""

from __future__ import annotations

import atexit
import hashlib
import hmac
import logging
import os
import secrets
import shutil
import stat
import tempfile
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = logging.getLogger(__name__)
MAX_BYTES: Final = 1 << 30
_KEY: Final = "key"
_FORMAT: Final = "MAC"  # of entries; those of version 0.2.0 had a digest only
_KEY_SIZE, _MAC_SIZE = 32, 32
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def directory() -> Path:
    """Cache folder: $KUBEWASP_CACHE_DIR, or `kubewasp` in the user's cache directory."""
    configured = os.environ.get("KUBEWASP_CACHE_DIR")
    if configured:
        return Path(configured)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kubewasp"


def usable_cache() -> CompiledCache:
    """The cache of the user; if it cannot be used, a private one that ends with the process, if there can be one."""
    found = CompiledCache(directory())
    if found.is_usable():
        return found
    try:
        return CompiledCache(_private_folder())
    except OSError:  # no folder can be written: everything is a miss
        return found


@cache
def _private_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="kubewasp-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


class _NotOursError(OSError):
    """Another user owns the file or may write to it, or it is not a plain file."""


class CompiledCache:
    """A folder of compiled modules. A disk failure is a miss, never an error."""

    def __init__(self, folder: Path, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def key(self, wasm: bytes, settings: str) -> str:
        return hashlib.sha256(
            b"\0".join([hashlib.sha256(wasm).digest(), f"{_runtime()} {settings} {_FORMAT}".encode()])
        ).hexdigest()

    def is_usable(self) -> bool:
        """Whether entries can be written and read; makes the folder and its key."""
        try:
            with self._opened(make=True):
                return True
        except OSError as error:
            self._report(error)
            return False

    def get(self, key: str) -> bytes | None:
        try:
            with self._opened() as (folder, secret):
                content = _content(folder, _entry(key))
                mac, compiled = content[:_MAC_SIZE], content[_MAC_SIZE:]
                if not hmac.compare_digest(_mac(secret, key, compiled), mac):
                    path = str(self._folder / _entry(key))
                    logger.warning("Ignored a damaged compiled module; it is compiled again", extra={"path": path})
                    return None
                os.utime(_entry(key), dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._report(error)
            return None
        return compiled

    def put(self, key: str, compiled: bytes) -> None:
        try:
            with self._opened(make=True) as (folder, secret):
                _write(folder, _entry(key), [_mac(secret, key, compiled), compiled])
                self._prune(folder)
        except OSError as error:
            self._report(error)

    @contextmanager
    def _opened(self, *, make: bool = False) -> Iterator[tuple[int, bytes]]:
        """Descriptor of the folder, and its key."""
        if make:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(self._folder, _READ | os.O_DIRECTORY)
        try:
            _check_ours(os.fstat(folder), stat.S_IFDIR)
            yield folder, _secret(folder, make=make)
        finally:
            os.close(folder)

    def _report(self, error: OSError) -> None:
        if isinstance(error, _NotOursError):
            logger.warning("Ignored the compilation cache: %s", error, extra={"path": str(self._folder)})
        else:
            logger.info("Compilation cache is not usable", extra={"path": str(self._folder), "cause": str(error)})

    def _prune(self, folder: int) -> None:
        entries = []
        for name in os.listdir(folder):
            if name.endswith(".cwasm"):
                with suppress(FileNotFoundError):
                    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    entries.append((found.st_mtime, found.st_size, name))
        total = 0
        for _, size, name in sorted(entries, reverse=True):
            total += size
            if total > self._max_bytes:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)


def _entry(key: str) -> str:
    return f"{key}.cwasm"


def _mac(secret: bytes, key: str, compiled: bytes) -> bytes:
    """The entry's name is part of it: no entry can stand for another."""
    found = hashlib.blake2b(len(key).to_bytes(4, "little") + key.encode(), key=secret, digest_size=_MAC_SIZE)
    found.update(compiled)
    return found.digest()


def _secret(folder: int, *, make: bool) -> bytes:
    """The key of a folder, made on first use; only its owner can read it."""
    try:
        content = _content(folder, _KEY, private=True)
    except FileNotFoundError:
        if not make:
            raise
        _write(folder, _KEY, [secrets.token_bytes(_KEY_SIZE)], replace=False)
        content = _content(folder, _KEY, private=True)
    if len(content) != _KEY_SIZE:
        raise _NotOursError("its key is damaged; delete the folder")
    return content


def _content(folder: int, name: str, *, private: bool = False) -> bytes:
    with os.fdopen(os.open(name, _READ | os.O_NONBLOCK, dir_fd=folder), "rb") as file:
        _check_ours(os.fstat(file.fileno()), stat.S_IFREG, private=private)
        return file.read()


def _check_ours(found: os.stat_result, kind: int, *, private: bool = False) -> None:
    if stat.S_IFMT(found.st_mode) != kind:
        raise _NotOursError("it is not a folder of plain files")
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise _NotOursError("other users may write to it")
    if private and found.st_mode & 0o077:
        raise _NotOursError("other users may read its key; delete the folder")


def _write(folder: int, name: str, content: list[bytes], *, replace: bool = True) -> None:
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


def _runtime() -> str:
    return f"wasmtime {version('wasmtime')}"
