"""Timers of the kernel that call a C function with one argument, on a thread of the C library: no Python runs."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any, Final

CLOCK_MONOTONIC: Final = 1


class _Event(ctypes.Structure):
    """`struct sigevent` of 64-bit Linux."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("rest", ctypes.c_byte * 40),
    )


class Schedule(ctypes.Structure):
    """`struct itimerspec`: interval and first expiration."""

    _fields_ = tuple((name, ctypes.c_long) for name in ("every_s", "every_ns", "first_s", "first_ns"))

    @classmethod
    def of(cls, first: float, every: float = 0.0) -> Schedule:
        """In seconds; the first expiration is at least a nanosecond away."""
        first_ns, every_ns = max(round(first * 1e9), 1), round(every * 1e9)
        return cls(*divmod(every_ns, 10**9), *divmod(first_ns, 10**9))


OFF: Final = Schedule()
_SIGEV_THREAD: Final = 2


def _system() -> Any:
    """The C library, if it has timers with callbacks."""
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    library = ctypes.PyDLL(None, use_errno=True)
    if not hasattr(library, "timer_create"):
        return None
    library.timer_settime.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    library.timer_delete.argtypes = [ctypes.c_void_p]
    return library


_c: Final = _system()


def are_there() -> bool:
    return _c is not None


class PosixTimer:
    """One timer; `function` is an address. A function may still be called once after `set` and `delete`."""

    __slots__ = ("_timer",)

    def __init__(self, clock: int, function: int, argument: int) -> None:
        """OSError if the system has no timer left, or no such clock."""
        self._timer = ctypes.c_void_p()
        event = _Event(value=argument, notify=_SIGEV_THREAD, function=function)
        if _c.timer_create(clock, ctypes.byref(event), ctypes.byref(self._timer)):
            error = ctypes.get_errno()
            raise OSError(error, f"cannot create the timer for time limits of guests: {os.strerror(error)}")

    def set(self, schedule: int) -> None:
        """Starts or stops the timer; the argument is the address of a Schedule. OSError: it is not set."""
        if _c.timer_settime(self._timer, 0, schedule, None):
            error = ctypes.get_errno()
            raise OSError(error, f"cannot set the timer for time limits of guests: {os.strerror(error)}")

    def delete(self) -> None:
        _c.timer_delete(self._timer)
