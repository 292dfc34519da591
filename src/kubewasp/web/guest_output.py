"""Output and log lines of web guests: bounded per request, with the guest's name and the request id."""

from __future__ import annotations

import logging
from typing import Final

logger = logging.getLogger(__name__)
_NONE: Final = 3
# Debug is -1 in the http-wasm ABI; the handler ABI uses the same numbers.
_LEVELS: Final = {-1: logging.INFO - 4, 0: logging.INFO, 1: logging.WARNING, 2: logging.ERROR}


class Output:
    """Buffer for stdout, stderr and log lines of one instance.

    Separate from the instance: the runtime keeps a reference to it, and must not keep one to the instance.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit
        self._content = bytearray()
        self._held: list[tuple[int, str]] | None = None

    def begin(self, *, hold: bool = False) -> None:
        """Resets the allowance for a new request. With `hold`, log lines are kept until its end."""
        self._left = self._limit
        self._held = (self._held or []) if hold else None

    def discard(self) -> None:
        """Forgets all lines: the request is repeated."""
        self._content = bytearray()
        self._held = None

    @property
    def has_lines(self) -> bool:
        return bool(self._held or self._content)

    def hold(self, level: int, line: str) -> bool:
        """Keeps a log line, if lines are held."""
        if self._held is None:
            return False
        self._held.append((level, line))
        return True

    def held(self) -> list[tuple[int, str]]:
        """Log lines held since the last call."""
        found, self._held = self._held or [], None
        return found

    def take(self, chunk: bytes) -> int:
        """Keeps the bytes that are within the limit; reports all of them as written."""
        self._content += self.bounded(chunk)
        return len(chunk)

    def bounded(self, chunk: bytes) -> bytes:
        """The part of the chunk that is within the limit."""
        allowed = chunk[: self._left]
        self._left -= len(allowed)
        return allowed

    def lines(self) -> list[str]:
        """Non-empty lines since the last call."""
        if not self._content:
            return []
        text, self._content = self._content.decode(errors="replace"), bytearray()
        return [line for line in text.splitlines() if line.strip()]


def is_enabled(level: int) -> bool:
    """Whether the log shows lines of that ABI level."""
    return _signed(level) < _NONE and logger.isEnabledFor(_logging_level(level))


def log(guest: str, output: Output, level: int, message: bytes, request_id: str) -> None:
    """Logs one line of a guest, cut at the output limit."""
    if is_enabled(level) and (allowed := output.bounded(message)):
        line = allowed.decode(errors="replace")
        if not output.hold(_logging_level(level), line):
            _log_line(_logging_level(level), line, guest, request_id)


def log_lines(guest: str, output: Output, request_id: str) -> None:
    """Logs the lines that a guest has printed, and those that were held."""
    for level, line in output.held():
        _log_line(level, line, guest, request_id)
    for line in output.lines():
        _log_line(logging.INFO, line, guest, request_id)


def _signed(level: int) -> int:
    return level - 2**32 if level >= 2**31 else level


def _logging_level(level: int) -> int:
    return _LEVELS.get(_signed(level), logging.INFO - 4 if _signed(level) < 0 else logging.ERROR)


def _log_line(level: int, line: str, guest: str, request_id: str) -> None:
    keys = {"guest": guest} | ({"requestID": request_id} if request_id else {})
    logger.log(level, "%s", line, extra=keys | {"guest_line": line})
