"""WASI's `poll_oneoff` for guests whose only event source is the clock, or files of the host."""

from __future__ import annotations

import math
import struct
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.wasm.repeatable import GuestSource

EINVAL = 28
_EBADF = 8
SUBSCRIPTION_SIZE, EVENT_SIZE = 48, 32
_CLOCK, _FD_READ, _FD_WRITE = range(3)
_ABSOLUTE = 1
_MONOTONIC = 1


def answer(
    subscriptions: bytes, count: int, readable: Callable[[int], bool] | None = None, source: GuestSource | None = None
) -> tuple[float, bytes]:
    """Seconds to sleep, and the events to report afterwards.

    `readable` checks an open file for input. Without it, only the standard streams are open. `source` has the time of a
    repeatable guest.
    """
    ready: list[bytes] = []
    clocks: list[tuple[float, bytes]] = []
    waits = False
    for index in range(count):
        at = index * SUBSCRIPTION_SIZE
        userdata, tag = struct.unpack_from("<QB", subscriptions, at)
        if tag == _CLOCK:
            clock, timeout, _, flags = struct.unpack_from("<I4xQQH", subscriptions, at + 16)
            clocks.append((_delay(clock, timeout, flags, source), _event(userdata, 0, tag)))
        elif tag in (_FD_READ, _FD_WRITE):
            (fd,) = struct.unpack_from("<I", subscriptions, at + 16)
            open_files = (0,) if tag == _FD_READ else (1, 2)
            if readable is None:
                ready.append(_event(userdata, 0 if fd in open_files else _EBADF, tag))
            elif tag == _FD_WRITE or readable(fd):
                ready.append(_event(userdata, 0, tag))
            else:
                waits = True
        else:
            ready.append(_event(userdata, EINVAL, 0))
    if ready or not clocks:
        return math.inf if waits and not ready else 0.0, b"".join(ready)
    delay = min(seconds for seconds, _ in clocks)
    return delay, b"".join(event for seconds, event in clocks if seconds <= delay)


def _delay(clock: int, timeout: int, flags: int, source: GuestSource | None) -> float:
    if flags & _ABSOLUTE:
        if source is None:
            timeout -= time.monotonic_ns() if clock == _MONOTONIC else time.time_ns()
        else:
            timeout -= source.monotonic_ns() if clock == _MONOTONIC else source.wall_ns()
    return max(timeout, 0) / 1e9


def _event(userdata: int, errno: int, kind: int) -> bytes:
    return struct.pack("<QHB5xQH6x", userdata, errno, kind, 0, 0)
