"""Log lines of guests, in klog's format."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass

# Severities of the ABI: info, warning, error, fatal. A guest's fatal line is logged as an error: it ends nothing.
_LEVELS = (logging.INFO, logging.WARNING, logging.ERROR, logging.ERROR)
_LETTERS = "IWEF"


@dataclass(frozen=True, slots=True)
class LogLine:
    """One log line of a guest."""

    severity: int
    text: str

    @property
    def level(self) -> int:
        return level_of(self.severity)

    @property
    def letter(self) -> str:
        return _LETTERS[min(max(self.severity, 0), 3)]


def level_of(severity: int) -> int:
    """Python's level of a severity; severities of guests are arbitrary numbers."""
    return _LEVELS[min(max(severity, 0), 3)]


def plain(message: bytes) -> str:
    """A message without its final newline: a logged line has one already."""
    return message.decode("utf-8", "replace").removesuffix("\n")


def pairs_of(pairs: bytes) -> list[tuple[str, str]]:
    """NUL-terminated keys and values in turn."""
    words = pairs.decode("utf-8", "replace").split("\0")
    if words[-1] == "":
        words.pop()
    if len(words) % 2:
        words.append("(MISSING)")
    return list(zip(words[::2], words[1::2], strict=True))


def structured(message: bytes, pairs: bytes) -> str:
    """`"message" key="value" …`; without pairs, just the message."""
    if not pairs:
        return plain(message)
    parts = [_quoted(message.decode("utf-8", "replace"))]
    parts.extend(f"{key}={_quoted(value)}" for key, value in pairs_of(pairs))
    return " ".join(parts)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
