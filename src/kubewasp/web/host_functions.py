"""Functions that guests import: how they are declared, defined once an engine, and find the instance that calls them.

HOT PATH: every request calls some. A function that held its instance would keep the instance's store alive for ever, so
the instance is found through the thread. No exception passes through the runtime: the instance keeps it, and the call
traps.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kubewasp.wasm import poll_oneoff
from kubewasp.wasm.ffi import define_function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wasmtime import Linker

    from kubewasp.web.handler_instance import Instance

WASI: Final = "wasi_snapshot_preview1"
_BAD_COUNT: Final = 1024


@dataclass(frozen=True, slots=True)
class HostFunction:
    """One import: so many i32 parameters, and `i32`, `i64` or nothing as its result."""

    name: str
    parameters: int
    result: str
    answer: Callable[..., int | None]


@dataclass(frozen=True, slots=True)
class Abi:
    """The functions of an import module, and what a guest of that style must export: name, parameters, result."""

    module: str
    functions: tuple[HostFunction, ...]
    exports: tuple[tuple[str, int, str], ...]


class _Current(threading.local):
    instance: Instance | None = None


_current = _Current()


def serve(instance: Instance | None) -> Instance | None:
    """Calls made on this thread are the instance's from now on; returns whose they were."""
    before = _current.instance
    _current.instance = instance
    return before


def define(linker: Linker, abis: Iterable[Abi]) -> None:
    for abi in abis:
        for function in abi.functions:
            _define(linker, abi.module, function)
    # The runtime's own would sleep for as long as the guest says, out of the reach of its time limit.
    _define(linker, WASI, HostFunction("poll_oneoff", 4, "i32", _poll))


def _define(linker: Linker, module: str, function: HostFunction) -> None:
    answer = function.answer

    def guarded(caller: Any, *arguments: int) -> int | None:
        instance = _current.instance
        if instance is None:  # nobody calls a guest but `Instance.call`
            return None
        try:
            instance.meet(caller)
            return answer(instance, *arguments) or 0
        except BaseException as error:  # noqa: BLE001 - kept, and raised again where the guest was called
            instance.failed(error, f"{module}.{function.name}")
            return None

    define_function(linker, module, function.name, guarded, parameters=function.parameters, result=function.result)


def _poll(instance: Instance, subscriptions: int, events: int, count: int, written: int) -> int:
    if not 0 < count <= _BAD_COUNT:
        return poll_oneoff.EINVAL
    delay, answer = poll_oneoff.answer(instance.read(subscriptions, count * poll_oneoff.SUBSCRIPTION_SIZE), count)
    if delay:
        instance.refuse_longer_than(delay)
        time.sleep(delay)
    instance.write(events, answer)
    instance.write(written, (len(answer) // poll_oneoff.EVENT_SIZE).to_bytes(4, "little"))
    return 0
