"""The clock that ends calls which take too long: an engine's epoch advances while calls are under way.

On Linux, a timer of the kernel calls wasmtime itself. No Python has to run for that, so a guest is ended in time even
while its caller keeps Python's lock. Elsewhere a thread of ours ticks, and callers have to give the lock away.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from wasmtime._ffi import dll

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wasmtime import Engine

PERIOD: Final = 0.005
_MOST_AT_ONCE: Final = 4


class Timer(Protocol):
    """Something that advances the epoch, once a period, from `start` to `stop`."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class Ticker:
    """Runs a timer while calls are under way."""

    def __init__(self, engine: Engine, timer: Timer | None = None) -> None:
        self._calls = 0
        self._lock = threading.Lock()
        self._timer = timer or (KernelTimer(engine) if KernelTimer.is_there() else ThreadTimer(engine))

    @property
    def needs_no_lock(self) -> bool:
        """Whether it ticks while Python's lock is kept by somebody."""
        return isinstance(self._timer, KernelTimer)

    def ticks(self, seconds: float) -> int:
        """A limit in ticks. Those that come at once may count for a time before the call began."""
        return math.ceil(seconds / PERIOD) + _MOST_AT_ONCE

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
            if self._calls == 1:
                self._timer.start()

    def end(self) -> None:
        with self._lock:
            self._calls -= 1
            if not self._calls:
                self._timer.stop()


class _Event(ctypes.Structure):
    """`struct sigevent` of 64-bit Linux."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("rest", ctypes.c_byte * 40),
    )


class _Schedule(ctypes.Structure):
    """`struct itimerspec`: every so often, and when first."""

    _fields_ = tuple((name, ctypes.c_long) for name in ("every_s", "every_ns", "first_s", "first_ns"))


_SIGEV_THREAD: Final = 2
_CLOCK_MONOTONIC: Final = 1
_ON: Final = _Schedule(0, round(PERIOD * 1e9), 0, round(PERIOD * 1e9))
_OFF: Final = _Schedule()
# What a timer has once called may be called by it once more, just after it was stopped.
_never_freed: list[Engine] = []


def _system() -> Any:
    """The C library, if it has timers that call functions."""
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    library = ctypes.PyDLL(None, use_errno=True)
    if not hasattr(library, "timer_create"):
        return None
    library.timer_settime.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    return library


_c: Final = _system()


class KernelTimer:
    """A POSIX timer whose function is wasmtime's own, with the engine as its argument."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._timer = ctypes.c_void_p()
        self._process = 0
        self._on, self._off = ctypes.addressof(_ON), ctypes.addressof(_OFF)

    @staticmethod
    def is_there() -> bool:
        return _c is not None

    def start(self) -> None:
        if self._process != os.getpid():  # a process that was forked has none
            self._make()
        _c.timer_settime(self._timer, 0, self._on, None)

    def stop(self) -> None:
        _c.timer_settime(self._timer, 0, self._off, None)

    def _make(self) -> None:
        _never_freed.append(self._engine)
        engine = ctypes.cast(self._engine.ptr(), ctypes.c_void_p)
        function = ctypes.cast(dll.wasmtime_engine_increment_epoch, ctypes.c_void_p)
        event = _Event(value=engine.value, notify=_SIGEV_THREAD, function=function.value)
        if _c.timer_create(_CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(self._timer)):
            error = ctypes.get_errno()
            raise OSError(error, f"the timer that ends guests cannot be made: {os.strerror(error)}")
        self._process = os.getpid()


class ThreadTimer:
    """A thread that sleeps for a period at a time; when there is nothing to do for long, it rests."""

    RESTS_AFTER: Final = 100

    def __init__(self, engine: Engine, period: float = PERIOD) -> None:
        self._engine = engine
        self._period = period
        self._is_on = False
        self._busy = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._is_on = True
        if self._thread is None or not self._thread.is_alive():  # it is not, in a process that was forked
            self._thread = threading.Thread(target=self._tick, name="kubewasp-epoch", daemon=True)
            self._thread.start()
        if not self._busy.is_set():
            self._busy.set()

    def stop(self) -> None:
        self._is_on = False

    def due(self, seconds: float) -> int:
        """How many ticks a sleep stands for: busy threads make it longer, and that should not stretch the limits."""
        return min(max(1, round(seconds / self._period)), _MOST_AT_ONCE)

    def _tick(self) -> None:
        idle = 0
        while True:
            self._busy.wait()
            began = time.monotonic()
            time.sleep(self._period)
            for _ in range(self.due(time.monotonic() - began)):
                self._engine.increment_epoch()
            idle = 0 if self._is_on else idle + 1
            if idle > self.RESTS_AFTER:
                self._busy.clear()
                if self._is_on:  # since just now
                    self._busy.set()
