"""The host functions of the door: standard streams, sleeping, what was denied, and the trace of calls.

They are defined once an engine and find the running program through the thread, as wasm/core/callbacks.py explains. No
exception passes through the runtime: the session keeps it, and the program ends.
"""

from __future__ import annotations

import math
import select
import struct
import threading
import time
from typing import TYPE_CHECKING, cast

from wasmtime import FuncType, ValType

from kubewasp.wasi.denials import Denial, asked_for
from kubewasp.wasi.interposition import HOST, NUMBERS, trace_types
from kubewasp.wasi.memory import ProgramMemory
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
from kubewasp.wasi.streams import Descriptor, own_streams
from kubewasp.wasm import poll_oneoff
from kubewasp.wasm.ffi import define_function

if TYPE_CHECKING:
    from collections.abc import Callable

    from wasmtime import Linker, Memory, Store

    from kubewasp.wasi.grants import Directory, Grants
    from kubewasp.wasi.streams import Sink, Source

# A call takes or gives no more than this at once; a program that has more calls again.
_CHUNK = 256 * 1024
_MAX_BUFFERS = 1024
_MAX_SUBSCRIPTIONS = 4096
_MAX_DENIALS = 20
_MAX_PATH = 4096
_MAX_SHOWN_TEXT = 200


class TimeIsUp(Exception):  # noqa: N818 - kept by the session, never seen by a user
    """The program waits for longer than it may run."""


class Session:
    """One run of a program, as the host functions see it."""

    def __init__(
        self,
        store: Store,
        grants: Grants,
        *,
        stdin: Source,
        stdout: Sink,
        stderr: Sink,
        on_call: Callable[[str], object] | None,
    ) -> None:
        self.memory: Memory | None = None
        self.opened: list[Directory | None] = []  # the directories that the program finds open; None is the witness
        self.deadline = math.inf if grants.timeout is None else time.monotonic() + grants.timeout
        self.error: BaseException | None = None
        self.denials: list[Denial] = []
        self.on_call = on_call
        self._store = store
        self._stdin = stdin
        self._sinks = {1: stdout, 2: stderr}

    def descriptors(self) -> tuple[bool, bool, bool]:
        """Which of the standard streams are those of this process."""
        return own_streams(self._stdin, self._sinks[1], self._sinks[2])

    # ------------------------------------------------------------------ what the door calls

    def read(self, buffers: int, count: int, read: int) -> int:
        memory = self._memory()
        places = _buffers(memory, buffers, count)
        wanted = sum(length for _, length in places)
        content = self._stdin(wanted) if wanted else b""
        if len(content) > wanted:
            raise ValueError(f"the source gave {len(content)} bytes, asked for {wanted}")
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
            patience = self.deadline - time.monotonic()
            if self._wait(min(delay, patience)):
                _, answer = poll_oneoff.answer(asked, count, self._is_readable)
            elif delay > patience:
                raise TimeIsUp
        memory.write(events, answer)
        memory.write_number(happened, len(answer) // poll_oneoff.EVENT_SIZE)
        return 0

    def denied(self, function: int, error: int, *told: int) -> int:
        """What is told is listed in door.py."""
        fd, path, length, new_fd, new, new_length, oflags, rights = told
        if len(self.denials) < _MAX_DENIALS:
            name = NUMBERS[function]
            paths = [(fd, self._text(path, length, _MAX_PATH))]
            if name in ("path_rename", "path_link"):
                paths.append((new_fd, self._text(new, new_length, _MAX_PATH)))
            writes = name in CHANGING or bool(oflags & (OPEN_CREATE | OPEN_TRUNCATE) or rights & RIGHT_TO_WRITE)
            denial = asked_for(self.opened, name, error, paths, writes=writes)
            if denial not in self.denials:
                self.denials.append(denial)
        return 0

    def traced(self, function: Function, numbers: tuple[int, ...]) -> None:
        if self.on_call is not None:
            self.on_call(self._shown(function, numbers))

    # ------------------------------------------------------------------ helpers

    def _is_readable(self, fd: int) -> bool:
        """Files always are; of the standard streams only one of this process's own open files may not be."""
        if fd != 0 or not isinstance(self._stdin, Descriptor):
            return True
        return bool(select.select([self._stdin.number], [], [], 0)[0])

    def _wait(self, seconds: float) -> bool:
        """Whether there was something to read before the time was over."""
        limited = None if seconds == math.inf else max(seconds, 0)
        if isinstance(self._stdin, Descriptor):
            return bool(select.select([self._stdin.number], [], [], limited)[0])
        time.sleep(limited or 0)
        return False

    def _text(self, address: int, length: int, limit: int) -> str:
        return self._memory().read(address, min(length, limit)).decode("utf-8", "replace")

    def _memory(self) -> ProgramMemory:
        return ProgramMemory(self._store, cast("Memory", self.memory))

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
    """Where the first bytes come from or go to: not more than a chunk, however often the same memory is named."""
    places, room = [], _CHUNK
    for place, length in struct.iter_unpack("<II", memory.read(address, 8 * min(count, _MAX_BUFFERS))):
        memory.check(place, length)
        if length and room:
            places.append((place, min(length, room)))
            room -= places[-1][1]
    return places


class _Current(threading.local):
    session: Session | None = None


_current = _Current()
_KINDS = {"i32": ValType.i32, "i64": ValType.i64}


def serve(session: Session | None) -> Session | None:
    """Calls made on this thread are the session's from now on; returns whose they were."""
    before = _current.session
    _current.session = session
    return before


def define(linker: Linker) -> None:
    for name, parameters in HOST.items():
        define_function(linker, "host", name, _callback(name), parameters=parameters, result="i32")
    for function in FUNCTIONS.values():
        kind = FuncType([_KINDS[kind]() for kind in trace_types(function)], [])
        linker.define_func("trace", function.name, kind, _tracer(function))


def _callback(name: str) -> Callable[..., int | None]:
    def answer(_caller: object, *arguments: int) -> int | None:
        session = cast("Session", _current.session)  # who called
        try:
            return cast("int", getattr(session, name)(*arguments))
        except IndexError:
            return BAD_ADDRESS
        except BaseException as error:  # noqa: BLE001 - kept, and raised again where the program was run
            session.error = error
            return None

    return answer


def _tracer(function: Function) -> Callable[..., None]:
    def trace(*numbers: int) -> None:
        session = cast("Session", _current.session)
        try:
            session.traced(function, numbers)
        except BaseException as error:  # noqa: BLE001 - kept as above; the program goes on until its next call
            session.error = session.error or error

    return trace
