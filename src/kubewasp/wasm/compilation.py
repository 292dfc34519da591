"""From wasm bytes to a compiled module or component, through the cache on disk."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, TypeVar

from wasmtime import Module, WasmtimeError, wat2wasm
from wasmtime.component import Component

from kubewasp.wasm.cache import CompilationCache, directory

if TYPE_CHECKING:
    from wasmtime import Engine


Compiled = TypeVar("Compiled", Module, Component)


def load_compiled(kind: type[Compiled], engine: Engine, settings: str, wasm: bytes) -> Compiled | None:
    """The module, or component, as it was compiled before, or None."""
    cache = CompilationCache(directory())
    compiled = cache.get(cache.key(wasm, settings))
    if compiled is None:
        return None
    try:
        return kind.deserialize(engine, compiled)
    except WasmtimeError:
        return None


def compile_and_keep(kind: type[Compiled], engine: Engine, settings: str, wasm: bytes) -> Compiled:
    """Compiles and keeps the result for the next time."""
    return _kept(kind(engine, wasm), settings, wasm)


def _kept(compiled: Compiled, settings: str, source: bytes) -> Compiled:
    cache = CompilationCache(directory())
    cache.put(cache.key(source, settings), bytes(compiled.serialize()))
    return compiled


def compile_text(engine: Engine, settings: str, wat: str) -> Module:
    """A module of our own, from its text; the text stands for the wasm in the cache's key, so it is parsed once."""
    source = hashlib.sha256(wat.encode()).digest()
    settings = f"{settings} text"
    module = load_compiled(Module, engine, settings, source)
    return _kept(Module(engine, bytes(wat2wasm(wat))), settings, source) if module is None else module
