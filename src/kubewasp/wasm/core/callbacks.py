"""Python callbacks of the adapter, for rare or unbounded operations.

They are defined once per engine and find the instance through the thread: a function that refers to its instance would
keep the instance's store alive for ever. No exception passes through the runtime (wasmtime-py keeps it in a global of
all threads): the instance keeps it, and the call traps.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

from kubewasp.wasm import poll_oneoff
from kubewasp.wasm.core.abi import ABORT
from kubewasp.wasm.core.core_failures import Overrun
from kubewasp.wasm.core.guest_abort import aborted
from kubewasp.wasm.core.node_records import LONGEST_NAME
from kubewasp.wasm.ffi import define_function
from kubewasp.wasm.hooks import PAYLOADS

if TYPE_CHECKING:
    from collections.abc import Callable

    from wasmtime import Linker, Memory, Store

    from kubewasp.wasm.core.call_output import CallOutput
    from kubewasp.wasm.core.core_inputs import CoreInputs
    from kubewasp.wasm.core.node_records import GuestResources
    from kubewasp.wasm.deadlines import Deadline
    from kubewasp.wasm.repeatable import GuestSource

_PARAMETERS = {
    "fill": 1,
    "drain": 0,
    "receive": 3,
    "waiting_pod": 5,
    "decide_waiting_pod": 5,
    "resource": 2,
    "fill_pods": 1,
    "annotation": 4,
    "poll": 4,
}
NAMES = tuple(_PARAMETERS)
# WASI functions of a repeatable guest, by name: number of parameters, and the indexes of those with 64 bits.
REPEATABLE: dict[str, tuple[int, tuple[int, ...]]] = {"random_get": (2, ()), "clock_time_get": (3, (1,))}
_EBADF = 8
_REALTIME, _MONOTONIC = range(2)


class _Current(threading.local):
    target: InstanceCallbacks | None = None


_current = _Current()


def define(linker: Linker) -> None:
    """Defines the functions that adapter.wat imports from `host`, those of WASI for repeatable guests, and `abort`."""
    for name, parameters in _PARAMETERS.items():
        define_function(linker, "host", name, _callback(name), parameters=parameters, result="i32")
    for name, (parameters, wide) in REPEATABLE.items():
        answer = _trapping(_callback(name))
        define_function(linker, "repeatable", name, answer, parameters=parameters, wide=wide, result="i32")
    abort = _trapping(_callback(ABORT.name))
    define_function(linker, ABORT.module, ABORT.name, abort, parameters=len(ABORT.parameters), result=ABORT.result)


def _trapping(callback: Callable[..., int]) -> Callable[..., int | None]:
    def answer(caller: int, *arguments: int) -> int | None:
        found = callback(caller, *arguments)
        return None if found < 0 else found

    return answer


def _callback(name: str) -> Callable[..., int]:
    def answer(_caller: int, *arguments: int) -> int:
        target = cast("InstanceCallbacks", _current.target)
        try:
            return getattr(target, name)(*arguments) or 0
        except BaseException as error:  # noqa: BLE001 - kept, and raised again by the caller of the guest
            target.error = error.with_traceback(None)  # its frames would keep a broken instance and its memory
            return -1

    return answer


def serve(target: InstanceCallbacks | None) -> InstanceCallbacks | None:
    """Sets the target of this thread's callbacks; returns the previous one, to be set again afterwards.

    Calls nest: an instance may be called from another one's callback.
    """
    before = _current.target
    _current.target = target
    return before


class GuestMemory:
    """Bounds-checked access to a guest's memory. `what` names the import in errors."""

    def __init__(self, store: Store, memory: Memory, max_read: int) -> None:
        self._store = store
        self._memory = memory
        self._max_read = max_read

    @property
    def size(self) -> int:
        return self._memory.data_len(self._store)

    def check(self, length: int, what: str) -> None:
        if length > self._max_read:
            raise Overrun(what, length, self._max_read)

    def read(self, address: int, length: int, what: str) -> bytes:
        address, length = address & 0xFFFFFFFF, length & 0xFFFFFFFF
        self.check(length, what)
        if address + length > self.size:
            raise IndexError(what)
        return bytes(self._memory.read(self._store, address, address + length)) if length else b""

    def read_text(self, address: int, length: int, what: str) -> str:
        return self.read(address, length, what).decode("utf-8", "replace")

    def write(self, address: int, value: bytes, what: str) -> None:
        address &= 0xFFFFFFFF
        if address + len(value) > self.size:
            raise IndexError(what)
        if value:
            self._memory.write(self._store, value, address)


