"""Output files that appear at once: a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def replaced(target: Path, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """A new file that takes the place of the target at the end, with the permissions of `mode`."""
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            os.fchmod(file.fileno(), mode)
        Path(name).replace(target)
    finally:
        Path(name).unlink(missing_ok=True)
