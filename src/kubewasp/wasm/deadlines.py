"""Time limits of guest calls: an engine's epoch advances while calls run, and deadlines are set in its ticks.

Core guests have load checks instead, where the system allows it (load_deadline.py).

A plugin's call is limited by the CPU time of its thread (`CallDeadline`), so a busy machine ends no call early. WASI
programs and web handlers are limited by wall time: they set deadlines in ticks themselves.

On Linux, a kernel timer calls wasmtime's own function to advance the epoch: no Python runs, so a guest is ended in time
even while its caller keeps Python's lock. On other systems a thread does it, and callers must release the lock.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

from kubewasp.wasm import posix_timers
from kubewasp.wasm.ffi import epoch_increment, on_deadline
from kubewasp.wasm.posix_timers import PosixTimer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wasmtime import Engine, Store

PERIOD: Final = 0.005
_MOST_AT_ONCE: Final = 4
# Wall time of a call, in multiples of its limit: a call that is blocked or gets no CPU ends, too.
WALL_FACTOR: Final = 10
# Ticks before the clocks of a call are first read, for limits of half a second and more, and for shorter ones. Most
# calls end earlier, without a read.
_FIRST_LOOK, _EARLY_LOOK, _SHORT_LIMIT = 10, 2, 0.5
# CPU time of the calling thread; wall time where the system has no such clock.
_cpu_time: Callable[[], float] = getattr(time, "thread_time", time.monotonic)


class TimeLimit(Exception):  # noqa: N818 - raised in a callback, never seen by a user
    """The guest sleeps longer than its time limit allows."""


class Deadline(Protocol):
    """Time limit of the calls of one instance: of CPU time, sleep and wall time."""

    @property
    def is_over(self) -> bool:
        """Whether the time limit has ended the call."""

    @property
    def interrupt(self) -> BaseException | None:
        """An exception of the host (Ctrl-C) that has ended the call."""

    @property
    def slept(self) -> float:
        """Seconds that the guest has slept in this call."""

    def arm(self, seconds: float) -> None:
        """Sets the limit of the call that begins now."""

    def disarm(self) -> None:
        """Ends the limit, as the call has ended."""

    def ended(self, error: Exception) -> None:
        """Looks at the error that has ended the call."""

    def sleep(self, seconds: float) -> None:
        """Sleeps on behalf of the guest; TimeLimit once it has slept as long as its limit."""


class SleepBudget:
    """Sleep of a guest in one call: as long as the call's limit."""

    __slots__ = ("seconds", "slept")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept = 0.0

    def reset(self, seconds: float) -> None:
        self.seconds = seconds
        self.slept = 0.0

    def sleep(self, seconds: float) -> None:
        rest = max(self.seconds - self.slept, 0.0)
        time.sleep(min(seconds, rest))
        self.slept += seconds
        if seconds > rest:
            raise TimeLimit


class CallDeadline:
    """Time limit of the calls on one store: so much CPU time, as much sleep, and ten times as much wall time.

    The CPU time before the first look is not counted: 50 ms at most, or 10 ms of a limit below half a second. `watch`,
    for profiles, is called at every tick of a call, on its thread.
    """

    def __init__(
        self,
        store: Store,
        *,
        cpu_time: Callable[[], float] = _cpu_time,
        wall_time: Callable[[], float] = time.monotonic,
        watch: Callable[[], None] | None = None,
    ) -> None:
        self._sleep = SleepBudget()
        self._store = store
        self._is_watched = watch is not None
        self._budget = _Budget(cpu_time, wall_time, watch)
        self._callback = on_deadline(store, self._budget.ticks)

    @property
    def is_over(self) -> bool:
        """Whether the time limit has ended the call."""
        return self._budget.is_over

    @property
    def interrupt(self) -> BaseException | None:
        """An exception of the host (Ctrl-C) that has ended the call."""
        return self._budget.interrupt

    def arm(self, seconds: float) -> None:
        """Sets the limit of the call that begins now."""
        self._sleep.reset(seconds)
        self._budget.reset(seconds)
        first = _EARLY_LOOK if seconds < _SHORT_LIMIT else _FIRST_LOOK
        self._store.set_epoch_deadline(1 if self._is_watched else first)

    def disarm(self) -> None:
        """The deadline may pass between calls."""

    def ended(self, error: Exception) -> None:
        """The callback has seen to it."""

    @property
    def slept(self) -> float:
        return self._sleep.slept

    def sleep(self, seconds: float) -> None:
        self._sleep.sleep(seconds)


