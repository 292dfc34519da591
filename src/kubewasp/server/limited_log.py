"""Log lines that clients can cause in any number: one per interval and event, with a count of those left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import logging
    from collections.abc import Hashable

    from kubewasp.clock import Clock

INTERVAL_SECONDS: Final = 10.0
_MAX_EVENTS: Final = 64


class LimitedLog:
    """One line per interval for each message and `key`; the next one has `leftOut`. For one thread."""

    def __init__(self, logger: logging.Logger, clock: Clock) -> None:
        self._logger = logger
        self._clock = clock
        self._next: dict[tuple[str, Hashable], tuple[float, int]] = {}

    def event(self, message: str, key: Hashable, /, **fields: object) -> None:
        """`key` must come from a small set, never from a client. Level warning."""
        now = self._clock.now()
        due, left_out = self._next.get((message, key), (now, 0))
        if now < due:
            self._next[message, key] = due, left_out + 1
            return
        if len(self._next) >= _MAX_EVENTS:
            self._next.clear()
        self._next[message, key] = now + INTERVAL_SECONDS, 0
        if left_out:
            fields["leftOut"] = left_out
        self._logger.warning(message, extra=fields)

    def close(self) -> None:
        """Logs the counts that no later line has shown."""
        for (message, key), (_, left_out) in self._next.items():
            if left_out:
                self._logger.warning(message, extra={"reason": str(key), "leftOut": left_out})
        self._next.clear()
