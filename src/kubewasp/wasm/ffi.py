"""Everything below wasmtime-py's public interface; see docs/rationale.md, "Below the public interface".

HOT PATH (guard: make bars, host). Only this module and light_instance.py import private names of wasmtime, and this is
why wasmtime is pinned exactly. The tests of the adapter and of web guests fail if an update changes these interfaces.

- Short calls: wasmtime-py releases Python's lock (GIL) for every call. With other threads running, each call of less
  than a microsecond may then cost a thread switch. Those keep the lock; compiling, freeing and guest code release it.
- `ImportableMemory`: wasmtime-py cannot pass a shared memory as an import.
- `AdapterCall` and `GuestCall`: `Func.__call__` looks up the function's type each time (36 µs against 3 µs).
- `define_function`: wasmtime-py's host functions cost 20 µs per call and keep exceptions in a global of all threads.
- `linked` and `instantiated`: each import costs 13 µs otherwise.
- `on_deadline` and `epoch_increment`: wasmtime-py has no epoch callback, and a kernel timer needs a C function.
- `set_async_stack`: wasmtime-py has no setting for it.
- `GuestProfiler`: wasmtime-py has no interface for it.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import struct
from ctypes import string_at
from typing import TYPE_CHECKING, Any, Final

from wasmtime import (
    Func,
    FuncType,
    Global,
    Instance,
    Limits,
    Memory,
    MemoryType,
    SharedMemory,
    Store,
    Trap,
    ValType,
    WasmtimeError,
)
from wasmtime import _bindings as bindings
from wasmtime import _ffi as ffi

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from wasmtime import Config, Engine, Linker, Module

PAGE = 65536
MAX_PAGES = 65536

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
library_keeping_lock: Final = ctypes.PyDLL(ffi.dll._name, handle=ffi.dll._handle)


def keeping_lock(name: str) -> Any:
    """A function of wasmtime that keeps Python's lock."""
    releasing, function = getattr(bindings, f"_{name}"), getattr(library_keeping_lock, name)
    function.argtypes, function.restype = releasing.argtypes, releasing.restype
    return function


for _name in _SHORT:
    setattr(bindings, f"_{_name}", keeping_lock(_name))


_MADV_HUGEPAGE: int | None = getattr(mmap, "MADV_HUGEPAGE", None)  # Linux has it
_libc = ctypes.CDLL(None)
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def prefer_large_pages(address: int, length: int) -> None:
    """Advises 2 MB pages, where the system has them: writing a whole cluster takes a fifth less time."""
    if _MADV_HUGEPAGE is not None:
        _libc.madvise(address, length, _MADV_HUGEPAGE)


class ImportableMemory(SharedMemory):
    """Shared linear memory that modules can import and numpy can write. Its whole range is reserved: it never moves."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, MemoryType(Limits(1, MAX_PAGES), shared=True))

    def _as_extern(self) -> ffi.wasmtime_extern_t:
        union = ffi.wasmtime_extern_union(sharedmemory=self.ptr())
        return ffi.wasmtime_extern_t(ffi.WASMTIME_EXTERN_SHAREDMEMORY, union)

    def view(self) -> NDArray[np.uint8]:
        """The memory at its present size; take a new view after growing."""
        import numpy as np  # here: `wasi run` and `serve` start faster without it

        address = ctypes.addressof(self.data_ptr().contents)
        prefer_large_pages(address, self.data_len())
        return np.ctypeslib.as_array((ctypes.c_ubyte * self.data_len()).from_address(address))


_TrapPointer: Any = ctypes.POINTER(ffi.wasm_trap_t)
_VALUE_BYTES: Final = ctypes.sizeof(ffi.wasmtime_val_raw_t)


class AdapterCall:
    """An exported function with i32 parameters and no result.

    The runtime checks no types of unchecked calls: for functions of the adapter only.
    """

    __slots__ = ("_arguments", "_at_trap", "_call", "_context", "_count", "_function", "_pack", "_trap")
    _releasing: Any = staticmethod(ffi.wasmtime_func_call_unchecked)
    _keeping: Any = staticmethod(keeping_lock("wasmtime_func_call_unchecked"))

    def __init__(self, store: Store, function: Func, parameters: int) -> None:
        kind = function.type(store)
        if [str(item) for item in kind.params] != ["i32"] * parameters or kind.results:
            raise TypeError("not an adapter function")
        self._arguments = (ffi.wasmtime_val_raw_t * max(parameters, 1))()
        # One call for all arguments: an attribute of ctypes takes a third of a microsecond.
        self._pack = functools.partial(
            struct.Struct("<" + f"i{_VALUE_BYTES - 4}x" * parameters).pack_into, self._arguments, 0
        )
        self._trap = _TrapPointer()
        self._at_trap = ctypes.byref(self._trap)
        self._count = max(parameters, 1)
        self._context = store._context()
        self._function = ctypes.byref(function._func)
        self._call: Any = self._releasing

    def keep_lock(self, keep: bool) -> None:
        """Whether the next call keeps Python's lock: only for short calls whose time limit works without the lock."""
        self._call = self._keeping if keep else self._releasing

    def __call__(self, *parameters: int) -> None:
        self._pack(*parameters)
        error = self._call(self._context, self._function, self._arguments, self._count, self._at_trap)
        if error:
            raise WasmtimeError._from_ptr(error)
        if self._trap:
            trap, self._trap = self._trap, _TrapPointer()
            self._at_trap = ctypes.byref(self._trap)
            raise Trap._from_ptr(trap)


