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
