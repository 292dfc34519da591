"""Collectors for log lines (of `self.log` and any standard logger) and printed output."""

from __future__ import annotations

import io
import logging
import sys

_MOST_LINES = 1000
_LEVELS = (logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)


class LogCollector(logging.Handler):
    """Buffer of log lines: pairs of severity (0 info, 1 warning, 2 error, 3 fatal) and text."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[int, str]] = []
        self._dropped = 0

    def install(self, severity: int) -> None:
        """Installs the collector for log lines of at least this severity."""
        root = logging.getLogger()
        root.handlers = [self]
        root.setLevel(_LEVELS[min(max(severity, 0), 3)])

    def emit(self, record: logging.LogRecord) -> None:
        if len(self.lines) >= _MOST_LINES:
            self._dropped += 1
            return
        severity = min(max((record.levelno - logging.INFO) // 10, 0), 3)
        self.lines.append((severity, self.format(record)))

    def take(self) -> tuple[list[tuple[int, str]], int]:
        """Removes and returns the lines, with the number of dropped ones."""
        taken = self.lines, self._dropped
        self.lines, self._dropped = [], 0
        return taken


class OutputCollector(io.TextIOBase):
    """Bounded buffer in place of stdout and stderr."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._limit = self._room = 0
        self._dropped = 0

    def install(self, limit: int) -> None:
        self._limit = self._room = limit
        sys.stdout = sys.stderr = self

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        kept = text[: self._room]
        if kept:
            self.texts.append(kept)
            self._room -= len(kept)
        self._dropped += len(text) - len(kept)
        return len(text)

    def take(self) -> str:
        """Removes and returns the output."""
        text = "".join(self.texts)
        if self._dropped:
            text += f"… ({self._dropped} more characters)"
        self.texts, self._room, self._dropped = [], self._limit, 0
        return text
