"""Settings common to all wasmtime engines."""

from __future__ import annotations

import threading
from functools import cache, wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from wasmtime import Config

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


def engine_config(switched_off: tuple[str, ...], stack: int | None = None, *, fueled: bool = False) -> Config:
    """A `fueled` engine counts fuel, which makes it slower."""
    config = Config()
    for feature in switched_off:
        setattr(config, feature, False)
    config.epoch_interruption = True
    config.consume_fuel = fueled
    if stack is not None:
        config.max_wasm_stack = stack
    return config


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
