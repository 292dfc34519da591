"""The instances of a guest. A request gets one that no other request has used; see docs/http.md, "Isolation"."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kubewasp.web.faults import ClientFault, GuestFault
from kubewasp.web.guest_log import tell_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubewasp.web.handler_instance import Instance

# Instances that were started ahead of the request that will use them.
_AHEAD: Final = 4
# A reused instance above this share of its memory limit is replaced: some allocators never give anything back.
_HIGH_WATER: Final = 0.75


class PoolStats:
    """Of all versions of a guest; counted by many threads."""

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


class CorePool:
    """Made for one version of a guest; a changed module gets another one."""

    def __init__(self, make: Callable[[], Instance], stats: PoolStats, *, reuse: bool) -> None:
        self._make = make
        self._stats = stats
        self._reuse = reuse
        self._idle: list[Instance] = []
        self._lock = threading.Lock()

    @contextmanager
    def instance(self, request_id: str) -> Iterator[Instance]:
        """For one request."""
        instance = self._take()
        try:
            yield instance
        except (GuestFault, ClientFault):
            instance.broken = True  # it was left in the middle of something
            raise
        finally:
            tell_lines(instance.name, instance.output, request_id)
            self._give_back(instance)

    def prepare(self) -> None:
        """Starts an instance ahead, for guests whose start takes time: the next request need not wait for it."""
        if len(self._idle) < _AHEAD:
            fresh = self._fresh()
            with self._lock:
                self._idle.append(fresh)

    def _take(self) -> Instance:
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        taken = idle or self._fresh()
        self._stats.begin()
        return taken

    def _fresh(self) -> Instance:
        instance = self._make()
        self._stats.made()
        return instance

    def _give_back(self, instance: Instance) -> None:
        self._stats.end()
        if self._reuse and not instance.broken and instance.memory_bytes < instance.limits.memory * _HIGH_WATER:
            instance.output.begin()
            with self._lock:
                self._idle.append(instance)