class InstanceCallbacks:
    """Callbacks of one instance. `error` is the exception of the last one that failed."""

    def __init__(
        self,
        plugin: str,
        memory: GuestMemory,
        *,
        inputs: CoreInputs,
        output: CallOutput,
        resources: GuestResources,
        deadline: Deadline,
        source: GuestSource | None,
    ) -> None:
        self.error: BaseException | None = None
        self._plugin = plugin
        self._memory = memory
        self._inputs = inputs
        self._output = output
        self._resources = resources
        self._deadline = deadline
        self._source = source

    def fill(self, slot: int) -> None:
        self._inputs.fill(slot)

    def drain(self) -> None:
        self._output.read_rest()

    def receive(self, kind: int, buf: int, length: int) -> None:
        self._output.receive(kind, self._memory.read(buf, length, PAYLOADS[kind]))

    def waiting_pod(self, reject: int, uid: int, uid_length: int, buf: int, limit: int) -> None:
        what = "handle.reject_waiting_pod" if reject else "handle.get_waiting_pod"
        name = self._memory.read_text(uid, uid_length, what)
        handle = self._inputs.handle
        if reject:  # the limit does not matter, as in the host of kube-scheduler-wasm-extension
            self._memory.write(buf, handle.reject_waiting_pod(name).to_bytes(8, "little"), what)
            return
        answer = handle.get_waiting_pod(name) or bytes(8)
        if len(answer) <= limit & 0xFFFFFFFF:
            self._memory.write(buf, answer, what)

    def decide_waiting_pod(self, reject: int, uid: int, uid_length: int, reason: int, reason_length: int) -> int:
        what = "reject_waiting_pod" if reject else "allow_waiting_pod"
        name = self._memory.read_text(uid, uid_length, what)
        if not reject:
            return int(self._inputs.handle.allow_waiting_pod(name, self._plugin))
        text = self._memory.read_text(reason, reason_length, what)
        return int(self._inputs.handle.reject_waiting_pod(name, self._plugin, text))

    def resource(self, name: int, length: int) -> int:
        if length & 0xFFFFFFFF > LONGEST_NAME:
            raise Overrun("resource", length & 0xFFFFFFFF, LONGEST_NAME)
        number, is_new = self._resources.number(self._memory.read_text(name, length, "resource"))
        if is_new:
            self._inputs.add_resource()
        return number

    def fill_pods(self, row: int) -> None:
        self._inputs.place_pods(row)

    def annotation(self, key: int, key_length: int, value: int, value_length: int) -> None:
        what = "result.annotation"
        name = self._memory.read(key, key_length, what)
        self._output.annotate(name, self._memory.read(value, value_length, what))

    def poll(self, subscriptions: int, events: int, count: int, written: int) -> int:
        if not 0 < count <= 1024:
            return poll_oneoff.EINVAL
        asked = self._memory.read(subscriptions, count * poll_oneoff.SUBSCRIPTION_SIZE, "poll_oneoff")
        delay, answer = poll_oneoff.answer(asked, count, source=self._source)
        self._deadline.sleep(delay)
        if self._source is not None:
            self._source.sleep(delay)
        self._memory.write(events, answer, "poll_oneoff")
        self._memory.write(written, (len(answer) // poll_oneoff.EVENT_SIZE).to_bytes(4, "little"), "poll_oneoff")
        return 0

    def abort(self, message: int, file: int, line: int, column: int) -> None:
        raise aborted(lambda address, length: self._memory.read(address, length, "abort"), message, file, line, column)

    def random_get(self, buf: int, length: int) -> int:
        """WASI's function, for a repeatable guest."""
        self._memory.check(length, "random_get")
        self._memory.write(buf, cast("GuestSource", self._source).random_bytes(length), "random_get")
        return 0

    def clock_time_get(self, clock: int, _precision: int, result: int) -> int:
        """WASI's function, for a repeatable guest."""
        source = cast("GuestSource", self._source)
        if clock not in (_REALTIME, _MONOTONIC):
            return _EBADF
        now = source.wall_ns() if clock == _REALTIME else source.monotonic_ns()
        self._memory.write(result, now.to_bytes(8, "little"), "clock_time_get")
        return 0
