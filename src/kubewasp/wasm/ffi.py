"""The places where we go below wasmtime-py's public interface; see docs/rationale.md, "Below the public interface".

`NodeMemory` exists because wasmtime-py cannot pass a shared memory as an import; `AdapterCall` and `GuestCall` because
a call through `Func.__call__` looks the function's type up again each time (36 µs against 3 µs); `define_function`
because wasmtime-py's own host functions cost 20 µs a call and keep what they raise in a global that threads share;
`linked` and `instantiated` because each import costs 13 µs else. So wasmtime is pinned exactly.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import TYPE_CHECKING, Any

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
from wasmtime import _ffi as ffi

from kubewasp.wasm.short_calls import keeping_the_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from wasmtime import Engine, Linker, Module

PAGE = 65536
MAX_PAGES = 65536


_MADV_HUGEPAGE: int | None = getattr(mmap, "MADV_HUGEPAGE", None)  # Linux has it
_libc = ctypes.CDLL(None)
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def prefer_large_pages(address: int, length: int) -> None:
    """Asks for 2 MB pages where memory is first touched: writing a cluster takes a fifth less time. A wish, no more."""
    if _MADV_HUGEPAGE is not None:
        _libc.madvise(address, length, _MADV_HUGEPAGE)


class NodeMemory(SharedMemory):
    """A shared linear memory that modules can import and numpy can write. It never moves, as all of it is reserved."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, MemoryType(Limits(1, MAX_PAGES), shared=True))

    def _as_extern(self) -> ffi.wasmtime_extern_t:
        union = ffi.wasmtime_extern_union(sharedmemory=self.ptr())
        return ffi.wasmtime_extern_t(ffi.WASMTIME_EXTERN_SHAREDMEMORY, union)

    def view(self) -> NDArray[np.uint8]:
        """Everything there is now; take a new view after growing."""
        import numpy as np  # here: programs that need no numbers of nodes start quicker without

        address = ctypes.addressof(self.data_ptr().contents)
        prefer_large_pages(address, self.data_len())
        return np.ctypeslib.as_array((ctypes.c_ubyte * self.data_len()).from_address(address))


class AdapterCall:
    """One exported function with i32 parameters and no result, called with little ceremony.

    The runtime checks no types on this way: only functions of our own adapter may be called through it.
    """

    __slots__ = ("_arguments", "_call", "_context", "_count", "_function")
    _generous: Any = staticmethod(ffi.wasmtime_func_call_unchecked)
    _keeping: Any = staticmethod(keeping_the_lock("wasmtime_func_call_unchecked"))

    def __init__(self, store: Store, function: Func, parameters: int) -> None:
        kind = function.type(store)
        if [str(item) for item in kind.params] != ["i32"] * parameters or kind.results:
            raise TypeError("not an adapter function")
        self._arguments = (ffi.wasmtime_val_raw_t * max(parameters, 1))()
        self._count = max(parameters, 1)
        self._context = store._context()
        self._function = ctypes.byref(function._func)
        self._call: Any = self._generous

    def keep_the_lock(self, keep: bool) -> None:
        """Whether the next call keeps Python's lock: only if it is short, and is ended in time without it."""
        self._call = self._keeping if keep else self._generous

    def __call__(self, *parameters: int) -> None:
        for index, value in enumerate(parameters):
            self._arguments[index].i32 = value
        trap = ctypes.POINTER(ffi.wasm_trap_t)()
        error = self._call(self._context, self._function, self._arguments, self._count, ctypes.byref(trap))
        if error:
            raise WasmtimeError._from_ptr(error)
        if trap:
            raise Trap._from_ptr(trap)


