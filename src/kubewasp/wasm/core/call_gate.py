"""Held during a guest call: exclusive use, time limit, shared memory, callbacks.  HOT PATH (guard: make counts)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from wasmtime import Trap, WasmtimeError

from kubewasp.wasm.core import callbacks
from kubewasp.wasm.errors import InstanceInUseError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.wasm.core.callbacks import InstanceCallbacks
    from kubewasp.wasm.core.core_engine import CoreEngine
    from kubewasp.wasm.deadlines import Deadline


class Interrupter(Protocol):
    """Ends calls at their deadline, from `begin` to `end`."""

    def begin(self) -> None: ...

    def end(self) -> None: ...


class CallGate:
    """The way into one instance, for one thread at a time: a context manager, and `run` inside of it."""

    def __init__(
        self, name: str, engine: CoreEngine, interrupter: Interrupter, deadline: Deadline, target: InstanceCallbacks
    ) -> None:
        self._name = name
        self._interrupter = interrupter
        self._heap = engine.heap
        self._deadline = deadline
        self._target = target
        self._lock = threading.Lock()
        self._owner = ""
        self._ticket = 0
        self._before: InstanceCallbacks | None = None

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise InstanceInUseError(
                f'plugin "{self._name}": this instance is in use by thread "{self._owner}"; '
                "one instance runs on one thread at a time, take another one from the guest"
            )
        self._owner = threading.current_thread().name
        try:
            self._interrupter.begin()
        except OSError:  # the system has no timer left
            self._lock.release()
            raise
        self._ticket = self._heap.begin_reading()
        self._before = callbacks.serve(self._target)

    def __exit__(self, *_error: object) -> None:
        callbacks.serve(self._before)
        self._before = None
        self._heap.end_reading(self._ticket)
        self._interrupter.end()
        self._lock.release()

    def run(self, seconds: float, function: Callable[..., object], *arguments: object) -> Exception | None:
        """Calls a function of wasm within a time limit; returns the trap or error that ended it."""
        self._target.error = None
        self._deadline.arm(seconds)
        try:
            function(*arguments)
        except (WasmtimeError, Trap) as error:
            self._deadline.ended(error)
            return error.with_traceback(None)  # its frames would keep a broken instance and its memory
        finally:
            self._deadline.disarm()
        return None
