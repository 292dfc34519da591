"""Meters of machine-independent costs: function calls and peak allocation of a piece of work."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def counted_calls(work: Callable[[], object]) -> int:
    """Number of function calls in this thread, Python and C functions."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    with _no_collection():
        sys.setprofile(count)
        try:
            work()
        finally:
            sys.setprofile(None)
    return calls


def peak_allocated(work: Callable[[], object], times: int = 1) -> int:
    """Peak of the bytes allocated by Python and numpy during the work, above the start.

    With `times`, the least of several: now and then a table of Python grows.
    """
    peaks = []
    with _no_collection():
        tracemalloc.start()
        try:
            for _ in range(times):
                tracemalloc.reset_peak()
                before, _ = tracemalloc.get_traced_memory()
                work()
                peaks.append(tracemalloc.get_traced_memory()[1] - before)
        finally:
            tracemalloc.stop()
    return min(peaks)


@contextmanager
def _no_collection() -> Iterator[None]:
    """The work of the garbage collector depends on everything before."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