class GuestCall:
    """An exported function with at most two i32 parameters, and one result (`i32`, `i64`) or none (an empty name).

    The runtime checks no types of unchecked calls: for exports whose types were checked at load time only.
    """

    __slots__ = ("_call", "_context", "_function", "_keep", "_result", "_values")
    _releasing: Any = staticmethod(ffi.wasmtime_func_call_unchecked)
    _keeping: Any = staticmethod(keeping_lock("wasmtime_func_call_unchecked"))

    def __init__(self, store: Store, function: Func, result: str) -> None:
        self._context = store._context()
        self._keep = function
        self._function = ctypes.byref(function._func)
        self._result = result
        self._values = (ffi.wasmtime_val_raw_t * 2)()
        self._call: Any = self._releasing

    def keep_lock(self, keep: bool) -> None:
        """As `AdapterCall.keep_lock`."""
        self._call = self._keeping if keep else self._releasing

    def __call__(self, *parameters: int) -> int:
        for index, value in enumerate(parameters):
            self._values[index].i32 = value
        trap = _TrapPointer()
        error = self._call(self._context, self._function, self._values, 2, ctypes.byref(trap))
        if error:
            raise WasmtimeError._from_ptr(error)
        if trap:
            raise Trap._from_ptr(trap)
        return int(getattr(self._values[0], self._result)) if self._result else 0


def exported_function(store: Store, instance: Instance, name: bytes) -> Func:
    """One export that is known to be a function; `Instance.exports` looks up all of them, in 50 µs."""
    return Func._from_raw(exported(store, instance, name).of.func)


def exported_memory(store: Store, instance: Instance, name: bytes) -> Memory:
    return Memory._from_raw(exported(store, instance, name).of.memory)


def address_of(store: Store, memory: Memory) -> int:
    """The address of a memory in this process: for one of fixed size, as long as its store lives."""
    return ctypes.addressof(memory.data_ptr(store).contents)


def exported_global(store: Store, instance: Instance, name: bytes) -> Global:
    return Global._from_raw(exported(store, instance, name).of.global_)


def find_export(store: Store, instance: Instance, name: str) -> Func | Global | Memory | None:
    """A function, global or memory by name. `Instance.exports` takes quadratic time for all exports."""
    try:
        found = exported(store, instance, name.encode())
    except KeyError:
        return None
    if found.kind == ffi.WASMTIME_EXTERN_FUNC.value:
        return Func._from_raw(found.of.func)
    if found.kind == ffi.WASMTIME_EXTERN_GLOBAL.value:
        return Global._from_raw(found.of.global_)
    return Memory._from_raw(found.of.memory) if found.kind == ffi.WASMTIME_EXTERN_MEMORY.value else None


def exported(store: Store, instance: Instance, name: bytes) -> Any:
    """One export, as an import for `instantiated`."""
    found = ffi.wasmtime_extern_t()
    place = ctypes.byref(instance._instance)
    if not ffi.wasmtime_instance_export_get(store._context(), place, name, len(name), ctypes.byref(found)):
        raise KeyError(name)
    return found


def linked(store: Store, linker: Linker, module: bytes, name: bytes) -> Any:
    """A definition of a linker, as an import for `instantiated`; `Linker.get` takes four times as long."""
    found = ffi.wasmtime_extern_t()
    place = ctypes.byref(found)
    if not ffi.wasmtime_linker_get(linker.ptr(), store._context(), module, len(module), name, len(name), place):
        raise KeyError(name)
    return found


def instantiated(store: Store, module: Module, imports: Sequence[Any]) -> Instance:
    """An instance with the given imports, in order."""
    links = (ffi.wasmtime_extern_t * len(imports))(*imports)
    instance, trap = ffi.wasmtime_instance_t(), ctypes.POINTER(ffi.wasm_trap_t)()
    error = ffi.wasmtime_instance_new(
        store._context(), module.ptr(), links, len(imports), ctypes.byref(instance), ctypes.byref(trap)
    )
    if error:
        raise WasmtimeError._from_ptr(error)
    if trap:
        raise Trap._from_ptr(trap)
    return Instance._from_raw(instance)


