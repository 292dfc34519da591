"""From wasm bytes to a compiled module, through the cache on disk."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from wasmtime import Module, WasmtimeError, wat2wasm

from kubewasp.wasm.cache import CompilationCache, directory

if TYPE_CHECKING:
    from wasmtime import Engine


def load_compiled(engine: Engine, settings: str, wasm: bytes) -> Module | None:
    """The module as it was compiled before, or None."""
    cache = CompilationCache(directory())
    compiled = cache.get(cache.key(wasm, settings))
    if compiled is None:
        return None
    try:
        return Module.deserialize(engine, compiled)
    except WasmtimeError:
        return None


def compile_module(engine: Engine, settings: str, wasm: bytes) -> Module:
    """Compiles and keeps the result for the next time."""
    module = Module(engine, wasm)
    cache = CompilationCache(directory())
    cache.put(cache.key(wasm, settings), bytes(module.serialize()))
    return module


def compile_text(engine: Engine, settings: str, wat: str) -> Module:
    """A module of our own, from its text; the text stands for the wasm in the cache's key, so it is parsed once."""
    source = hashlib.sha256(wat.encode()).digest()
    settings = f"{settings} text"
    module = load_compiled(engine, settings, source)
    if module is None:
        module = Module(engine, bytes(wat2wasm(wat)))
        cache = CompilationCache(directory())
        cache.put(cache.key(source, settings), bytes(module.serialize()))
    return module