class _Budget:
    """State of a deadline. The runtime keeps this object, and not the store, from being freed."""

    def __init__(
        self, cpu_time: Callable[[], float], wall_time: Callable[[], float], watch: Callable[[], None] | None
    ) -> None:
        self._cpu_time, self._wall_time = cpu_time, wall_time
        self._watch = watch
        self.reset(0.0)

    def reset(self, seconds: float) -> None:
        self.seconds = seconds
        self.is_over = False
        self.interrupt: BaseException | None = None
        self._began: tuple[float, float] | None = None

    def ticks(self) -> int:
        """Ticks until the next look; 0 ends the call."""
        try:
            if self._watch is not None:
                self._watch()
            left = self._left()
        except BaseException as error:  # noqa: BLE001 - Ctrl-C: raised again by the caller of the guest
            self.interrupt = error.with_traceback(None)
            return 0
        self.is_over = left <= 0
        if self._watch is not None and not self.is_over:
            return 1
        return 0 if self.is_over else math.ceil(left / PERIOD)

    def _left(self) -> float:
        """Seconds until the limit, if the guest gets a whole CPU from now on."""
        cpu, wall = self._cpu_time(), self._wall_time()
        if self._began is None:
            self._began = cpu, wall
        began_cpu, began_wall = self._began
        return min(self.seconds - (cpu - began_cpu), WALL_FACTOR * self.seconds - (wall - began_wall))


class Timer(Protocol):
    """Advances the epoch once per period, from `start` to `stop`."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class Ticker:
    """Runs a timer while at least one call is running."""

    def __init__(self, engine: Engine, timer: Timer | None = None, *, period: float = PERIOD) -> None:
        self._calls = 0
        self._lock = threading.Lock()
        self._timer = timer or (KernelTimer if KernelTimer.is_there() else ThreadTimer)(engine, period)

    @property
    def needs_no_lock(self) -> bool:
        """Whether it ticks while Python's lock is held."""
        return isinstance(self._timer, KernelTimer)

    def ticks(self, seconds: float) -> int:
        """A limit of wall time in ticks. The first few may be for a time before the call."""
        return math.ceil(seconds / PERIOD) + _MOST_AT_ONCE

    @contextmanager
    def running(self) -> Iterator[None]:
        self.begin()
        try:
            yield
        finally:
            self.end()

    def begin(self) -> None:
        """To be called before a call; `end` must follow."""
        with self._lock:
            self._calls += 1
            if self._calls == 1:
                self._timer.start()

    def end(self) -> None:
        with self._lock:
            self._calls -= 1
            if not self._calls:
                self._timer.stop()


class KernelTimer:
    """A POSIX timer whose function is wasmtime's own, with the engine as its argument."""

    def __init__(self, engine: Engine, period: float = PERIOD) -> None:
        self._engine = engine
        self._timer: PosixTimer | None = None
        self._process = 0
        self._schedule = posix_timers.Schedule.of(period, period)
        self._on, self._off = ctypes.addressof(self._schedule), ctypes.addressof(posix_timers.OFF)

    @staticmethod
    def is_there() -> bool:
        return posix_timers.are_there()

    def start(self) -> None:
        timer = self._timer
        if timer is None or self._process != os.getpid():  # a forked process has no timer
            timer = self._make()
        timer.set(self._on)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.set(self._off)

    def _make(self) -> PosixTimer:
        # It may fire once more after it was stopped, and while the process ends: a reference that nobody gives back.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._engine))
        engine = ctypes.cast(self._engine.ptr(), ctypes.c_void_p).value or 0
        self._timer = PosixTimer(posix_timers.CLOCK_MONOTONIC, epoch_increment(), engine)
        self._process = os.getpid()
        return self._timer


class ThreadTimer:
    """A thread that sleeps for one period at a time, and waits for work after some idle ones."""

    RESTS_AFTER: Final = 100

    def __init__(self, engine: Engine, period: float = PERIOD) -> None:
        self._engine = engine
        self._period = period
        self._is_on = False
        self._busy = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._is_on = True
        if self._thread is None or not self._thread.is_alive():  # not alive in a forked process
            self._thread = threading.Thread(target=self._tick, name="kubewasp-epoch", daemon=True)
            self._thread.start()
        if not self._busy.is_set():
            self._busy.set()

    def stop(self) -> None:
        self._is_on = False

    def due(self, seconds: float) -> int:
        """Ticks per sleep: busy threads prolong a sleep, which must not prolong the limits."""
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
                if self._is_on:  # set meanwhile
                    self._busy.set()
