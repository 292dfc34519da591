"""Metrics of requests to one API server, those of client-go.  HOT PATH (guard: make counts)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubewasp.server.metrics import Metrics


class RequestMetrics:
    """Request metrics of one host. Implements `RequestObserver`; updated on the event loop only."""

    def __init__(self, metrics: Metrics, host: str) -> None:
        self._host = host
        self._requests = metrics.counter("rest_client_requests_total")
        self._retries = metrics.counter("rest_client_request_retries_total")
        self._seconds = metrics.histogram("rest_client_request_duration_seconds")
        self._limited = metrics.histogram("rest_client_rate_limiter_duration_seconds")
        self._sent = metrics.histogram("rest_client_request_size_bytes")
        self._received = metrics.histogram("rest_client_response_size_bytes")

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
