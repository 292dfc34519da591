"""Pool of instances of a web guest: a fresh one per request, unless reuse is configured (docs/http.md, "Isolation")."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kubewasp.web.errors import ClientError, GuestError
from kubewasp.web.guest_output import log_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubewasp.web.handler_instance import HandlerInstance

# Instances started ahead of the requests that will use them.
_AHEAD: Final = 4
# Share of the memory limit above which a reused instance is replaced: some allocators never free.
_HIGH_WATER: Final = 0.75


class PoolStats:
    """Counters for all versions of a guest, updated by many threads."""

    def __init__(self) -> None:
        self.created = 0
        self.in_use = 0
        self._lock = threading.Lock()

    def begin(self, *, made: bool = False) -> None:
        with self._lock:
            self.in_use += 1
            self.created += made

    def end(self) -> None:
        with self._lock:
            self.in_use -= 1

    def made(self) -> None:
        with self._lock:
            self.created += 1


class InstancePool:
    """Instances of one version of a guest."""

    def __init__(self, make: Callable[[], HandlerInstance], stats: PoolStats, *, reuse: bool) -> None:
        self._make = make
        self._stats = stats
        self._reuse = reuse
        self._idle: list[HandlerInstance] = []
        self._lock = threading.Lock()

    @contextmanager
    def instance(self, request_id: str) -> Iterator[HandlerInstance]:
        """An instance for one request."""
        instance = self._take()
        try:
            yield instance
        except (GuestError, ClientError):
            instance.broken = True  # left in an unknown state
            raise
        finally:
            log_lines(instance.name, instance.output, request_id)
            self._give_back(instance)

    def prepare(self) -> None:
        """Starts an instance ahead, so that the next request does not wait for a start function."""
        if len(self._idle) < _AHEAD:
            fresh = self._fresh()
            with self._lock:
                self._idle.append(fresh)

    def _take(self) -> HandlerInstance:
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        taken = idle or self._fresh()
        self._stats.begin()
        return taken

    def _fresh(self) -> HandlerInstance:
        instance = self._make()
        self._stats.made()
        return instance

    def _give_back(self, instance: HandlerInstance) -> None:
        self._stats.end()
        if self._reuse and not instance.broken and instance.memory_bytes < instance.limits.memory * _HIGH_WATER:
            instance.output.begin()
            with self._lock:
                self._idle.append(instance)
