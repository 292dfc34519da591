"""AssemblyScript's `env.abort(message, file, line, column)`: strings of a guest's memory, and the error made of them.

A string is a pointer to UTF-16 text, whose size in bytes is in the four bytes before it. The guest is broken at this
point: nothing it says is trusted, and an unreadable string is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_SIZE: Final = 4
_LONGEST: Final = 4096  # bytes


class GuestAbort(Exception):  # noqa: N818 - raised in a callback, never seen by a user
    """The guest has called abort."""


def aborted(read: Callable[[int, int], bytes], message: int, file: int, line: int, column: int) -> GuestAbort:
    """The abort of a guest. `read` takes address and length, and raises IndexError outside of the guest's memory."""
    text, source = _string(read, message) or "no message", _string(read, file)
    place = f" at {source}:{line}:{column}" if source else f" at line {line}, column {column}" if line else ""
    return GuestAbort(f"abort: {text}{place}")


def _string(read: Callable[[int, int], bytes], address: int) -> str:
    """The string on one line, cut to a bounded length; empty for null and for a string outside of the memory."""
    if address < _SIZE:
        return ""
    try:
        size = int.from_bytes(read(address - _SIZE, _SIZE), "little")
        text = read(address, min(size & ~1, _LONGEST)).decode("utf-16-le", "replace")
    except IndexError:
        return ""
    shown = "".join(char if char.isprintable() else " " for char in text).strip()
    return f"{shown}…" if size > _LONGEST else shown
