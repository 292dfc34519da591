"""Progress of long work on stderr: a single step with its elapsed time, or the phases of a command with a bar."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self

from kubewasp.cli import output
from kubewasp.k8s.quantity import format_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.scheduler.attempt import Attempt

_DELAY: Final = 1.0


class Progress:
    """Phases of a command, with a bar where the amount of work is known. Nothing is shown unless stderr is a terminal.

    The line appears from another thread, so that it also does during one long call such as a compilation.
    """

    def __init__(self, *, is_shown: bool | None = None, delay: float = _DELAY) -> None:
        self._lock = threading.Lock()
        self._timer = threading.Timer(delay, self.show)
        self._timer.daemon = True
        self._is_shown = output.has_progress() if is_shown is None else is_shown
        self._phase: tuple[str, int | None] = "", None
        self._is_bytes = False
        self._done = 0
        self._bar: Any = None

    def __enter__(self) -> Self:
        if self._is_shown:
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_shown = False
            if self._bar is not None:
                self._bar.stop()

    def phase(self, text: str, total: int | None = None, *, is_bytes: bool = False) -> None:
        """Begins a phase, of a known number of steps or bytes, or not."""
        with self._lock:
            self._phase, self._done, self._is_bytes = (text, total), 0, is_bytes
            if self._bar is not None:
                self._bar.remove_task(self._bar.task_ids[0])
                self._add_task()

    def attempted(self, attempt: Attempt) -> None:
        """Counts a placed pod as a step. Implements `AttemptListener`."""
        if attempt.node and not attempt.is_waiting:
            self.moved(1)

    def moved(self, count: int) -> None:
        """Counts steps or bytes. Implements `TransferListener`."""
        self._done += count
        if self._bar is not None:
            with self._lock:
                self._bar.update(self._bar.task_ids[0], completed=self._done, amount=self._amount())

    def show(self) -> None:
        """Shows the line."""
        with self._lock:
            if self._is_shown and self._bar is None:
                self._bar = _bar()
                self._add_task()
                self._bar.start()

    @property
    def line(self) -> tuple[str, int, int | None] | None:
        """Phase, steps done and their total as they are shown, None before."""
        if self._bar is None:
            return None
        task = self._bar.tasks[0]
        return task.description, task.completed, task.total

    def _add_task(self) -> None:
        text, total = self._phase
        self._bar.add_task(text, total=total, completed=self._done, amount=self._amount())

    def _amount(self) -> str:
        total = self._phase[1]
        if self._is_bytes:
            return format_size(self._done) + ("" if total is None else f"/{format_size(total)}")
        return f"{self._done}/{'?' if total is None else total}"


def _bar() -> Any:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[amount]}"),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=output.console(stderr=True), transient=True)


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner with a running clock on a terminal, else one line that ends with the seconds."""
    shown = output.printable(f"{what} …")
    if output.has_progress():
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
