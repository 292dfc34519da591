"""Standard streams that are closed (`>&-`) or whose reader is gone."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Final, TextIO

_DESCRIPTORS: Final = range(3)


def open_closed() -> None:
    """Opens closed streams as /dev/null: a command works as with `> /dev/null`.

    A file or socket must not get the number of a standard stream: a guest's output would go there.
    """
    for descriptor in _DESCRIPTORS:
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
    if sys.stdout is None:
        sys.stdout = _text(1)
    if sys.stderr is None:
        sys.stderr = _text(2)


def discard_output() -> None:
    """Prevents a second write of buffered output at interpreter exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def report(text: str) -> None:
    """Text on stderr, if it has a reader."""
    with suppress(OSError):
        sys.stderr.write(text)


def _text(descriptor: int) -> TextIO:
    return os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
