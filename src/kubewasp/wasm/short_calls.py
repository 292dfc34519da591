"""Calls into wasmtime that take less than a microsecond keep Python's lock.

wasmtime-py gives the lock away for every call. With other threads about, each such call may then cost a change of
threads: dozens of times for a request to a web handler, and between any two steps of a guest call in a scheduler that
also talks to an API server. What runs guest code, compiles or frees memory still gives the lock away: time limits need
a thread that counts, and others should go on.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

from wasmtime import _bindings as bindings
from wasmtime._ffi import dll

_SHORT: Final = (
    "wasmtime_context_set_epoch_deadline",
    "wasmtime_engine_increment_epoch",
    "wasmtime_global_get",
    "wasmtime_global_set",
    "wasmtime_global_type",
    "wasmtime_instance_export_get",
    "wasmtime_linker_get",
    "wasmtime_memory_data",
    "wasmtime_memory_data_size",
    "wasmtime_store_context",
    "wasmtime_store_limiter",
    "wasmtime_store_new",
    "wasmtime_val_unroot",
    "wasm_globaltype_content",
    "wasm_globaltype_delete",
    "wasm_valtype_delete",
    "wasm_valtype_kind",
    "wasm_valtype_new",
)


_library: Final = ctypes.PyDLL(dll._name, handle=dll._handle)


def keeping_the_lock(name: str) -> Any:
    """A function of wasmtime that does not give the lock away."""
    generous, function = getattr(bindings, f"_{name}"), getattr(_library, name)
    function.argtypes, function.restype = generous.argtypes, generous.restype
    return function


for _name in _SHORT:
    setattr(bindings, f"_{_name}", keeping_the_lock(_name))
