"""Mistyped names: the likely meant one, and the question in error texts."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

LIKE: Final = 0.75
_ROUGHLY_LIKE: Final = 0.6
_LONGEST_NAME: Final = 64
_SHORTEST_START: Final = 4


def nearest(name: str, known: Iterable[str], closeness: float = _ROUGHLY_LIKE) -> str:
    """The known name that is close to a mistyped or shortened one, or an empty text."""
    by_lower = {other.lower(): other for other in known}
    wanted = name[:_LONGEST_NAME].lower()
    if wanted in by_lower:
        return by_lower[wanted]
    swapped = [other for other in by_lower if sorted(other) == sorted(wanted)]  # too far apart in a short name
    close = swapped or difflib.get_close_matches(wanted, by_lower, 1, closeness)
    if not close and len(wanted) >= _SHORTEST_START:
        close = [other for other in by_lower if other.startswith(wanted)]
    return by_lower[close[0]] if len(close) == 1 else ""


def did_you_mean(name: str) -> str:
    """The end of an error text; empty for an empty name."""
    return f'; did you mean "{name}"?' if name else ""
