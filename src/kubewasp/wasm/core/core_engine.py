"""Engines of core modules, with everything that their instances share."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

from wasmtime import FuncType, Linker, Module, ValType

from kubewasp.wasm import guard_timers
from kubewasp.wasm.compilation import compile_text
from kubewasp.wasm.core import callbacks
from kubewasp.wasm.core.abi import WASI
from kubewasp.wasm.core.adapter import adapter_wat, shim_wat
from kubewasp.wasm.core.node_records import ResourceIds
from kubewasp.wasm.core.shared_heap import SharedHeap
from kubewasp.wasm.core.shared_nodes import SharedNodes
from kubewasp.wasm.deadlines import Ticker
from kubewasp.wasm.engine_settings import SWITCHED_OFF, EngineSettings, one_for_each

if TYPE_CHECKING:
    from collections.abc import Callable

    from wasmtime import Caller, Memory, Store

    from kubewasp.state.node_objects import Nodes
    from kubewasp.wasm.limits import Interruption

_ADAPTER_ONLY = ("wasm_threads", "wasm_multi_memory")


# Only the features that a guest may use, for validation.
STRICT = EngineSettings("strict", SWITCHED_OFF)


class CoreEngine:
    """Shared by all instances with the same stack limit: engine, adapter, shared memory, ticker.

    A fueled engine counts fuel, for benchmarks only: it is slower. With load checks, guests are ended by their guards,
    and the ticker has nothing to do.
    """

    def __init__(self, stack: int, *, fueled: bool = False, load_checks: bool = False) -> None:
        features = tuple(feature for feature in SWITCHED_OFF if feature not in _ADAPTER_ONLY)
        self.settings = EngineSettings(
            "classic", features, (*_ADAPTER_ONLY, "shared_memory"), stack, fueled, load_checks
        )
        self.engine = self.settings.engine()
        self.fueled = fueled
        self.load_checks = load_checks
        self.shim: Module = compile_text(self.engine, self.settings, shim_wat())
        self.adapter: Module = compile_text(self.engine, self.settings, adapter_wat(load_checks=load_checks))
        self.heap = SharedHeap(self.engine)
        self.resources = ResourceIds()
        self.ticker = Ticker(self.engine)
        self.watch: Callable[[Store], None] | None = None  # called at every tick of a call; set by a profile
        self.linker = Linker(self.engine)
        self.linker.define_wasi()
        if fueled:
            _define_determinism(self.linker)
        callbacks.define(self.linker)
        self._shared_nodes: WeakKeyDictionary[Nodes, SharedNodes] = WeakKeyDictionary()

    def shared_nodes(self, nodes: Nodes) -> SharedNodes:
        """The nodes in the shared memory, for all instances of all guests."""
        with self.heap.lock:
            shared = self._shared_nodes.get(nodes)
            if shared is None:
                shared = self._shared_nodes[nodes] = SharedNodes(self.heap, nodes, self.resources)
            return shared


def core_engine(stack: int, *, fueled: bool = False, interruption: Interruption = "load") -> CoreEngine:
    """The engine for that stack limit. Fuel, and systems without timers for load checks, go with epochs."""
    return _made(stack, fueled, interruption == "load" and not fueled and guard_timers.are_there())


@one_for_each
def _made(stack: int, fueled: bool, load_checks: bool) -> CoreEngine:
    return CoreEngine(stack, fueled=fueled, load_checks=load_checks)


# A fixed time and random numbers of 0 for engines that count fuel: a guest's runtime depends on both (garbage
# collection, hash seeds), and counts must repeat.
_FIXED_TIME = 1_800_000_000 * 10**9
_EFAULT = 21


def _define_determinism(linker: Linker) -> None:
    number, long = ValType.i32(), ValType.i64()
    linker.allow_shadowing = True
    linker.define_func(WASI, "random_get", FuncType([number, number], [number]), _random, access_caller=True)
    linker.define_func(WASI, "clock_time_get", FuncType([number, long, number], [number]), _time, access_caller=True)
    linker.allow_shadowing = False


def _random(caller: Caller, buf: int, length: int) -> int:
    return _write(caller, buf, bytes(length))


def _time(caller: Caller, _clock: int, _precision: int, result: int) -> int:
    return _write(caller, result, _FIXED_TIME.to_bytes(8, "little"))


def _write(caller: Caller, address: int, content: bytes) -> int:
    memory = cast("Memory", caller["memory"])
    address &= 0xFFFFFFFF
    if address + len(content) > memory.data_len(caller):
        return _EFAULT
    memory.write(caller, content, address)
    return 0
