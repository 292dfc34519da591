"""Instances of linked modules by plain addresses: a web handler makes and frees one for each request.

HOT PATH (guard: make counts); measured by `make bars ARGS='--only web'`. Below wasmtime-py's public interface, as
ffi.py: its stores, instances, functions and memories are a dozen objects for each request, with a conversion for every
argument. Here an instance is one object with one block of memory, and arguments are numbers.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from wasmtime import Trap, WasmtimeError
from wasmtime import _bindings as bindings
from wasmtime import _ffi as ffi

from kubewasp.wasm.ffi import library_keeping_lock

if TYPE_CHECKING:
    from wasmtime import Config, Engine, InstancePre, WasiConfig

_ADDRESS: Final = ctypes.c_void_p
_SIZE: Final = ctypes.c_size_t
_COUNT: Final = ctypes.c_int64


def _function(name: str, result: Any, *parameters: Any, releases_lock: bool = False) -> Any:
    """A function of the runtime with types of its own."""
    found = (ffi.dll if releases_lock else library_keeping_lock)[name]
    found.restype, found.argtypes = result, parameters
    return found


def _both(name: str, result: Any, *parameters: Any) -> tuple[Any, Any]:
    """The same function without and with Python's lock kept: indexed by a bool."""
    return tuple(_function(name, result, *parameters, releases_lock=releases) for releases in (True, False))


_store_new = _function("wasmtime_store_new", _ADDRESS, _ADDRESS, _ADDRESS, _ADDRESS)
_store_context = _function("wasmtime_store_context", _ADDRESS, _ADDRESS)
_store_limiter = _function("wasmtime_store_limiter", None, _ADDRESS, *[_COUNT] * 5)
_set_wasi = _function("wasmtime_context_set_wasi", _ADDRESS, _ADDRESS, _ADDRESS)
_set_deadline = _function("wasmtime_context_set_epoch_deadline", None, _ADDRESS, ctypes.c_uint64)
_export_get = _function("wasmtime_instance_export_get", ctypes.c_bool, _ADDRESS, _ADDRESS, _ADDRESS, _SIZE, _ADDRESS)
_caller_export_get = _function("wasmtime_caller_export_get", ctypes.c_bool, _ADDRESS, _ADDRESS, _SIZE, _ADDRESS)
_memory_data = _function("wasmtime_memory_data", _SIZE, _ADDRESS, _ADDRESS)
_memory_size = _function("wasmtime_memory_data_size", _SIZE, _ADDRESS, _ADDRESS)
_instantiate = _both("wasmtime_instance_pre_instantiate", _ADDRESS, _ADDRESS, _ADDRESS, _ADDRESS, _ADDRESS)
_call = _both("wasmtime_func_call_unchecked", _ADDRESS, _ADDRESS, _ADDRESS, _ADDRESS, _SIZE, _ADDRESS)
_store_delete = _both("wasmtime_store_delete", None, _ADDRESS)

# Bytes of a pooled memory or table that are cleared by writing; the rest is given back to the system.
_KEPT: Final = 128 * 1024
# Layout of an instance's block, in words: two values, a trap, the instance, and room for exports.
_WORD: Final = 8
_SECOND, _TRAP, _INSTANCE, _EXPORTS = 2, 4, 6, 8
_EXPORT_WORDS: Final[int] = ctypes.sizeof(ffi.wasmtime_extern_t) // _WORD
_OF: Final[int] = ffi.wasmtime_extern_t.of.offset
_MAX_EXPORTS: Final = 8
_Block: Final = ctypes.c_uint64 * (_EXPORTS + _MAX_EXPORTS * _EXPORT_WORDS)
_MEMORY_KIND: Final = ffi.WASMTIME_EXTERN_MEMORY.value


def use_pool(config: Config, instances: int) -> None:
    """Has memories of at most so many instances at a time come from a pool: each is cleared, and mapped only once.

    Their address space is reserved when the engine is made. Modules beyond the pool's limits cannot be loaded.
    """
    pool = _function("wasmtime_pooling_allocation_config_new", _ADDRESS)()
    try:
        for name, kind, value in (
            ("total_core_instances", ctypes.c_uint32, instances),
            ("total_memories", ctypes.c_uint32, instances),
            ("total_tables", ctypes.c_uint32, instances),
            ("max_memory_size", _SIZE, 1 << 32),
            ("max_core_instance_size", _SIZE, 16 << 20),
            ("table_elements", _SIZE, 1 << 17),
            ("linear_memory_keep_resident", _SIZE, _KEPT),
            ("table_keep_resident", _SIZE, _KEPT),
        ):
            _function(f"wasmtime_pooling_allocation_config_{name}_set", None, _ADDRESS, kind)(pool, value)
        _function("wasmtime_pooling_allocation_strategy_set", None, _ADDRESS, _ADDRESS)(config.ptr(), pool)
    finally:
        _function("wasmtime_pooling_allocation_config_delete", None, _ADDRESS)(pool)


