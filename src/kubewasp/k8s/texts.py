"""Bounded texts for fields whose length Kubernetes limits."""

from __future__ import annotations

from typing import Final

_ELLIPSIS: Final = " ..."


def shortened(text: str, size: int) -> str:
    """The text, or its beginning: at most that many bytes of UTF-8, with an ellipsis at the end if it was cut."""
    if len(text) * 4 <= size:
        return text
    data = text.encode("utf-8", "replace")
    return text if len(data) <= size else data[: size - len(_ELLIPSIS)].decode("utf-8", "ignore") + _ELLIPSIS


def without_middle(text: str, most: int) -> str:
    """The text in at most so many characters: its begin and its end, which often has the remedy."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}…{text[half + 1 - most :]}"
