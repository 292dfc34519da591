"""Kernel timers that take the rights to a guest's guard away, at a limit of a thread's CPU time or of wall time.

HOT PATH (guard: make bars, interruption). A guest with load checks (load_checks.py) traps at its next load from that
page. The timer calls a few bytes of machine code, as no function of the C library with one argument calls `mprotect`;
no Python runs, so that a guest is ended also while its caller keeps Python's lock. Linux on x86-64 only.

A timer may fire late: on a thread of the C library, after it was stopped. So it finds its page in a slot that is never
freed, and is empty between calls; the slot counts calls that have begun and those that are done, and whoever empties
it waits for calls in between. A slot whose timer has expired is put away for a while, with its timers deleted.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import platform
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from kubewasp.wasm import posix_timers
from kubewasp.wasm.ffi import PAGE
from kubewasp.wasm.posix_timers import PosixTimer, Schedule

# A guard: a page of wasm. As a whole, so that the system has no mapping to split, which can fail.
GUARD_SIZE: Final = PAGE
# Wall time of a call, in multiples of its limit.
WALL_FACTOR: Final = 10
# CPU time that a call may have beyond its limit, so that timers are not set for every call; less for short limits.
_SLACK, _SHORT_SLACK, _SHORT_LIMIT = 0.05, 0.01, 0.5
# Seconds after which a call of an expired timer must have begun.
_AWAY: Final = 60.0
_READ_WRITE, _READ_EXECUTE = mmap.PROT_READ | mmap.PROT_WRITE, mmap.PROT_READ | mmap.PROT_EXEC
_EFAULT: Final = 14


class _Slot(ctypes.Structure):
    """Argument of the machine code, which knows these places."""

    _fields_ = (
        ("page", ctypes.c_uint64),  # 0: none
        ("length", ctypes.c_uint64),
        ("begun", ctypes.c_uint32),
        ("done", ctypes.c_uint32),
    )


# void take_rights(slot*): mprotect(slot->page, slot->length, PROT_NONE), and the counts. Without a page it does
# nothing: the kernel has no mapping at address 0.
_MACHINE_CODE: Final = {
    "x86_64": bytes.fromhex(
        "f30f1efa"  # endbr64
        "f0ff4710"  # lock inc dword [rdi + 16]     begun
        "57"  # push rdi
        "488b7708"  # mov rsi, [rdi + 8]            length
        "488b3f"  # mov rdi, [rdi]                  page
        "31d2"  # xor edx, edx                      PROT_NONE
        "b80a000000"  # mov eax, 10                 mprotect
        "0f05"  # syscall
        "5f"  # pop rdi
        "f0ff4714"  # lock inc dword [rdi + 20]     done
        "c3"  # ret
    )
}


class _System:
    """Memory of the process that lasts as long as it does: the machine code, and slots."""

    def __init__(self) -> None:
        """OSError if the system has no timers of this kind, or does not allow machine code of one's own."""
        code = _MACHINE_CODE.get(platform.machine())
        if code is None or not posix_timers.are_there() or not hasattr(time, "pthread_getcpuclockid"):
            raise OSError("no machine code or timers for this system")
        c: Any = ctypes.CDLL(None, use_errno=True)
        c.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        c.mmap.restype = ctypes.c_void_p
        c.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        c.access.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self._c = c
        self.page_size = mmap.PAGESIZE
        self._lock = threading.Lock()
        self._fresh: list[_Slot] = []
        self._put_away: deque[tuple[float, _Slot]] = deque()
        self.take_rights = self._mapped(self.page_size)
        ctypes.memmove(self.take_rights, code, len(code))
        self._set_rights(self.take_rights, self.page_size, _READ_EXECUTE)
        self._try_out()

    def _mapped(self, length: int) -> int:
        """New memory, which is never given back: a timer may fire while the process ends."""
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        found = self._c.mmap(None, length, _READ_WRITE, flags, -1, 0)
        if found in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "no memory for timers")
        return int(found)

    def give_rights(self, page: int) -> None:
        self._set_rights(page, GUARD_SIZE, _READ_WRITE)

    def _set_rights(self, page: int, length: int, rights: int) -> None:
        if self._c.mprotect(page, length, rights):
            error = ctypes.get_errno()
            raise OSError(error, f"cannot set the rights of a page: {os.strerror(error)}")

    def _try_out(self) -> None:
        """One use of everything: OSError if something is not as on the systems it was made for."""
        page, slot = self._mapped(GUARD_SIZE), self.slot()
        slot.page = page
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.take_rights)(ctypes.addressof(slot))
        unreadable = self._c.access(page, 0) == -1 and ctypes.get_errno() == _EFAULT
        if not unreadable or (slot.begun, slot.done) != (1, 1):
            raise OSError("timers cannot take rights away on this system")
        slot.page = 0
        self.give_rights(page)
        for clock in (posix_timers.CLOCK_MONOTONIC, time.pthread_getcpuclockid(threading.get_ident())):
            PosixTimer(clock, self.take_rights, ctypes.addressof(slot)).delete()

    def slot(self) -> _Slot:
        """An empty slot that no timer has."""
        with self._lock:
            if self._put_away and time.monotonic() - self._put_away[0][0] > _AWAY:
                return self._put_away.popleft()[1]
            if not self._fresh:
                page, size = self._mapped(self.page_size), ctypes.sizeof(_Slot)
                self._fresh = [_Slot.from_address(at) for at in range(page, page + self.page_size - size + 1, size)]
            slot = self._fresh.pop()
        slot.length = GUARD_SIZE
        return slot

    def put_away(self, slot: _Slot) -> None:
        """Takes a slot back whose timers are deleted, but may still fire."""
        with self._lock:
            self._put_away.append((time.monotonic(), slot))


