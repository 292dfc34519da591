"""What all wasmtime engines have in common: their settings, and the clock that ends calls which take too long."""

from __future__ import annotations

import math
import threading
import time
from contextlib import contextmanager
from functools import cache, wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from wasmtime import Config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wasmtime import Engine

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


class Ticker:
    """Advances the engine's epoch while calls are under way; sleeps when there are none."""

    PERIOD = 0.005
    MOST_AT_ONCE = 4

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._calls = 0
        self._lock = threading.Lock()
        self._busy = threading.Event()
        self._thread: threading.Thread | None = None

    def ticks(self, seconds: float) -> int:
        """A limit in ticks. Those that come at once may count for a time before the call began."""
        return math.ceil(seconds / self.PERIOD) + self.MOST_AT_ONCE

    def due(self, seconds: float) -> int:
        """How many ticks a sleep stands for: busy threads make it longer, and that should not stretch the limits."""
        return min(max(1, round(seconds / self.PERIOD)), self.MOST_AT_ONCE)

    @contextmanager
    def running(self) -> Iterator[None]:
        self.begin()
        try:
            yield
        finally:
            self.end()

    def begin(self) -> None:
        """A call begins; `end` must follow."""
        with self._lock:
            self._calls += 1
            if self._thread is None or not self._thread.is_alive():  # it is not, in a process that was forked
                self._thread = threading.Thread(target=self._tick, name="kubewasp-epoch", daemon=True)
                self._thread.start()
            if not self._busy.is_set():
                self._busy.set()

    def end(self) -> None:
        with self._lock:
            self._calls -= 1

    def _tick(self) -> None:
        idle = 0
        while True:
            self._busy.wait()
            began = time.monotonic()
            time.sleep(self.PERIOD)
            for _ in range(self.due(time.monotonic() - began)):
                self._engine.increment_epoch()
            with self._lock:
                idle = 0 if self._calls else idle + 1
                if idle > 100:
                    self._busy.clear()
