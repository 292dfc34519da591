"""Compilation of wasm through a cache on disk.

The name of a cache entry is made of the wasm's digest, the wasmtime version and the engine's settings. Its content
has its own digest, which is checked first: the runtime trusts compiled code.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from wasmtime import Module, WasmtimeError, wat2wasm
from wasmtime.component import Component

if TYPE_CHECKING:
    from wasmtime import Engine

Compiled = TypeVar("Compiled", Module, Component)
logger = logging.getLogger(__name__)
_DIGEST_SIZE = hashlib.sha256().digest_size
MAX_BYTES = 1 << 30


def directory() -> Path:
    """Cache folder: $KUBEWASP_CACHE_DIR, or `kubewasp` in the user's cache directory."""
    configured = os.environ.get("KUBEWASP_CACHE_DIR")
    if configured:
        return Path(configured)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kubewasp"


class CompilationCache:
    """A folder of compiled modules. A disk failure is a miss, never an error."""

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
                logger.warning("Ignored a damaged compiled module; it is compiled again", extra={"path": str(path)})
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
            logger.info("Compilation cache is not writable", extra={"cause": str(error)})

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.cwasm"

    def _is_ours(self, path: Path) -> bool:
        """Compiled code runs unchecked: only files that no other user can write are used."""
        for item in (self._folder, path):
            status = item.stat()
            if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                logger.warning(
                    "Ignored the compilation cache: other users may write to it", extra={"path": str(self._folder)}
                )
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


def load_compiled(kind: type[Compiled], engine: Engine, settings: str, wasm: bytes) -> Compiled | None:
    """The module or component from the cache, or None."""
    cache = CompilationCache(directory())
    compiled = cache.get(cache.key(wasm, settings))
    if compiled is None:
        return None
    try:
        return kind.deserialize(engine, compiled)
    except WasmtimeError:
        return None


def compile_and_keep(kind: type[Compiled], engine: Engine, settings: str, wasm: bytes) -> Compiled:
    """Compiles, and stores the result in the cache."""
    return _kept(kind(engine, wasm), settings, wasm)


def _kept(compiled: Compiled, settings: str, source: bytes) -> Compiled:
    cache = CompilationCache(directory())
    cache.put(cache.key(source, settings), bytes(compiled.serialize()))
    return compiled


def compile_text(engine: Engine, settings: str, wat: str) -> Module:
    """Compiles a module of the host from its text. The cache key is of the text, so a hit needs no parsing."""
    source = hashlib.sha256(wat.encode()).digest()
    settings = f"{settings} text"
    module = load_compiled(Module, engine, settings, source)
    return _kept(Module(engine, bytes(wat2wasm(wat))), settings, source) if module is None else module
