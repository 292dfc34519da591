"""Progress of a single long step on stderr, with its elapsed time."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kubewasp.cli import output

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner with a running clock on a terminal, else one line that ends with the seconds."""
    shown = output.printable(f"{what} …")
    if sys.stderr.isatty():
        with _spinner(shown):
            yield
        return
    began = time.perf_counter()
    sys.stderr.write(shown)
    sys.stderr.flush()
    ended = "failed after "
    try:
        yield
        ended = ""
    finally:
        sys.stderr.write(f" {ended}{time.perf_counter() - began:.1f} s\n")
        sys.stderr.flush()


@contextmanager
def _spinner(shown: str) -> Iterator[None]:
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=output.console(stderr=True), transient=True) as progress:
        progress.add_task(shown, total=None)
        yield
