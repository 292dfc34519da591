"""What all wasmtime engines have in common: their settings."""

from __future__ import annotations

import threading
from functools import cache, wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from wasmtime import Config

if TYPE_CHECKING:
    from collections.abc import Callable

_Settings = ParamSpec("_Settings")
_Made = TypeVar("_Made")

# Features no guest of the classic ABI needs. Guests are validated without them before they are compiled.
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
# What a store is given in an engine that counts: the count is all that is wanted, it must never run out.
FUEL = 2**62


def engine_config(switched_off: tuple[str, ...], stack: int | None = None, *, fueled: bool = False) -> Config:
    """`fueled` has the engine count what it runs, which makes it slower."""
    config = Config()
    for feature in switched_off:
        setattr(config, feature, False)
    config.epoch_interruption = True
    config.consume_fuel = fueled
    if stack is not None:
        config.max_wasm_stack = stack
    return config


def one_for_each(make: Callable[_Settings, _Made]) -> Callable[_Settings, _Made]:
    """For functions that make engines: one for each set of settings, however many threads ask at once.

    Each setting has an engine of its own, as limits of the stack and fuel are the engine's.
    """
    made = cache(make)
    lock = threading.Lock()

    @wraps(make)
    def get(*args: _Settings.args, **kwargs: _Settings.kwargs) -> _Made:
        with lock:
            return made(*args, **kwargs)  # type: ignore[arg-type] # settings are hashable

    return get
