"""The engine that runs components, and what they get of WASI.

They get clocks, random numbers, and streams that are captured; no file, no network, no environment. They cannot wait
either: a guest that sleeps in the host is out of the reach of its time limit, so what makes that possible is shadowed.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, NoReturn

from wasmtime import Engine, WasmtimeError
from wasmtime.component import Linker

from kubewasp.wasm.deadlines import Ticker
from kubewasp.wasm.engine_settings import engine_config, one_for_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# What componentize-py's output can do without; all of it is on by default.
_OFF = (
    "wasm_threads",
    "wasm_tail_call",
    "wasm_relaxed_simd",
    "wasm_multi_memory",
    "wasm_memory64",
    "wasm_gc",
    "wasm_exceptions",
    "wasm_function_references",
    "wasm_stack_switching",
    "wasm_custom_page_sizes",
    "wasm_wide_arithmetic",
)
_WASI = re.compile(r"wasi:(?:io|clocks|random|cli|filesystem|sockets)/[a-z-]+@0\.2\.\d+")
MAY_NOT_WAIT = "a plugin may not sleep or wait: the scheduler waits for it"
NO_NETWORK = "there is no network in a plugin"


def is_offered(interface: str) -> bool:
    """Whether components may import that interface."""
    return _WASI.fullmatch(interface) is not None


class ComponentEngine:
    """What all components with the same stack limit share. Fuel is counted in engines of their own, for benchmarks."""

    def __init__(self, stack: int, *, fueled: bool = False) -> None:
        config = engine_config(_OFF, stack, fueled=fueled)
        config.wasm_component_model = True
        self.engine = Engine(config)
        self.fueled = fueled
        self.settings = f"component stack={stack}{' fuel' if fueled else ''}"
        self.ticker = Ticker(self.engine)

    def linker(self, imports: Iterable[str]) -> Linker:
        """For a component with those imports. A shadow must have the very version that is imported."""
        linker = Linker(self.engine)
        linker.add_wasip2()
        linker.allow_shadowing = True
        with linker.root() as root:
            for interface in imports:
                functions = _SHADOWED.get(interface.partition("@")[0])
                if functions is not None:
                    with root.add_instance(interface) as instance:
                        for name, function in functions.items():
                            instance.add_func(name, function)
        return linker


def _refused(reason: str) -> Callable[..., NoReturn]:
    def refuse(*_: object) -> NoReturn:
        # This exception, and no other, goes through the runtime without being kept in a global of wasmtime-py.
        raise WasmtimeError(reason)

    return refuse


def _monotonic(*_: object) -> int:
    return time.monotonic_ns()


def _resolution(*_: object) -> int:
    return 1


_SHADOWED: dict[str, dict[str, Callable[..., object]]] = {
    "wasi:clocks/monotonic-clock": {
        "now": _monotonic,
        "resolution": _resolution,
        "subscribe-instant": _refused(MAY_NOT_WAIT),
        "subscribe-duration": _refused(MAY_NOT_WAIT),
    },
    "wasi:sockets/tcp-create-socket": {"create-tcp-socket": _refused(NO_NETWORK)},
    "wasi:sockets/udp-create-socket": {"create-udp-socket": _refused(NO_NETWORK)},
}


def component_engine(stack: int, *, fueled: bool = False) -> ComponentEngine:
    """The engine for that stack limit."""
    return _made(stack, fueled)


@one_for_each
def _made(stack: int, fueled: bool) -> ComponentEngine:
    return ComponentEngine(stack, fueled=fueled)
