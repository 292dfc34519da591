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


def peak_allocated(work: Callable[[], object]) -> int:
    """Peak of the bytes allocated by Python and numpy during the work, above the start."""
    with _no_collection():
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            work()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    return peak - before


@contextmanager
def _no_collection() -> Iterator[None]:
    """The work of the garbage collector depends on everything before."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
