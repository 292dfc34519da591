"""Position of a watched component: what the SDK publishes on stderr while a hook runs. Nothing in it is trusted.

A trap in a component leaves no trace of the guest's language. After a time limit has ended an instance, the next one is
watched, which slows it down; the position is in the text of the next failure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import orjson

_KEPT: Final = 8192
_MAX_TEXT: Final = 120


@dataclass(frozen=True, slots=True)
class Position:
    """The node of a hook and the function with its line, as texts for a message; empty if unknown."""

    node: str = ""
    function: str = ""


class PublishedPosition:
    """Sink for the stream of a component; keeps its end. May be called on a thread of the runtime."""

    def __init__(self) -> None:
        self._end = b""

    def __call__(self, content: bytes) -> None:
        self._end = (self._end + content)[-_KEPT:]

    def clear(self) -> None:
        self._end = b""

    def last(self) -> Position:
        """The last complete line, if it is a position."""
        lines = self._end.split(b"\n")
        if len(lines) < 2:
            return Position()
        try:
            found = orjson.loads(lines[-2])
        except orjson.JSONDecodeError:
            return Position()
        if not isinstance(found, dict):
            return Position()
        file, line, function, node = (str(found.get(key) or "") for key in ("file", "line", "function", "node"))
        shown = f"{function} ({file}:{line})" if function and file and line else ""
        return Position(_clean(node), _clean(shown))


def _clean(text: str) -> str:
    return "".join(letter for letter in text if letter.isprintable())[:_MAX_TEXT]
