"""Health probe: GET /livez once a second, on a new connection each, as a kubelet does."""

from __future__ import annotations

import contextlib
import http.client
import statistics
import threading
import time
from dataclasses import dataclass
from typing import Final

# Seconds, as `timeoutSeconds` of the livenessProbe in deploy/. A later answer is none.
TIMEOUT: Final = 15.0
_EVERY: Final = 1.0


@dataclass(frozen=True, slots=True)
class ProbeCounts:
    """Probes since the start; the slowest, in seconds, since the last call."""

    probes: int
    failed: int
    slowest: float


class HealthProbe:
    """Probes on a thread of its own, from `start` to `stop`."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._took: list[float] = []
        self._failed = 0
        self._slowest = 0.0
        self._thread = threading.Thread(target=self._run, name="health probe", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        while not self._over.is_set():
            began = time.monotonic()
            is_answered = answers(self._port, "/livez")
            took = time.monotonic() - began
            with self._lock:
                self._took.append(took)
                self._failed += not is_answered
                self._slowest = max(self._slowest, took)
            self._over.wait(max(0.0, _EVERY - took))

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def counts(self) -> ProbeCounts:
        with self._lock:
            slowest, self._slowest = self._slowest, 0.0
            return ProbeCounts(len(self._took), self._failed, slowest)

    def milliseconds(self) -> dict[str, float]:
        """Median and greatest time of all probes."""
        with self._lock:
            times = self._took or [0.0]
            return {"median": round(1e3 * statistics.median(times), 1), "greatest": round(1e3 * max(times), 1)}


def answers(port: int, path: str) -> bool:
    """Whether a GET is answered with 200 in time."""
    return get(port, path) is not None


def get(port: int, path: str) -> str | None:
    """Body of the answer to a GET; None without one in time, or with another status than 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read().decode()
        return body if answer.status == http.HTTPStatus.OK else None
    return None
