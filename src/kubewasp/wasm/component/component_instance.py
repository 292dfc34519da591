"""One running component: a text in, a text out, within limits.  HOT PATH.

Calls are made one at a time. After a call that did not return, the instance is broken and must be thrown away.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import orjson
from wasmtime import Store, WasiConfig, WasmtimeError

from kubewasp.wasm.component import component_failures, description
from kubewasp.wasm.engine_settings import FUEL
from kubewasp.wasm.errors import GuestLoadError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wasmtime.component import Func

    from kubewasp.wasm.component.component_module import ComponentProgram
    from kubewasp.wasm.failures import HookFailure
    from kubewasp.wasm.limits import Limits

# A component is many core modules (the interpreter, its libraries, adapters) around one memory.
_CORE_INSTANCES, _TABLES, _MEMORIES = 100, 64, 1


class ComponentFailure(Exception):  # noqa: N818 - caught by the session, never seen by a user
    """A call did not return; the instance is broken."""

    def __init__(self, failure: HookFailure) -> None:
        super().__init__(failure.text)
        self.failure = failure


class ComponentInstance:
    """A started component."""

    def __init__(
        self, program: ComponentProgram, limits: Limits, *, name: str, config: str = "", severity: int = 0
    ) -> None:
        self.program = program
        self.name = name
        self.broken = False
        self.seconds = 0.0
        self.lock = threading.RLock()
        self._limits = limits
        self._store = self._new_store()
        self._functions = self._instantiate()
        settings = {"config": config, "severity": severity, "name": name, "output": limits.output}
        try:
            told = self._called("start", orjson.dumps(settings).decode(), hook="start", seconds=limits.start_timeout)
        except ComponentFailure as error:
            raise GuestLoadError(error.failure.text) from None
        self.description = description.parse(told)

    def _new_store(self) -> Store:
        store = Store(self.program.engine.engine)
        if self.program.engine.fueled:
            store.set_fuel(FUEL)
        store.set_limits(
            memory_size=self._limits.memory,
            table_elements=1_000_000,
            instances=_CORE_INSTANCES,
            tables=_TABLES,
            memories=_MEMORIES,
        )
        # Streams lead nowhere: the SDK sends what is printed with its answers. (The runtime would write to streams of
        # ours from threads of its own, after the call or even after Python's end.)
        store.set_wasi(WasiConfig())
        return store

    def _instantiate(self) -> dict[str, Func]:
        engine, store = self.program.engine, self._store
        with engine.ticker.running():
            store.set_epoch_deadline(engine.ticker.ticks(self._limits.start_timeout))
            try:
                instance = self.program.linker.instantiate(store, self.program.component)
            except WasmtimeError as error:
                raise GuestLoadError(f"wasm: instantiate error: {_last_line(error)}") from None
        found = {name: instance.get_func(store, name) for name in ("start", "call")}
        return {name: function for name, function in found.items() if function is not None}

    @property
    def fuel_burnt(self) -> int:
        return FUEL - self._store.get_fuel() if self.program.engine.fueled else 0

    def exchange(self, request: str, *, hook: str) -> str:
        """The answer to a request; ComponentFailure if there is none."""
        return self._called("call", request, hook=hook, seconds=self._limits.call_timeout)

    def _called(self, name: str, text: str, *, hook: str, seconds: float) -> str:
        function, engine = self._functions[name], self.program.engine
        with self.lock, engine.ticker.running(), self._timed():
            self._store.set_epoch_deadline(engine.ticker.ticks(seconds))
            try:
                answer = function(self._store, text)
                function.post_return(self._store)
            except WasmtimeError as error:
                self.broken = True
                failure = component_failures.ended(
                    error, hook=hook, plugin=self.name, limits=self._limits, seconds=seconds
                )
            else:
                return str(answer)
        raise ComponentFailure(failure)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds = time.perf_counter() - began


def _last_line(error: WasmtimeError) -> str:
    return str(error).strip().splitlines()[-1].strip()
