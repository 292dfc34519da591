"""What holds while an instance is called: the clock runs, what it sees stays, its callbacks find it.  HOT PATH."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from kubewasp.wasm.core import callbacks
from kubewasp.wasm.errors import InstanceInUseError

if TYPE_CHECKING:
    from kubewasp.wasm.core.callbacks import Servant
    from kubewasp.wasm.core.shared_heap import SharedHeap
    from kubewasp.wasm.deadlines import Ticker


class Entry:
    """One for each instance, which it does not keep alive."""

    def __init__(self, instance: Servant, name: str, ticker: Ticker, heap: SharedHeap) -> None:
        self._instance = weakref.ref(instance)
        self._name = name
        self._ticker = ticker
        self._heap = heap
        self._lock = threading.Lock()
        self._owner = ""
        self._ticket = 0
        self._before: Servant | None = None

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise InstanceInUseError(
                f'plugin "{self._name}": this instance is in use by thread "{self._owner}"; '
                "one instance runs on one thread at a time, take another one from the guest"
            )
        self._owner = threading.current_thread().name
        self._ticker.begin()
        self._ticket = self._heap.begin_reading()
        self._before = callbacks.serve(self._instance())

    def __exit__(self, *_error: object) -> None:
        callbacks.serve(self._before)
        self._before = None
        self._heap.end_reading(self._ticket)
        self._ticker.end()
        self._lock.release()
