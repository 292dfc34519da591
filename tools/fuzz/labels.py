"""Labels of outcomes: error texts without their values."""

from __future__ import annotations

import re
from typing import Final

_VALUES: Final = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`|\{.*\}|\[[^\]]*\]|\d+")
_MAX: Final = 160


def error_label(error: BaseException) -> str:
    """The kind of the error and the shape of its text. The text must be printable."""
    text = str(error)
    text.encode("utf-8")
    return f"{type(error).__name__}: {_VALUES.sub('#', text)[:_MAX]}"
