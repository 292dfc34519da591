"""Requests to one API server as client-go counts them. HOT PATH (guard: make counts)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections import defaultdict

    from kubewasp.server.instruments import Distribution, Labels
    from kubewasp.server.metrics import Metrics


class RequestMetrics:
    """Implements `cluster.api.request_observer.RequestObserver` for requests to one host."""

    def __init__(self, metrics: Metrics, host: str) -> None:
        self._host = host
        self._requests: defaultdict[Labels, float] = metrics.requests
        self._retries: defaultdict[Labels, float] = metrics.request_retries
        self._seconds: defaultdict[Labels, Distribution] = metrics.request_seconds
        self._limited: defaultdict[Labels, Distribution] = metrics.limiter_seconds
        self._sent: defaultdict[Labels, Distribution] = metrics.request_bytes
        self._received: defaultdict[Labels, Distribution] = metrics.response_bytes

    def answered(self, method: str, _path: str, status: int, seconds: float) -> None:
        self._requests[_code(status), method, self._host] += 1
        self._seconds[method, self._host].add(seconds)

    def transferred(self, method: str, sent: int, received: int) -> None:
        self._sent[method, self._host].add(sent)
        self._received[method, self._host].add(received)

    def limited(self, method: str, seconds: float) -> None:
        self._limited[method, self._host].add(seconds)

    def retried(self, method: str, status: int) -> None:
        self._retries[_code(status), method, self._host] += 1


def _code(status: int) -> str:
    return str(status) if status else "<error>"
