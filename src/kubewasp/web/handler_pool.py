"""Pool of instances of a web guest: a fresh one per request, unless reuse is configured (docs/http.md, "Isolation")."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.web.errors import ClientError, GuestError, OverrunError
from kubewasp.web.guest_output import log_lines

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """Instances of one version of a guest. Each serves `uses` requests, one after the other."""

    def __init__(self, make: Callable[[bool], HandlerInstance], stats: PoolStats, *, uses: float = 1) -> None:
        """`make` starts an instance, on the event loop for a brief request if True."""
        self._make = make
        self._stats = stats
        self._uses = uses
        self._idle: list[_Pooled] = []
        self._lock = threading.Lock()

    def run(self, serve: Callable[[HandlerInstance], None], request_id: str, *, brief: bool = False) -> None:
        """Has one request served by an instance."""
        pooled = self._take(brief)
        instance = pooled.instance
        try:
            instance.begin(brief=brief)
            serve(instance)
        except OverrunError:
            instance.broken = True
            instance.output.discard()
            raise
        except (GuestError, ClientError):
            instance.broken = True  # left in an unknown state
            raise
        finally:
            if instance.output.has_lines:
                log_lines(instance.name, instance.output, request_id)
            self._give_back(pooled)

    def prepare(self) -> None:
        """Starts an instance ahead, so that the next request does not wait for a start function."""
        if len(self._idle) < _AHEAD:
            fresh = _Pooled(self._fresh(brief=False), self._uses)
            with self._lock:
                self._idle.append(fresh)

    def _take(self, brief: bool) -> _Pooled:
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        taken = idle or _Pooled(self._fresh(brief), self._uses)
        self._stats.begin()
        return taken

    def _fresh(self, brief: bool) -> HandlerInstance:
        instance = self._make(brief)
        self._stats.made()
        return instance

    def _give_back(self, pooled: _Pooled) -> None:
        self._stats.end()
        pooled.left -= 1
        instance = pooled.instance
        if pooled.left <= 0 or instance.broken or instance.memory_bytes >= instance.limits.memory * _HIGH_WATER:
            instance.close()
            return
        with self._lock:
            self._idle.append(pooled)


@dataclass(slots=True)
class _Pooled:
    """Instance, and the number of requests that it may still serve."""

    instance: HandlerInstance
    left: float
