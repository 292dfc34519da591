"""One running component: a text in, a text out, within limits.  HOT PATH (guard: make counts).

Calls are made one at a time. After a call that did not return, the instance is broken and must be dropped.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import orjson
from wasmtime import Store, WasiConfig, WasmtimeError

from kubewasp.wasm.component import component_failures, description
from kubewasp.wasm.component.watched_position import PublishedPosition
from kubewasp.wasm.deadlines import CallDeadline
from kubewasp.wasm.engine_settings import FUEL
from kubewasp.wasm.errors import GuestLoadError, GuestStartError
from kubewasp.wasm.footprint import bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wasmtime.component import Func

    from kubewasp.wasm.component.component_module import ComponentModule
    from kubewasp.wasm.guest_runner import GuestSettings
    from kubewasp.wasm.hook_failures import HookFailure, TimeSetting
    from kubewasp.wasm.limits import Limits
    from kubewasp.wasm.repeatable import GuestSource


class ComponentFailure(Exception):  # noqa: N818 - caught by the session, never seen by a user
    """A call did not return; the instance is broken."""

    def __init__(self, failure: HookFailure) -> None:
        super().__init__(failure.text)
        self.failure = failure


class ComponentInstance:
    """A started component."""

    def __init__(
        self,
        module: ComponentModule,
        limits: Limits,
        settings: GuestSettings,
        source: GuestSource | None = None,
        *,
        watched: bool = False,
    ) -> None:
        self.name = settings.name
        self.watched = watched
        self.broken = False
        self.seconds = 0.0
        self.lock = threading.RLock()
        self._module = module
        self._linker = module.linker if source is None else module.engine.linker(module.imports, source)
        self._limits = limits
        self._position = PublishedPosition()
        self._store = self._new_store()
        self._deadline = CallDeadline(self._store)
        self._functions = self._instantiate()
        start: dict[str, object] = {
            "config": settings.config,
            "severity": settings.log_severity,
            "name": settings.name,
            "output": limits.output,
        }
        if watched:
            start["watch"] = True
        try:
            text = orjson.dumps(start).decode()
            answer = self._called("start", text, hook="start", seconds=limits.start_timeout, setting="start_timeout")
        except ComponentFailure as error:
            raise GuestStartError(error.failure.text) from None
        self.description = description.parse(answer, limits)

    def _new_store(self) -> Store:
        store = Store(self._module.engine.engine)
        if self._module.engine.fueled:
            store.set_fuel(FUEL)
        bounds(self._module.footprint, self._limits.memory).apply(store)
        # Streams are discarded: the SDK sends its output with its answers. (The runtime would write to streams of the
        # host from its own threads, after the call or even after Python's end.)
        wasi = WasiConfig()
        if self.watched:
            wasi.stderr_custom = self._position
        store.set_wasi(wasi)
        return store

    def _instantiate(self) -> dict[str, Func]:
        engine, store = self._module.engine, self._store
        with engine.ticker.running():
            self._deadline.arm(self._limits.start_timeout)
            try:
                instance = self._linker.instantiate(store, self._module.component)
            except WasmtimeError as error:
                raise GuestLoadError(f"wasm: instantiate error: {_last_line(error)}") from None
        found = {name: instance.get_func(store, name) for name in ("start", "call")}
        return {name: function for name, function in found.items() if function is not None}

    @property
    def fuel_burnt(self) -> int:
        return FUEL - self._store.get_fuel() if self._module.engine.fueled else 0

    def exchange(
        self,
        request: str,
        *,
        hook: str,
        seconds: float,
        setting: TimeSetting = "call_timeout",
        place: Callable[[], str] = str,
    ) -> str:
        """Sends a request and returns the answer; ComponentFailure if there is none in time.

        Args:
            request: The request.
            hook: The hook, for the text of a failure.
            seconds: The time that it may take.
            setting: The limit that this time is of, for the text of a failure.
            place: The nodes of the request, for the text of a failure.
        """
        return self._called("call", request, hook=hook, seconds=seconds, setting=setting, place=place)

    def _called(
        self, name: str, text: str, *, hook: str, seconds: float, setting: TimeSetting, place: Callable[[], str] = str
    ) -> str:
        function, engine = self._functions[name], self._module.engine
        with self.lock, engine.ticker.running(), self._timed():
            self._position.clear()
            self._deadline.arm(seconds)
            try:
                answer = function(self._store, text)
                function.post_return(self._store)
            except WasmtimeError as error:
                self.broken = True
                if self._deadline.interrupt is not None:  # Ctrl-C
                    raise self._deadline.interrupt from None
                failure = component_failures.ended(
                    error,
                    hook=hook,
                    plugin=self.name,
                    limits=self._limits,
                    setting=setting,
                    timed_out=self._deadline.is_over,
                    place=place(),
                    position=self._position.last(),
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