class InstanceTemplate:
    """Linked module, and the limits of its instances: bytes of a memory, table elements, instances, tables, memories.

    Its engine must keep memories at their place (`EngineSettings.memory_stays`).
    """

    __slots__ = ("_keep", "engine", "limits", "prepared")

    def __init__(self, engine: Engine, prepared: InstancePre, limits: tuple[int, int, int, int, int]) -> None:
        self._keep = engine, prepared
        self.engine: int = ctypes.cast(engine.ptr(), _ADDRESS).value or 0
        self.prepared: int = ctypes.cast(prepared.ptr(), _ADDRESS).value or 0
        self.limits = limits


class LightInstance:
    """Store with one instance, called by one thread at a time.

    The runtime checks no types of its calls: for exports whose types were checked at load time only, with two i32
    parameters at most and one result or none.
    """

    __slots__ = (
        "_at",
        "_base",
        "_block",
        "_context",
        "_exports",
        "_keeps_lock",
        "_memory",
        "_size",
        "_store",
        "_template",
    )

    def __init__(self, template: InstanceTemplate, *, keeps_lock: bool) -> None:
        """`keeps_lock`: Python's lock is kept in calls, for short calls whose time limit works without the lock."""
        self._template = template
        self._keeps_lock = keeps_lock
        self._block = _Block()
        self._at = ctypes.addressof(self._block)
        self._exports = 0
        self._memory = self._base = self._size = 0
        self._store: int = _store_new(template.engine, None, None)
        self._context: int = _store_context(self._store)
        _store_limiter(self._store, *template.limits)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Frees the store; no other method may follow."""
        store, self._store = self._store, 0
        if store:
            _store_delete[self._keeps_lock](store)

    def keep_lock(self, keep: bool) -> None:
        self._keeps_lock = keep

    def set_wasi(self, wasi: WasiConfig) -> None:
        if error := _set_wasi(self._context, wasi._consume()):
            raise _error(error)

    def set_deadline(self, ticks: int) -> None:
        """Ticks of the engine's epoch until guest code is ended."""
        _set_deadline(self._context, ticks)

    def instantiate(self) -> None:
        """Makes the instance, and runs its start section."""
        at = self._at
        error = _instantiate[self._keeps_lock](
            self._template.prepared, self._context, at + _INSTANCE * _WORD, at + _TRAP * _WORD
        )
        if error or self._block[_TRAP]:
            self._fail(error)
        if not self._memory:
            self._memory = self.exported(b"memory")

    def exported(self, name: bytes) -> int:
        """An export that is known to be there: its place, for `call`."""
        at = self._room()
        if not _export_get(self._context, self._at + _INSTANCE * _WORD, name, len(name), at):
            raise KeyError(name)
        return at + _OF

    def call(self, function: int, first: int = 0, second: int = 0) -> int:
        """Calls an export; the bits of its result, of no meaning without one."""
        block = self._block
        block[0], block[_SECOND] = first, second
        at = self._at
        error = _call[self._keeps_lock](self._context, function, at, 2, at + _TRAP * _WORD)
        if error or block[_TRAP]:
            self._fail(error)
        return int(block[0])

    def take_memory(self, caller: object) -> None:
        """Finds the memory during a start section, whose exports are not available yet."""
        at = self._room()
        found = _caller_export_get(caller, b"memory", len(b"memory"), at)
        if found and ctypes.c_uint8.from_address(at).value == _MEMORY_KIND:
            self._memory = at + _OF
        else:
            self._exports -= 1

    @property
    def has_memory(self) -> bool:
        return self._memory != 0

    @property
    def memory_size(self) -> int:
        return int(_memory_size(self._context, self._memory)) if self._memory else 0

    def place(self, address: int, length: int) -> int:
        """Address in this process of a part of the memory; IndexError if it is outside.

        A memory grows, and never shrinks or moves: within the known size there is nothing to ask.
        """
        if address + length > self._size:
            self._look(address, length)
        return self._base + address

    def _look(self, address: int, length: int) -> None:
        if not self._memory:
            raise IndexError("the guest has no memory yet")
        self._size = _memory_size(self._context, self._memory)
        self._base = _memory_data(self._context, self._memory)
        if address + length > self._size:
            raise IndexError(f"{length} bytes at {address} are outside of the guest's memory of {self._size} bytes")

    def _room(self) -> int:
        if self._exports == _MAX_EXPORTS:
            raise RuntimeError(f"more than {_MAX_EXPORTS} exports in use")
        at = self._at + (_EXPORTS + self._exports * _EXPORT_WORDS) * _WORD
        self._exports += 1
        return at

    def _fail(self, error: int | None) -> None:
        if error:
            raise _error(error)
        trap, self._block[_TRAP] = self._block[_TRAP], 0
        raise Trap._from_ptr(ctypes.cast(trap, ctypes.POINTER(bindings.wasm_trap_t)))


def _error(error: int) -> WasmtimeError:
    return WasmtimeError._from_ptr(ctypes.cast(error, ctypes.POINTER(bindings.wasmtime_error_t)))
