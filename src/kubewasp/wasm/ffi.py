"""The two places where we go below wasmtime-py's public interface; see docs/rationale.md, "Below the public interface".

`NodeMemory` exists because wasmtime-py cannot pass a shared memory as an import, `AdapterCall` because a call through
`Func.__call__` looks the function's type up again each time (36 µs against 3 µs). So wasmtime is pinned exactly.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
from wasmtime import Func, Limits, MemoryType, SharedMemory, Store, Trap, WasmtimeError
from wasmtime import _ffi as ffi

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from wasmtime import Engine

PAGE = 65536
MAX_PAGES = 65536


class NodeMemory(SharedMemory):
    """A shared linear memory that modules can import and numpy can write. It never moves, as all of it is reserved."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, MemoryType(Limits(1, MAX_PAGES), shared=True))

    def _as_extern(self) -> ffi.wasmtime_extern_t:
        union = ffi.wasmtime_extern_union(sharedmemory=self.ptr())
        return ffi.wasmtime_extern_t(ffi.WASMTIME_EXTERN_SHAREDMEMORY, union)

    def view(self) -> NDArray[np.uint8]:
        """Everything there is now; take a new view after growing."""
        address = ctypes.addressof(self.data_ptr().contents)
        return np.ctypeslib.as_array((ctypes.c_ubyte * self.data_len()).from_address(address))


class AdapterCall:
    """One exported function with i32 parameters and no result, called with little ceremony.

    The runtime checks no types on this way: only functions of our own adapter may be called through it.
    """

    __slots__ = ("_arguments", "_call", "_context", "_count", "_function")

    def __init__(self, store: Store, function: Func, parameters: int) -> None:
        kind = function.type(store)
        if [str(item) for item in kind.params] != ["i32"] * parameters or kind.results:
            raise TypeError("not an adapter function")
        self._arguments = (ffi.wasmtime_val_raw_t * max(parameters, 1))()
        self._count = max(parameters, 1)
        self._context = store._context()
        self._function = ctypes.byref(function._func)
        self._call: Any = ffi.wasmtime_func_call_unchecked

    def __call__(self, *parameters: int) -> None:
        for index, value in enumerate(parameters):
            self._arguments[index].i32 = value
        trap = ctypes.POINTER(ffi.wasm_trap_t)()
        error = self._call(self._context, self._function, self._arguments, self._count, ctypes.byref(trap))
        if error:
            raise WasmtimeError._from_ptr(error)
        if trap:
            raise Trap._from_ptr(trap)
