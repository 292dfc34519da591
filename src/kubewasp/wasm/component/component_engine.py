"""Engines of components, and their WASI interfaces.

Components get clocks, random numbers and captured streams; no files, network or environment. They cannot wait: a
deadline does not wake a guest that sleeps in the host, so functions that sleep are shadowed.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, NoReturn

from wasmtime import WasmtimeError
from wasmtime.component import Linker, Record

from kubewasp.wasm.deadlines import Ticker
from kubewasp.wasm.engine_settings import EngineSettings, one_for_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kubewasp.wasm.repeatable import GuestSource

# Features that componentize-py's output does not need; all are on by default.
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
    """Shared by all components with the same stack limit. A fueled engine counts fuel, for benchmarks only."""

    def __init__(self, stack: int, *, fueled: bool = False) -> None:
        self.settings = EngineSettings("component", _OFF, ("wasm_component_model",), stack, fueled)
        self.engine = self.settings.engine()
        self.fueled = fueled
        self.ticker = Ticker(self.engine)

    def linker(self, imports: Iterable[str], source: GuestSource | None = None) -> Linker:
        """A linker for a component with those imports, or for one repeatable instance of it.

        A shadow must have the imported version.
        """
        shadowed = _SHADOWED if source is None else _SHADOWED | _repeatable(source)
        linker = Linker(self.engine)
        linker.add_wasip2()
        linker.allow_shadowing = True
        with linker.root() as root:
            for interface in imports:
                functions = shadowed.get(interface.partition("@")[0])
                if functions is not None:
                    with root.add_instance(interface) as instance:
                        for name, function in functions.items():
                            instance.add_func(name, function)
        return linker


def _refused(reason: str) -> Callable[..., NoReturn]:
    def refuse(*_: object) -> NoReturn:
        # wasmtime-py keeps any other exception in a global of all threads.
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


# More would be no seed; a list of bytes costs a microsecond per byte.
_MOST_RANDOM_BYTES = 1 << 20


def _repeatable(source: GuestSource) -> dict[str, dict[str, Callable[..., object]]]:
    """Clocks and random numbers of a repeatable instance."""

    def random_bytes(_store: object, count: int) -> bytes:
        if count > _MOST_RANDOM_BYTES:
            raise WasmtimeError(f"more than {_MOST_RANDOM_BYTES} random bytes in one call")
        return source.random_bytes(count)

    def random_number(*_: object) -> int:
        return source.random_number()

    def seed(*_: object) -> tuple[int, int]:
        return source.random_number(), source.random_number()

    def wall(*_: object) -> Record:
        found = Record()
        found.seconds, found.nanoseconds = divmod(source.wall_ns(), 10**9)  # type: ignore[attr-defined]
        return found

    def monotonic(*_: object) -> int:
        return source.monotonic_ns()

    def resolution(*_: object) -> Record:
        found = Record()
        found.seconds, found.nanoseconds = 0, 1  # type: ignore[attr-defined]
        return found

    clock = "wasi:clocks/monotonic-clock"
    return {
        clock: _SHADOWED[clock] | {"now": monotonic},
        "wasi:clocks/wall-clock": {"now": wall, "resolution": resolution},
        "wasi:random/random": {"get-random-bytes": random_bytes, "get-random-u64": random_number},
        "wasi:random/insecure": {"get-insecure-random-bytes": random_bytes, "get-insecure-random-u64": random_number},
        "wasi:random/insecure-seed": {"insecure-seed": seed},
    }


def component_engine(stack: int, *, fueled: bool = False) -> ComponentEngine:
    """The engine for that stack limit."""
    return _made(stack, fueled)


@one_for_each
def _made(stack: int, fueled: bool) -> ComponentEngine:
    return ComponentEngine(stack, fueled=fueled)
