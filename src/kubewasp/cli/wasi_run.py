"""`kubewasp wasi run`: a WASI program as a process of its own would behave."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.cli.output import printable, size
from kubewasp.k8s import quantity
from kubewasp.k8s.duration import parse_duration
from kubewasp.wasi.command import EXIT_CODES, Ending, limit_message
from kubewasp.wasi.command import run as run_program
from kubewasp.wasi.grants import Directory, GrantError, Grants
from kubewasp.wasi.program import MAX_BYTES, load
from kubewasp.wasi.streams import Descriptor, nothing
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.source import fetch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.wasi.command import Outcome
    from kubewasp.wasi.program import Program
    from kubewasp.wasi.streams import Source

_NO_SUCH_FILE, _CANNOT_RUN = 127, 126
# A program that waits in the host does not see its time run out; the process then ends for it.
_GRACE = 1.0


def grants(
    *,
    directories: Sequence[str],
    environment: Mapping[str, str],
    arguments: Sequence[str],
    memory: str,
    stack: str,
    timeout: str | None,
    fuel: str | None,
) -> Grants:
    return Grants(
        directories=tuple(Directory.parse(text) for text in directories),
        environment=environment,
        arguments=tuple(arguments),
        memory=_number("--memory", memory),
        stack=_number("--stack", stack),
        timeout=None if timeout is None else _seconds(timeout),
        fuel=None if fuel is None else _number("--fuel", fuel),
    )


def _number(option: str, text: str) -> int:
    try:
        return quantity.parse(text).value()
    except ValueError as error:
        raise GrantError(f"{option}: {error}") from None


def _seconds(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise GrantError(f"--timeout: {error}") from None


def run(file: str, granted: Grants, *, stdin: str | None, trace: bool, verbose: bool, quiet: bool) -> int:
    """The exit code. A signal ends the process at once: nothing of the program's is left to be done."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: os._exit(128 + number))
    source = _source(stdin)
    if "://" not in file and not Path(file).exists():
        _say(f"error: {file}: no such file")
        return _NO_SUCH_FILE
    try:
        program = load(fetch(file, max_bytes=MAX_BYTES), granted, name=Path(file).name)
        outcome = _run_beside(program, granted, source, (lambda line: _say(f"trace: {line}")) if trace else None)
    except GuestLoadError as error:
        _say(f"error: {error}")
        return _CANNOT_RUN
    _tell(program, granted, outcome, verbose=verbose, quiet=quiet)
    return outcome.exit_code


def _source(stdin: str | None) -> Source:
    if stdin is None:
        return nothing
    if stdin == "-":
        return Descriptor(0)
    try:
        return Descriptor(os.open(stdin, os.O_RDONLY))
    except (OSError, ValueError) as error:
        raise GrantError(f"--stdin {stdin}: {getattr(error, 'strerror', None) or error}") from None


def _run_beside(program: Program, granted: Grants, source: Source, on_call: Callable[[str], object] | None) -> Outcome:
    """Runs it on another thread: Python hears of signals on this one only, and not while a program runs on it."""
    ended: list[Outcome] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            ended.append(
                run_program(program, granted, stdin=source, stdout=Descriptor(1), stderr=Descriptor(2), on_call=on_call)
            )
        except BaseException as error:  # noqa: BLE001 - raised again below
            failed.append(error)

    thread = threading.Thread(target=work, name="kubewasp-wasi", daemon=True)
    thread.start()
    thread.join(None if granted.timeout is None else granted.timeout + _GRACE)
    if failed:
        raise failed[0]
    if not ended:
        _say(f"error: {program.name}: {limit_message(Ending.TIMED_OUT, granted)}")
        os._exit(EXIT_CODES[Ending.TIMED_OUT])
    return ended[0]


def _tell(program: Program, granted: Grants, outcome: Outcome, *, verbose: bool, quiet: bool) -> None:
    if outcome.ending is not Ending.EXITED:
        _say(f"error: {program.name}: {outcome.message}")
    if not quiet:
        for denial in outcome.denials:
            _say(f"note: {denial.text}")
        if program.is_component and outcome.exit_code:
            _say(f"note: {_granted(granted)}; of a component it is not known what else it asked for")
    if verbose:
        used = [f"{outcome.seconds:.3f} s"]
        used += [f"{size(outcome.memory)} of memory"] if outcome.memory is not None else []
        used += [f"{outcome.fuel_used} units of fuel"] if outcome.fuel_used is not None else []
        _say(f"note: {outcome.ending} with code {outcome.exit_code} after {', '.join(used)}")


def _granted(granted: Grants) -> str:
    directories = [f"--dir {directory}" for directory in granted.directories]
    variables = [f"--env {name}" for name in granted.environment]
    return f"granted were {', '.join([*directories, *variables]) or 'no directory and no variable'}"


def _say(text: str) -> None:
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()