def define_function(
    linker: Linker,
    module: str,
    name: str,
    answer: Callable[..., int | None],
    *,
    parameters: int,
    result: str,
    wide: Collection[int] = (),
) -> None:
    """Defines a host function: unsigned i32 parameters; one result (`i32`, `i64`) or none (an empty name).

    `answer` gets the caller's address and the parameters; its result None makes the guest trap. It must not raise.
    Parameters at the indexes `wide` are i64, of which `answer` gets the low 32 bits.
    """
    unpack = struct.Struct("<" + "I12x" * parameters).unpack
    size = parameters * ctypes.sizeof(ffi.wasmtime_val_raw_t)
    write = {"i32": ctypes.c_int32.from_address, "i64": ctypes.c_int64.from_address}.get(result)

    def callback(_data: object, caller: int, values: int, _count: int) -> int:
        found = answer(caller, *unpack(string_at(values, size)))
        if found is None:
            return ctypes.cast(ffi.wasmtime_trap_new(_REFUSED, len(_REFUSED)), ctypes.c_void_p).value or 0
        if write is not None:
            write(values).value = found
        return 0

    results = [ValType.i64() if result == "i64" else ValType.i32()] if result else []
    types = [ValType.i64() if index in wide else ValType.i32() for index in range(parameters)]
    kind = FuncType(types, results)  # a variable: it must live as long as its pointer
    function = _HostFunction(callback)
    _CALLBACKS.append(function)
    where, what = module.encode(), name.encode()
    error = ffi.wasmtime_linker_define_func_unchecked(
        linker.ptr(),
        where,
        len(where),
        what,
        len(what),
        kind.ptr(),
        ctypes.cast(function, _UncheckedCallback),
        None,
        _NO_FINALIZER,
    )
    if error:
        raise WasmtimeError._from_ptr(error)


def set_async_stack(config: Config, size: int) -> None:
    """Size of stacks of asynchronous calls: unused, but checked against the limit of a guest's stack."""
    ffi.wasmtime_config_async_stack_size_set(config.ptr(), size)


def on_deadline(store: Store, decide: Callable[[], int]) -> object:
    """Has `decide` called when the store's epoch deadline is reached, on the thread that runs the guest.

    Its result is the number of ticks the guest may go on; 0 ends the call with a WasmtimeError. It must not raise. The
    store keeps no reference: keep the returned object as long as the store.
    """

    def callback(_context: object, _data: object, delta: Any, kind: Any) -> int:
        ticks = decide()
        if not ticks:
            return ctypes.cast(ffi.wasmtime_error_new(_TIME_OVER), ctypes.c_void_p).value or 0
        delta[0], kind[0] = ticks, _CONTINUE
        return 0

    function = _DEADLINE_CALLBACK(callback)
    ffi.wasmtime_store_epoch_deadline_callback(store.ptr(), function, None, _NO_FINALIZER)
    return function


class GuestProfiler:
    """Samples of the stacks of guests, as the runtime's own profiler takes and writes them (Firefox's format)."""

    def __init__(self, engine: Engine, title: str, interval_ns: int, modules: Sequence[tuple[str, Module]]) -> None:
        names = [_byte_vector(name) for name, _ in modules]
        given = (bindings.wasmtime_guestprofiler_modules_t * len(modules))()
        for place, (_, module) in enumerate(modules):
            given[place].name = ctypes.pointer(names[place])
            given[place].mod = module.ptr()
        self._modules = [module for _, module in modules]  # they must live as long
        whole = _byte_vector(title)
        self._profiler = bindings.wasmtime_guestprofiler_new(
            engine.ptr(), ctypes.byref(whole), interval_ns, given, len(modules)
        )

    def sample(self, store: Store, cpu_ns: int) -> None:
        """Takes the stack of the store, whose guest is in a call, on the thread of that call: in `on_deadline`."""
        bindings.wasmtime_guestprofiler_sample(self._profiler, store.ptr(), cpu_ns)

    def finish(self) -> bytes:
        """The profile, as JSON; no sample may follow."""
        written = ffi.wasm_byte_vec_t()
        error = bindings.wasmtime_guestprofiler_finish(self._profiler, ctypes.byref(written))
        if error:
            raise WasmtimeError._from_ptr(error)
        try:
            return ctypes.string_at(written.data, written.size)
        finally:
            bindings.wasm_byte_vec_delete(ctypes.byref(written))


def _byte_vector(text: str) -> Any:
    """A text as the runtime takes it: it is read during the call only."""
    encoded = text.encode()
    content = (ctypes.c_uint8 * len(encoded)).from_buffer_copy(encoded)
    return ffi.wasm_byte_vec_t(len(encoded), ctypes.cast(content, ctypes.POINTER(ctypes.c_uint8)))


def epoch_increment() -> int:
    """The address of the C function that advances an engine's epoch."""
    return ctypes.cast(ffi.dll.wasmtime_engine_increment_epoch, ctypes.c_void_p).value or 0


_TIME_OVER: Final = ctypes.create_string_buffer(b"time limit exceeded")
_CONTINUE: Final = 0
_DEADLINE_CALLBACK: Any = bindings._wasmtime_store_epoch_deadline_callback.argtypes[1]
_REFUSED = b"refused by the host"
_UncheckedCallback: Any = ffi.wasmtime_func_unchecked_callback_t
# The same with plain addresses.
_HostFunction: Final = ctypes.CFUNCTYPE(*[ctypes.c_size_t] * 5)
_NO_FINALIZER = ctypes.cast(0, ctypes.CFUNCTYPE(None, ctypes.c_void_p))
# Never freed: linkers belong to engines, which live as long as the process.
_CALLBACKS: list[Any] = []
