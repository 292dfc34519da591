"""The few functions that an adapter asks of Python, for what is rare or unbounded.

They are defined once an engine, and find the instance through the thread: a function that held its instance would keep
the instance's store alive for ever. No exception passes through the runtime (wasmtime-py keeps it in a global that
threads would share): the instance keeps it, and the call traps.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol, cast

from wasmtime import FuncType, ValType

if TYPE_CHECKING:
    from collections.abc import Callable

    from wasmtime import Linker


class Servant(Protocol):
    """What answers the calls: an instance."""

    def fill(self, slot: int) -> None: ...
    def drain(self) -> None: ...
    def receive(self, kind: int, buf: int, length: int) -> None: ...
    def waiting_pod(self, reject: int, uid: int, uid_length: int, buf: int, limit: int) -> None: ...
    def decide_waiting_pod(
        self, reject: int, uid: int, uid_length: int, reason: int, reason_length: int
    ) -> int | None: ...
    def resource(self, name: int, length: int) -> int | None: ...
    def fill_pods(self, row: int) -> None: ...
    def poll(self, subscriptions: int, events: int, count: int, written: int) -> int | None: ...
    def failed(self, error: BaseException) -> None: ...


class _Current(threading.local):
    servant: Servant | None = None


_current = _Current()
_PARAMETERS = {
    "fill": 1,
    "drain": 0,
    "receive": 3,
    "waiting_pod": 5,
    "decide_waiting_pod": 5,
    "resource": 2,
    "fill_pods": 1,
    "poll": 4,
}
NAMES = tuple(_PARAMETERS)


def define(linker: Linker) -> None:
    for name, parameters in _PARAMETERS.items():
        kind = FuncType([ValType.i32()] * parameters, [ValType.i32()])
        linker.define_func("host", name, kind, _callback(name))


def _callback(name: str) -> Callable[..., int]:
    def answer(*arguments: int) -> int:
        servant = cast("Servant", _current.servant)  # who called
        try:
            return getattr(servant, name)(*arguments) or 0
        except BaseException as error:  # noqa: BLE001 - kept, and raised again where the guest was called
            servant.failed(error)
            return -1

    return answer


def serve(servant: Servant | None) -> Servant | None:
    """Calls made on this thread are the servant's from now on; returns whose they were, to be served again after it.

    A servant may be called from another one's callback.
    """
    before = _current.servant
    _current.servant = servant
    return before
