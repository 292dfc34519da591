"""Host functions of web guests: declaration, and definition once per engine.

HOT PATH (guard: make counts); measured by `make bars ARGS='--only web'`. A function with a reference to its instance
would keep the instance's store alive for ever, so a thread-local holds the current instance. No exception passes
through the runtime: the instance keeps it, and the call traps.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.wasm import poll_oneoff
from kubewasp.wasm.ffi import define_function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wasmtime import Linker

    from kubewasp.web.handler_instance import HandlerInstance

WASI: Final = "wasi_snapshot_preview1"
# Names of imports that have a meaning of their own.
RESERVED_MODULES: Final = (WASI, "kubewasp_http", "http_handler")
_MAX_SUBSCRIPTIONS: Final = 1024


@dataclass(frozen=True, slots=True)
class HostFunction:
    """One import: a number of i32 parameters, and a result of type `i32`, `i64` or none."""

    name: str
    parameters: int
    result: str
    answer: Callable[..., int | None]


@dataclass(frozen=True, slots=True)
class Abi:
    """Functions of an import module, and required exports of a guest: name, parameters, result."""

    module: str
    functions: tuple[HostFunction, ...]
    exports: tuple[tuple[str, int, str], ...]


class _Current(threading.local):
    instance: HandlerInstance | None = None


_current = _Current()


def serve(instance: HandlerInstance | None) -> HandlerInstance | None:
    """Sets the current instance of this thread; returns the previous one."""
    before = _current.instance
    _current.instance = instance
    return before


def define(linker: Linker, abis: Iterable[Abi]) -> None:
    for abi in abis:
        for function in abi.functions:
            _define(linker, abi.module, function)
    # The runtime's own poll_oneoff sleeps beyond the time limit.
    _define(linker, WASI, HostFunction("poll_oneoff", 4, "i32", _poll))


def _define(linker: Linker, module: str, function: HostFunction) -> None:
    answer = function.answer

    def guarded(caller: object, *arguments: int) -> int | None:
        instance = _current.instance
        if instance is None:  # every call goes through `HandlerInstance.call`
            return None
        try:
            instance.bind_memory(caller)
            return answer(instance, *arguments) or 0
        except BaseException as error:  # noqa: BLE001 - kept, and raised by `HandlerInstance.call`
            instance.failed(error, f"{module}.{function.name}")
            return None

    define_function(linker, module, function.name, guarded, parameters=function.parameters, result=function.result)


def _poll(instance: HandlerInstance, subscriptions: int, events: int, count: int, written: int) -> int:
    if not 0 < count <= _MAX_SUBSCRIPTIONS:
        return poll_oneoff.EINVAL
    delay, answer = poll_oneoff.answer(instance.read(subscriptions, count * poll_oneoff.SUBSCRIPTION_SIZE), count)
    if delay:
        instance.refuse_longer_than(delay)
        time.sleep(delay)
    instance.write(events, answer)
    instance.write(written, (len(answer) // poll_oneoff.EVENT_SIZE).to_bytes(4, "little"))
    return 0
