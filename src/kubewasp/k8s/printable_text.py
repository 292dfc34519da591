"""Text without control characters, for terminals and pages. Names and texts of guests and manifests are not trusted."""

from __future__ import annotations

import re
from typing import Final

# Control characters except tab and newline, and those that change the writing direction.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text with control characters as escapes such as `\\x1b`."""
    return _CONTROL.sub(lambda match: _escaped(ord(match.group())), text)


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
