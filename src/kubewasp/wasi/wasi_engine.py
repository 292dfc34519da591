"""The engines that run WASI programs."""

from __future__ import annotations

from wasmtime import Engine, Linker
from wasmtime import component as components

from kubewasp.wasi import host
from kubewasp.wasm.deadlines import Ticker
from kubewasp.wasm.engine_settings import SWITCHED_OFF, engine_config, one_for_each


class WasiEngine:
    """What all programs with the same stack limit share. Fuel is counted in engines of their own: it costs time."""

    def __init__(self, stack: int, *, fueled: bool) -> None:
        config = engine_config(SWITCHED_OFF, stack, fueled=fueled)
        config.wasm_component_model = True
        self.engine = Engine(config)
        self.settings = f"wasi stack={stack}{' fuel' if fueled else ''}"
        self.key = (stack, fueled)
        self.ticker = Ticker(self.engine)
        self.linker = Linker(self.engine)
        self.linker.define_wasi()
        host.define(self.linker)
        self.component_linker = components.Linker(self.engine)
        self.component_linker.add_wasip2()


@one_for_each
def wasi_engine(stack: int, *, fueled: bool) -> WasiEngine:
    return WasiEngine(stack, fueled=fueled)
