"""The engines that run guests of the classic ABI."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from wasmtime import Engine, Linker, Module

from kubewasp.wasm.compilation import compile_text
from kubewasp.wasm.core import callbacks, determinism
from kubewasp.wasm.core.adapter import adapter_wat, shim_wat
from kubewasp.wasm.core.node_memory import NodeMirror
from kubewasp.wasm.core.node_records import ResourceIds
from kubewasp.wasm.core.shared_heap import SharedHeap
from kubewasp.wasm.deadlines import Ticker
from kubewasp.wasm.engine_settings import SWITCHED_OFF, engine_config, one_for_each

if TYPE_CHECKING:
    from kubewasp.state.node_objects import Nodes

_ADAPTER_ONLY = ("wasm_threads", "wasm_multi_memory")


@cache
def strict_engine() -> Engine:
    """Knows just the features that a guest may use; only validates."""
    return Engine(engine_config(SWITCHED_OFF))


class ClassicEngine:
    """What all instances with the same stack limit share: engine, adapter, node memory, ticker.

    Fuel is counted in engines of their own, for benchmarks: it costs time. No scheduler has one.
    """

    def __init__(self, stack: int, *, fueled: bool = False) -> None:
        features = tuple(feature for feature in SWITCHED_OFF if feature not in _ADAPTER_ONLY)
        config = engine_config(features, stack, fueled=fueled)
        config.wasm_threads = True
        config.wasm_multi_memory = True
        config.shared_memory = True
        self.engine = Engine(config)
        self.fueled = fueled
        self.settings = f"classic stack={stack}{' fuel' if fueled else ''}"
        self.shim: Module = compile_text(self.engine, self.settings, shim_wat())
        self.adapter: Module = compile_text(self.engine, self.settings, adapter_wat())
        self.heap = SharedHeap(self.engine)
        self.resources = ResourceIds()
        self.ticker = Ticker(self.engine)
        self.linker = Linker(self.engine)
        self.linker.define_wasi()
        if fueled:
            determinism.define(self.linker)
        callbacks.define(self.linker)
        self._mirrors: WeakKeyDictionary[Nodes, NodeMirror] = WeakKeyDictionary()

    def mirror(self, nodes: Nodes) -> NodeMirror:
        with self.heap.lock:
            mirror = self._mirrors.get(nodes)
            if mirror is None:
                mirror = self._mirrors[nodes] = NodeMirror(self.heap, nodes, self.resources)
            return mirror


def classic_engine(stack: int, *, fueled: bool = False) -> ClassicEngine:
    """The engine for that stack limit."""
    return _made(stack, fueled)


@one_for_each
def _made(stack: int, fueled: bool) -> ClassicEngine:
    return ClassicEngine(stack, fueled=fueled)