@cache
def _system() -> _System | None:
    with suppress(OSError):
        return _System()
    return None


def are_there() -> bool:
    """Whether this system has such timers, and the process may use them."""
    return _system() is not None


@dataclass(slots=True)
class _Armed:
    """A slot with its timers, and the times of the clocks that they were last set to; infinite: never."""

    slot: _Slot
    unfired: int  # its count of calls that have begun
    on_cpu: PosixTimer
    on_wall: PosixTimer
    cpu_until: float = math.inf
    wall_until: float = math.inf

    @property
    def may_have_expired(self) -> bool:
        return time.thread_time() >= self.cpu_until or time.monotonic() >= self.wall_until


class GuardTimer:
    """Two timers of one thread, for the CPU time and the wall time of the calls on one page at a time."""

    __slots__ = ("_armed", "_lock", "_page", "_process", "_system")

    def __init__(self) -> None:
        """OSError if this system has no such timers."""
        system = _system()
        if system is None:
            raise OSError("this system has no timers for load checks")
        self._system = system
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._page = 0
        self._armed: _Armed | None = None

    def arm(self, page: int, seconds: float) -> None:
        """Begins a call with that limit, whose guard is at that address. Timers that are early enough stay as they are.

        `disarm` must follow. OSError if the system has no timer left.
        """
        armed, cpu, wall = self._armed, time.thread_time(), time.monotonic()
        slack, patience = _SHORT_SLACK if seconds < _SHORT_LIMIT else _SLACK, WALL_FACTOR * seconds
        if (
            armed is None
            or not seconds <= armed.cpu_until - cpu <= seconds + slack
            or not patience <= armed.wall_until - wall <= patience + seconds
        ):
            armed = self._set(cpu, seconds + slack, wall, patience + seconds)
        self._page = page
        armed.slot.page = page

    def disarm(self) -> None:
        """Ends the call. From now on no timer takes rights away, and the page has them. May be repeated."""
        armed, page = self._armed, self._page
        if not page or armed is None:
            return
        armed.slot.page = 0
        with self._lock:  # a barrier: the slot is empty before its counts are read
            pass
        if armed.slot.begun != armed.unfired:
            self._put_away()
            self._system.give_rights(page)
        self._page = 0

    @property
    def has_fired(self) -> bool:
        """Whether the rights to the page were taken away in this call."""
        return self._armed is not None and bool(self._armed.slot.begun != self._armed.unfired)

    def _set(self, cpu: float, cpu_limit: float, wall: float, wall_limit: float) -> _Armed:
        """Sets the timers; the clocks were read before."""
        # A call of the CPU timer is lost if the process may have no more threads: it is repeated.
        on_cpu, on_wall = Schedule.of(cpu_limit, cpu_limit), Schedule.of(wall_limit)
        armed = self._armed or self._fresh()
        armed.on_cpu.set(ctypes.addressof(on_cpu))
        armed.on_wall.set(ctypes.addressof(on_wall))
        if armed.may_have_expired:  # before they were set: a call may be on its way
            self._put_away()
            armed = self._fresh()
            armed.on_cpu.set(ctypes.addressof(on_cpu))
            armed.on_wall.set(ctypes.addressof(on_wall))
        armed.cpu_until, armed.wall_until = cpu + cpu_limit, wall + wall_limit
        return armed

    def _fresh(self) -> _Armed:
        slot, function = self._system.slot(), self._system.take_rights
        at = ctypes.addressof(slot)
        on_cpu = PosixTimer(time.pthread_getcpuclockid(threading.get_ident()), function, at)
        try:
            on_wall = PosixTimer(posix_timers.CLOCK_MONOTONIC, function, at)
        except OSError:
            on_cpu.delete()
            raise
        self._armed = _Armed(slot, slot.begun, on_cpu, on_wall)
        return self._armed

    def _put_away(self) -> None:
        armed, self._armed = self._armed, None
        if armed is None:
            return
        armed.slot.page = 0
        with self._lock:
            pass
        armed.on_cpu.delete()
        armed.on_wall.delete()
        while armed.slot.begun != armed.slot.done:  # a call is on its way to the page
            time.sleep(0.0001)
        self._system.put_away(armed.slot)

    def __del__(self) -> None:
        if getattr(self, "_armed", None) is not None and self._process == os.getpid():  # a forked process has no timers
            self._put_away()


class _OfThread(threading.local):
    """The timers of a thread that are not in use. Calls nest, so a thread may need several."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.free: list[GuardTimer] = []


_local = _OfThread()


def take() -> GuardTimer:
    """A timer of this thread, to be given back on the same thread."""
    if _local.process != os.getpid():
        _local.__init__()  # type: ignore[misc] # the timers are the parent's
    return _local.free.pop() if _local.free else GuardTimer()


def give_back(timer: GuardTimer) -> None:
    _local.free.append(timer)
