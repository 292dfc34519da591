"""Labels of outcomes: error texts without their values."""

from __future__ import annotations

import re
from typing import Final

# Quoted texts, lists and numbers; tags and anchors of YAML, and names of unknown fields, which have no quotes.
_VALUES: Final = re.compile(
    r"\"[^\"]*\"|'[^']*'|`[^`]*`|(?<=the tag )\S.*(?= has no)|[*&]\S+|\S+(?=: unknown field)|\{.*\}|\[[^\]]*\]|\d+"
)
_MAX: Final = 160
_MAX_TEXT: Final = 4000  # of a text: the pattern looks ahead


def error_label(error: BaseException) -> str:
    """The kind of the error and the shape of its text. The text must be printable."""
    text = str(error)
    text.encode("utf-8")
    return f"{type(error).__name__}: {_VALUES.sub('#', text[:_MAX_TEXT])[:_MAX]}"
