"""Folder of compiled modules. Compiled code runs unchecked, so every entry carries a MAC with a key of the user.

`user_cache` checks the folder, the key and the entries: owner, no links, no write access of others.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import secrets
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from kubewasp import user_cache
from kubewasp.user_cache import NotOursError, directory, open_file, read_file, write_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)
MAX_BYTES: Final = 1 << 30
_KEY: Final = "key"
_FORMAT: Final = "MAC"  # of entries; those of version 0.2.0 had a digest only
_KEY_SIZE, _MAC_SIZE = 32, 32
_SUFFIX: Final = ".cwasm"


def usable_cache() -> CompiledCache:
    """The cache of the user; if it cannot be used, a private one that ends with the process, if there can be one."""
    found = CompiledCache(directory())
    if found.is_usable():
        return found
    try:
        return CompiledCache(user_cache.private_folder())
    except OSError:  # no folder can be written: everything is a miss
        return found


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
                with open_file(folder, _entry(key)) as file:  # in two parts: a copy of 60 MB stops all threads
                    mac, compiled = file.read(_MAC_SIZE), file.read()
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
                write_file(folder, _entry(key), [_mac(secret, key, compiled), compiled])
                user_cache.prune(folder, _SUFFIX, self._max_bytes)
        except OSError as error:
            self._report(error)

    @contextmanager
    def _opened(self, *, make: bool = False) -> Iterator[tuple[int, bytes]]:
        """Descriptor of the folder, and its key."""
        with user_cache.opened_folder(self._folder, make=make) as folder:
            yield folder, _secret(folder, make=make)

    def _report(self, error: OSError) -> None:
        if isinstance(error, NotOursError):
            logger.warning("Ignored the compilation cache: %s", error, extra={"path": str(self._folder)})
        else:
            logger.info("Compilation cache is not usable", extra={"path": str(self._folder), "cause": str(error)})


def _entry(key: str) -> str:
    return f"{key}{_SUFFIX}"


def _mac(secret: bytes, key: str, compiled: bytes) -> bytes:
    """The entry's name is part of it: no entry can stand for another."""
    found = hashlib.blake2b(len(key).to_bytes(4, "little") + key.encode(), key=secret, digest_size=_MAC_SIZE)
    found.update(compiled)
    return found.digest()


def _secret(folder: int, *, make: bool) -> bytes:
    """The key of a folder, made on first use; only its owner can read it."""
    try:
        content = read_file(folder, _KEY, private=True)
    except FileNotFoundError:
        if not make:
            raise
        write_file(folder, _KEY, [secrets.token_bytes(_KEY_SIZE)], replace=False)
        content = read_file(folder, _KEY, private=True)
    if len(content) != _KEY_SIZE:
        raise NotOursError("its key is damaged; delete the folder")
    return content


def _runtime() -> str:
    return f"wasmtime {version('wasmtime')}"