class GuestCall:
    """One exported function with at most two i32 parameters, and one result (`i32`, `i64`) or none (an empty name).

    The runtime checks no types on this way: the module's exports must have been checked when it was loaded.
    """

    __slots__ = ("_context", "_function", "_keep", "_result", "_values")

    def __init__(self, store: Store, function: Func, result: str) -> None:
        self._context = store._context()
        self._keep = function
        self._function = ctypes.byref(function._func)
        self._result = result
        self._values = (ffi.wasmtime_val_raw_t * 2)()

    def __call__(self, *parameters: int) -> int:
        for index, value in enumerate(parameters):
            self._values[index].i32 = value
        trap = ctypes.POINTER(ffi.wasm_trap_t)()
        call = ffi.wasmtime_func_call_unchecked
        error = call(self._context, self._function, self._values, 2, ctypes.byref(trap))
        if error:
            raise WasmtimeError._from_ptr(error)
        if trap:
            raise Trap._from_ptr(trap)
        return int(getattr(self._values[0], self._result)) if self._result else 0


def exported_function(store: Store, instance: Instance, name: bytes) -> Func:
    """One export that is known to be a function; `Instance.exports` looks all of them up, for 50 µs."""
    return Func._from_raw(exported(store, instance, name).of.func)


def exported_memory(store: Store, instance: Instance, name: bytes) -> Memory:
    return Memory._from_raw(exported(store, instance, name).of.memory)


def exported_global(store: Store, instance: Instance, name: bytes) -> Global:
    return Global._from_raw(exported(store, instance, name).of.global_)


def exported(store: Store, instance: Instance, name: bytes) -> Any:
    """One export, to be handed on to `instantiated`."""
    found = ffi.wasmtime_extern_t()
    place = ctypes.byref(instance._instance)
    if not ffi.wasmtime_instance_export_get(store._context(), place, name, len(name), ctypes.byref(found)):
        raise KeyError(name)
    return found


def linked(store: Store, linker: Linker, module: bytes, name: bytes) -> Any:
    """What a linker has under that name, to be handed on; as `Linker.get`, which takes four times as long."""
    found = ffi.wasmtime_extern_t()
    place = ctypes.byref(found)
    if not ffi.wasmtime_linker_get(linker.ptr(), store._context(), module, len(module), name, len(name), place):
        raise KeyError(name)
    return found


def instantiated(store: Store, module: Module, imports: Sequence[Any]) -> Instance:
    """An instance with those imports, in order."""
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
    linker: Linker, module: str, name: str, answer: Callable[..., int | None], *, parameters: int, result: str
) -> None:
    """A host function for all instances: i32 parameters, unsigned; one result (`i32`, `i64`) or none (an empty name).

    `answer` gets a pointer to its caller and then the parameters; None means that the guest must trap. It must not
    raise: there is nobody who could catch it.
    """

    def callback(_data: object, caller: Any, values: Any, _count: int) -> int:
        found = answer(caller, *[values[index].i32 & 0xFFFFFFFF for index in range(parameters)])
        if found is None:
            return ctypes.cast(ffi.wasmtime_trap_new(_REFUSED, len(_REFUSED)), ctypes.c_void_p).value or 0
        if result:
            setattr(values[0], result, found)
        return 0

    results = [ValType.i64() if result == "i64" else ValType.i32()] if result else []
    kind = FuncType([ValType.i32()] * parameters, results)  # with a name: it must live as long as its pointer
    function = ffi.wasmtime_func_unchecked_callback_t(callback)
    _CALLBACKS.append(function)
    where, what = module.encode(), name.encode()
    error = ffi.wasmtime_linker_define_func_unchecked(
        linker.ptr(), where, len(where), what, len(what), kind.ptr(), function, None, _NO_FINALIZER
    )
    if error:
        raise WasmtimeError._from_ptr(error)


_REFUSED = b"refused by the host"
_NO_FINALIZER = ctypes.cast(0, ctypes.CFUNCTYPE(None, ctypes.c_void_p))
# The runtime calls them for as long as the process lives: linkers belong to engines, which are never given up.
_CALLBACKS: list[Any] = []
