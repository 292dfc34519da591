"""The wasmtime engines of web guests, and the linker that all their instances share."""

from __future__ import annotations

from wasmtime import Engine, Linker

from kubewasp.wasm.deadlines import Ticker
from kubewasp.wasm.engine_settings import SWITCHED_OFF, engine_config, one_for_each
from kubewasp.web import handler_abi, middleware_abi
from kubewasp.web.host_functions import define


class WebEngine:
    """What all guests with the same stack limit share."""

    def __init__(self, stack: int) -> None:
        self.engine = Engine(engine_config(SWITCHED_OFF, stack))
        self.settings = f"web stack={stack}"
        self.ticker = Ticker(self.engine)
        self.linker = Linker(self.engine)
        self.linker.define_wasi()
        self.linker.allow_shadowing = True
        define(self.linker, (handler_abi.ABI, middleware_abi.ABI))


@one_for_each
def web_engine(stack: int) -> WebEngine:
    """The engine for that stack limit."""
    return WebEngine(stack)
