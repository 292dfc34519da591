"""Host functions of the preview 1 interposer: standard streams, sleeping, denials, trace of calls.

Defined once per engine; a thread-local holds the host of the running program, as in wasm/core/callbacks.py. No
exception passes through the runtime: the host keeps it, and the program ends.
"""

from __future__ import annotations

import ctypes
import math
import select
import struct
import threading
import time
from typing import TYPE_CHECKING, cast

from wasmtime import FuncType, ValType

from kubewasp.wasi.denials import Denial, denial_of
from kubewasp.wasi.preview1 import (
    BAD_ADDRESS,
    CHANGING,
    ERRORS,
    FUNCTIONS,
    OPEN_CREATE,
    OPEN_TRUNCATE,
    RIGHT_TO_WRITE,
    Function,
)
from kubewasp.wasi.preview1_interposer import FUNCTION_NAMES, HOST, trace_types
from kubewasp.wasi.streams import Descriptor
from kubewasp.wasm import poll_oneoff
from kubewasp.wasm.ffi import define_function

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wasmtime import Linker, Memory, Store

    from kubewasp.wasi.capabilities import Preopen
    from kubewasp.wasi.streams import StandardStreams

# Most bytes of one read or write; a program with more calls again.
_CHUNK = 256 * 1024
_MAX_BUFFERS = 1024
_MAX_SUBSCRIPTIONS = 4096
_MAX_DENIALS = 20
_MAX_PATH = 4096
_MAX_SHOWN_TEXT = 200


class DeadlineExceededError(Exception):
    """Sleep of a program beyond its deadline; kept by the host, never shown."""


class ProgramMemory:
    """Memory of a program with bounds checks. Valid during one host call: it may move when the program continues."""

    __slots__ = ("_base", "_size")

    def __init__(self, store: Store, memory: Memory) -> None:
        self._base = ctypes.addressof(memory.data_ptr(store).contents)
        self._size = memory.data_len(store)

    def check(self, address: int, length: int) -> None:
        """IndexError for a range outside of memory; `address` and `length` are not negative."""
        if address + length > self._size:
            raise IndexError("outside of the program's memory")

    def read(self, address: int, length: int) -> bytes:
        self.check(address, length)
        return ctypes.string_at(self._base + address, length)

    def write(self, address: int, content: bytes) -> None:
        self.check(address, len(content))
        ctypes.memmove(self._base + address, content, len(content))

    def write_number(self, address: int, number: int) -> None:
        self.write(address, number.to_bytes(4, "little"))


