"""Compiled modules on disk, so that a guest is compiled once.

An entry's name is made of the wasm's digest, the wasmtime version and the engine's settings; its content is checked
against a digest of its own before it is given to the runtime, which trusts what it is given.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from importlib.metadata import version
from pathlib import Path

logger = logging.getLogger(__name__)
_DIGEST_SIZE = hashlib.sha256().digest_size
MAX_BYTES = 1 << 30


def directory() -> Path:
    """Where compiled modules are kept: $KUBEWASP_CACHE_DIR, or kubewasp under the user's cache directory."""
    configured = os.environ.get("KUBEWASP_CACHE_DIR")
    if configured:
        return Path(configured)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kubewasp"


class CompilationCache:
    """A folder of compiled modules; every failure of the disk means a miss, never an error."""

    def __init__(self, folder: Path, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def key(self, wasm: bytes, settings: str) -> str:
        return hashlib.sha256(
            b"\0".join([hashlib.sha256(wasm).digest(), f"{_runtime()} {settings}".encode()])
        ).hexdigest()

    def get(self, key: str) -> bytes | None:
        path = self._path(key)
        try:
            if not self._is_ours(path):
                return None
            content = path.read_bytes()
            digest, compiled = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
            if hashlib.sha256(compiled).digest() != digest:
                logger.warning("compiled module %s is damaged and is made again", path)
                return None
            os.utime(path)
        except OSError:
            return None
        return compiled

    def put(self, key: str, compiled: bytes) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._folder, suffix=".new")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(compiled).digest())
                    file.write(compiled)
                Path(name).replace(self._path(key))
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
            self._prune()
        except OSError as error:
            logger.info("compiled modules are not kept: %s", error)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.cwasm"

    def _is_ours(self, path: Path) -> bool:
        """Compiled code is run as it is: only the user's own files may be."""
        for item in (self._folder, path):
            status = item.stat()
            if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                logger.warning("compiled modules in %s are not used: others may write there", self._folder)
                return False
        return True

    def _prune(self) -> None:
        entries = sorted(((e.stat().st_mtime, e.stat().st_size, e) for e in self._folder.glob("*.cwasm")), reverse=True)
        total = 0
        for _, size, entry in entries:
            total += size
            if total > self._max_bytes:
                entry.unlink(missing_ok=True)


def _runtime() -> str:
    return f"wasmtime {version('wasmtime')}"
