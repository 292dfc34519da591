"""Log lines of guests, in klog's format."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass

# Severities of the ABI: info, warning, error, fatal. A guest's fatal line is logged as an error: it ends nothing.
_LEVELS = (logging.INFO, logging.WARNING, logging.ERROR, logging.ERROR)
_LETTERS = "IWEF"

logger = logging.getLogger("kubewasp.guest")


@dataclass(frozen=True, slots=True)
class LogLine:
    """One log line of a guest."""

    severity: int
    text: str

    @property
    def level(self) -> int:
        return _LEVELS[min(max(self.severity, 0), 3)]

    @property
    def letter(self) -> str:
        return _LETTERS[min(max(self.severity, 0), 3)]


def log_line(plugin: str, line: LogLine) -> None:
    """Logs a guest's line, with the plugin's name."""
    logger.log(line.level, "%s: %s", plugin, line.text, extra={"plugin": plugin, "guest_line": line.text})


def plain(message: bytes) -> str:
    """A message without its final newline: a logged line has one already."""
    return message.decode("utf-8", "replace").removesuffix("\n")


def structured(message: bytes, pairs: bytes) -> str:
    """`"message" key="value" …`; pairs are NUL-terminated keys and values in turn. Without pairs, just the message."""
    if not pairs:
        return plain(message)
    words = [item.decode("utf-8", "replace") for item in pairs.split(b"\0")]
    if words and words[-1] == "":
        words.pop()
    if len(words) % 2:
        words.append("(MISSING)")
    parts = [_quoted(message.decode("utf-8", "replace"))]
    parts.extend(f"{key}={_quoted(value)}" for key, value in zip(words[::2], words[1::2], strict=True))
    return " ".join(parts)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
