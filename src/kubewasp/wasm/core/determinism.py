"""A world in which a guest does the same thing every time: random numbers are 0, and no time passes.

For engines that count fuel. What a guest's runtime does (when it collects garbage, where it puts things in a map)
depends on both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from wasmtime import FuncType, ValType

from kubewasp.wasm.core.abi import WASI

if TYPE_CHECKING:
    from wasmtime import Caller, Linker, Memory

_NOW = 1_800_000_000 * 10**9


def define(linker: Linker) -> None:
    """Takes the place of what WASI has there."""
    number, long = ValType.i32(), ValType.i64()
    linker.allow_shadowing = True
    linker.define_func(WASI, "random_get", FuncType([number, number], [number]), _random, access_caller=True)
    linker.define_func(WASI, "clock_time_get", FuncType([number, long, number], [number]), _time, access_caller=True)
    linker.allow_shadowing = False


def _random(caller: Caller, buf: int, length: int) -> int:
    return _write(caller, buf, bytes(length))


def _time(caller: Caller, _clock: int, _precision: int, result: int) -> int:
    return _write(caller, result, _NOW.to_bytes(8, "little"))


def _write(caller: Caller, address: int, content: bytes) -> int:
    memory = cast("Memory", caller["memory"])
    address &= 0xFFFFFFFF
    if address + len(content) > memory.data_len(caller):
        return 21  # EFAULT
    memory.write(caller, content, address)
    return 0