class Preview1Host:
    """Host side of one run of a core module. `opened`: its preopens by descriptor, None for the sentinel."""

    def __init__(
        self,
        store: Store,
        memory: Memory,
        standard: StandardStreams,
        *,
        opened: Sequence[Preopen | None],
        deadline: float,
        on_call: Callable[[str], object] | None,
    ) -> None:
        """`deadline`: in time.monotonic(), or infinite; `on_call`: receives a line for every traced call."""
        self.error: BaseException | None = None
        self.denials: list[Denial] = []
        self._store = store
        self._memory_export = memory
        self._stdin = standard.stdin
        self._sinks = {1: standard.stdout, 2: standard.stderr}
        self._opened = opened
        self._deadline = deadline
        self._on_call = on_call

    @property
    def memory_bytes(self) -> int:
        return self._memory_export.data_len(self._store)

    # ------------------------------------------------------------------ calls of the interposer

    def read(self, buffers: int, count: int, read: int) -> int:
        memory = self._memory()
        places = _buffers(memory, buffers, count)
        wanted = sum(length for _, length in places)
        content = self._stdin(wanted) if wanted else b""
        if len(content) > wanted:
            raise ValueError(f"the source returned {len(content)} bytes, requested were {wanted}")
        at = 0
        for address, length in places:
            memory.write(address, content[at : at + length])
            at += length
        memory.write_number(read, len(content))
        return 0

    def write(self, stream: int, buffers: int, count: int, written: int) -> int:
        memory = self._memory()
        content = b"".join([memory.read(*place) for place in _buffers(memory, buffers, count)])
        memory.check(written, 4)
        if content:
            self._sinks[stream](content)
        memory.write_number(written, len(content))
        return 0

    def poll(self, subscriptions: int, events: int, count: int, happened: int) -> int:
        if not 0 < count <= _MAX_SUBSCRIPTIONS:
            return poll_oneoff.EINVAL
        memory = self._memory()
        asked = memory.read(subscriptions, count * poll_oneoff.SUBSCRIPTION_SIZE)
        memory.check(events, count * poll_oneoff.EVENT_SIZE)
        delay, answer = poll_oneoff.answer(asked, count, self._is_readable)
        if delay > 0:
            patience = self._deadline - time.monotonic()
            if self._wait(min(delay, patience)):
                _, answer = poll_oneoff.answer(asked, count, self._is_readable)
            elif delay > patience:
                raise DeadlineExceededError
        memory.write(events, answer)
        memory.write_number(happened, len(answer) // poll_oneoff.EVENT_SIZE)
        return 0

    def denied(self, function: int, error: int, *fields: int) -> int:
        """Records a denied call; fields as in preview1_interposer.HOST."""
        fd, path, length, new_fd, new, new_length, oflags, rights = fields
        if len(self.denials) < _MAX_DENIALS:
            name = FUNCTION_NAMES[function]
            paths = [(fd, self._text(path, length, _MAX_PATH))]
            if name in ("path_rename", "path_link"):
                paths.append((new_fd, self._text(new, new_length, _MAX_PATH)))
            writes = name in CHANGING or bool(oflags & (OPEN_CREATE | OPEN_TRUNCATE) or rights & RIGHT_TO_WRITE)
            denial = denial_of(self._opened, name, error, paths, writes=writes)
            if denial not in self.denials:
                self.denials.append(denial)
        return 0

    def traced(self, function: Function, numbers: tuple[int, ...]) -> None:
        if self._on_call is not None:
            self._on_call(self._shown(function, numbers))

    # ------------------------------------------------------------------ inside

    def _is_readable(self, fd: int) -> bool:
        """True, except for a descriptor of this process without input."""
        if fd != 0 or not isinstance(self._stdin, Descriptor):
            return True
        return bool(select.select([self._stdin.number], [], [], 0)[0])

    def _wait(self, seconds: float) -> bool:
        """Waits for input; False after the time without any."""
        limited = None if seconds == math.inf else max(seconds, 0)
        if isinstance(self._stdin, Descriptor):
            return bool(select.select([self._stdin.number], [], [], limited)[0])
        time.sleep(limited or 0)
        return False

    def _text(self, address: int, length: int, limit: int) -> str:
        return self._memory().read(address, min(length, limit)).decode("utf-8", "replace")

    def _memory(self) -> ProgramMemory:
        return ProgramMemory(self._store, self._memory_export)

    def _shown(self, function: Function, numbers: tuple[int, ...]) -> str:
        shown, at = [], 0
        for parameter in function.parameters:
            if parameter.kind == "text":
                shown.append(f"{parameter.name}={self._shown_text(numbers[at], numbers[at + 1])}")
                at += 2
            else:
                shown.append(f"{parameter.name}={numbers[at]}")
                at += 1
        result = f" = {ERRORS.get(numbers[at], numbers[at])}" if function.returns else ""
        return f"{function.name}({', '.join(shown)}){result}"

    def _shown_text(self, address: int, length: int) -> str:
        try:
            return repr(self._text(address, length, _MAX_SHOWN_TEXT))
        except IndexError:
            return "(outside of memory)"


def _buffers(memory: ProgramMemory, address: int, count: int) -> list[tuple[int, int]]:
    """Address and length of the buffers, at most a chunk in total, also for overlapping ones."""
    places, room = [], _CHUNK
    for place, length in struct.iter_unpack("<II", memory.read(address, 8 * min(count, _MAX_BUFFERS))):
        memory.check(place, length)
        if length and room:
            places.append((place, min(length, room)))
            room -= places[-1][1]
    return places


class _Current(threading.local):
    host: Preview1Host | None = None


_current = _Current()
_KINDS = {"i32": ValType.i32, "i64": ValType.i64}


def serve(host: Preview1Host | None) -> Preview1Host | None:
    """Sets the current host of this thread; returns the previous one."""
    before = _current.host
    _current.host = host
    return before


def define(linker: Linker) -> None:
    """Defines the host functions and the tracing functions."""
    for name, parameters in HOST.items():
        define_function(linker, "host", name, _callback(name), parameters=parameters, result="i32")
    for function in FUNCTIONS.values():
        kind = FuncType([_KINDS[kind]() for kind in trace_types(function)], [])
        linker.define_func("trace", function.name, kind, _tracer(function))


def _callback(name: str) -> Callable[..., int | None]:
    def answer(_caller: object, *arguments: int) -> int | None:
        host = cast("Preview1Host", _current.host)
        try:
            return cast("int", getattr(host, name)(*arguments))
        except IndexError:
            return BAD_ADDRESS
        except BaseException as error:  # noqa: BLE001 - kept, and raised by `run`
            host.error = error
            return None

    return answer


def _tracer(function: Function) -> Callable[..., None]:
    def trace(*numbers: int) -> None:
        host = cast("Preview1Host", _current.host)
        try:
            host.traced(function, numbers)
        except BaseException as error:  # noqa: BLE001 - kept; the program continues until its next call
            host.error = host.error or error

    return trace
