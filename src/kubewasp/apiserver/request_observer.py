"""Who is told of requests to the API server, for metrics."""

from __future__ import annotations

from typing import Protocol


class RequestObserver(Protocol):
    """Called in the event loop, inline. A request that is tried again is told each time."""

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """A request ended; the status is 0 if there was no answer. Of a watch it is told when it begins."""

    def transferred(self, method: str, sent: int, received: int) -> None:
        """The bodies of a request that succeeded had so many bytes."""

    def limited(self, method: str, seconds: float) -> None:
        """A request was held back by the client's own limit, if only for 0 seconds."""

    def retried(self, method: str, status: int) -> None:
        """A request is about to be sent again, after an answer of that status."""
