"""Settings of wasmtime engines: features, stack, fuel, interruption. Equal settings compile to the same code."""

from __future__ import annotations

import resource
import threading
from dataclasses import dataclass
from functools import cache, wraps
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from wasmtime import Config, Engine

from kubewasp.wasm import load_checks
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.ffi import set_async_stack
from kubewasp.wasm.light_instance import use_pool

if TYPE_CHECKING:
    from collections.abc import Callable

_Settings = ParamSpec("_Settings")
_Made = TypeVar("_Made")

# Features that no guest of the classic ABI needs. Guests are validated without them before they are compiled.
SWITCHED_OFF = (
    "wasm_threads",
    "wasm_multi_memory",
    "wasm_memory64",
    "wasm_gc",
    "wasm_exceptions",
    "wasm_function_references",
    "wasm_component_model",
    "wasm_stack_switching",
    "wasm_custom_page_sizes",
    "wasm_wide_arithmetic",
)
# Fuel of a store in an engine that counts: only the count matters, so it must never run out.
FUEL = 2**62
# Stack of a thread for the host, beside the guest's; and that of threads where the system has no limit.
_HOST_STACK: Final = 1 << 20
_DEFAULT_THREAD_STACK: Final = 2 << 20


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Features that are off (all others have the runtime's defaults) and on, stack limit, and counting of fuel.

    A `fueled` engine counts fuel, which makes it slower. With `load_checks`, modules have checks of their own
    (load_checks.py) in place of the runtime's: for core modules only.
    """

    name: str
    off: tuple[str, ...]
    on: tuple[str, ...] = ()
    stack: int | None = None
    fueled: bool = False
    load_checks: bool = False

    def __str__(self) -> str:
        """Part of the key of compiled code."""
        checks = f" loads={load_checks.VERSION}" if self.load_checks else ""
        return f"{self.name} stack={self.stack}{' fuel' if self.fueled else ''}{checks}"

    def engine(self, *, pooled: int = 0) -> Engine:
        """A new engine; GuestLoadError if the stack limit does not fit into a thread's stack.

        `pooled`: memories come from a pool for so many instances; WasmtimeError if the system has no room for it.
        Compiled code is the same.
        """
        config = Config()
        for feature in self.off:
            setattr(config, feature, False)
        for feature in self.on:
            setattr(config, feature, True)
        config.epoch_interruption = not self.load_checks
        config.consume_fuel = self.fueled
        if self.stack is not None:
            _check_stack(self.stack)
            set_async_stack(config, self.stack + _HOST_STACK)  # the runtime ends the process if it is smaller
            config.max_wasm_stack = self.stack
        if pooled:
            use_pool(config, pooled)
        return Engine(config)


def _check_stack(stack: int) -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_STACK)
    available = threading.stack_size() or (_DEFAULT_THREAD_STACK if soft == resource.RLIM_INFINITY else soft)
    if stack + _HOST_STACK > available:
        raise GuestLoadError(
            f"stack limit of {stack} bytes: threads have {available} bytes of stack, {_HOST_STACK} of them for the "
            "host; lower the limit, or raise `ulimit -s`"
        )


def one_for_each(make: Callable[_Settings, _Made]) -> Callable[_Settings, _Made]:
    """Decorator of functions that make engines: one engine per set of settings, for all threads.

    Stack limit and fuel are settings of an engine, so each combination needs its own engine.
    """
    made = cache(make)
    lock = threading.Lock()

    @wraps(make)
    def get(*args: _Settings.args, **kwargs: _Settings.kwargs) -> _Made:
        with lock:
            return made(*args, **kwargs)  # type: ignore[arg-type] # settings are hashable

    return get
