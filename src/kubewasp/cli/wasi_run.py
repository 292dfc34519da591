"""Implementation of `kubewasp wasi run`: exit codes, signals and streams of a native process."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from kubewasp.cli.output import printable
from kubewasp.cli.wasi_image import RunnableImage
from kubewasp.errors import KubewaspError
from kubewasp.images.image_address import is_image_address
from kubewasp.k8s import quantity
from kubewasp.k8s.duration import parse_duration
from kubewasp.wasi.capabilities import Capabilities, CapabilityError, Preopen
from kubewasp.wasi.command import EXIT_CODES, Ending, limit_message
from kubewasp.wasi.command import run as run_program
from kubewasp.wasi.program import load_program
from kubewasp.wasi.streams import Descriptor, empty
from kubewasp.wasm.limits import CompileLimits
from kubewasp.wasm.source import MAX_BYTES, fetch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.cli.registry_options import RegistryAccess
    from kubewasp.cli.wasi_image import ImageGrants
    from kubewasp.input_file import StandardInput
    from kubewasp.wasi.command import Outcome
    from kubewasp.wasi.program import WasiProgram
    from kubewasp.wasi.streams import Source

_NO_SUCH_FILE, _CANNOT_RUN = 127, 126
# A program blocked in the host is not interrupted by its time limit; the process then ends instead.
_GRACE = 1.0


def capabilities_of(
    *,
    directories: Sequence[str],
    environment: Mapping[str, str],
    arguments: Sequence[str],
    memory: str,
    stack: str,
    timeout: str | None,
    fuel: str | None,
    compile_timeout: str,
    compile_memory: str,
) -> Capabilities:
    return Capabilities(
        preopens=tuple(Preopen.parse(text) for text in directories),
        environment=environment,
        arguments=tuple(arguments),
        memory=_number("--memory", memory),
        stack=_number("--stack", stack),
        timeout=None if timeout is None else _seconds(timeout),
        fuel=None if fuel is None else _number("--fuel", fuel),
        compilation=CompileLimits(
            _seconds(compile_timeout, "--compile-timeout"), _number("--compile-memory", compile_memory)
        ),
    )


def _number(option: str, text: str) -> int:
    try:
        return quantity.parse(text).value()
    except ValueError as error:
        raise CapabilityError(f"{option}: {error}") from None


def _seconds(text: str, option: str = "--timeout") -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise CapabilityError(f"{option}: {error}") from None


def run(
    file: str | StandardInput,
    capabilities: Capabilities,
    *,
    grants: ImageGrants,
    access: RegistryAccess,
    stdin: str | None,
    trace: bool,
    stats: bool,
    quiet: bool,
) -> int:
    """Runs a program and returns its exit code. A signal ends the process at once, but for the files of an image."""
    with ExitStack() as cleanup:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _frame: _exit(128 + number, cleanup))
        source = _source(stdin)
        grants.check(file)
        if isinstance(file, str) and _is_missing(file):
            _print(f"error: {file}: no such file")
            return _NO_SUCH_FILE
        on_call = (lambda line: _print(f"trace: {line}")) if trace else None
        image = None
        try:
            if isinstance(file, str) and is_image_address(file):
                image = RunnableImage(file, grants, access)
                cleanup.callback(image.remove)
                capabilities = image.granted(capabilities)
                program = load_program(image.image.program, capabilities, name=image.name)
            else:
                program = load_program(fetch(file, max_bytes=MAX_BYTES), capabilities, name=Path(str(file)).name)
            outcome = _run_on_thread(program, capabilities, source, on_call, cleanup)
        except CapabilityError:
            raise
        except KubewaspError as error:
            _print(f"error: {error}")
            return _CANNOT_RUN
        notes = image.notes(outcome) if image is not None else []
        _report(program, capabilities, outcome, notes, stats=stats, quiet=quiet)
        return outcome.exit_code


def _is_missing(file: str) -> bool:
    return "://" not in file and not is_image_address(file) and not Path(file).exists()


def _exit(code: int, cleanup: ExitStack) -> NoReturn:
    """Ends the process without waiting for the program."""
    cleanup.close()
    os._exit(code)


def _source(stdin: str | None) -> Source:
    if stdin is None:
        return empty
    if stdin == "-":
        return Descriptor(0)
    try:
        return Descriptor(os.open(stdin, os.O_RDONLY))
    except (OSError, ValueError) as error:
        raise CapabilityError(f"--stdin {stdin}: {getattr(error, 'strerror', None) or error}") from None


def _run_on_thread(
    program: WasiProgram,
    capabilities: Capabilities,
    source: Source,
    on_call: Callable[[str], object] | None,
    cleanup: ExitStack,
) -> Outcome:
    """Runs a program on a second thread: signal handlers run on the main thread only, and not during a guest call."""
    ended: list[Outcome] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            ended.append(
                run_program(
                    program, capabilities, stdin=source, stdout=Descriptor(1), stderr=Descriptor(2), on_call=on_call
                )
            )
        except BaseException as error:  # noqa: BLE001 - raised below
            failed.append(error)

    thread = threading.Thread(target=work, name="kubewasp-wasi", daemon=True)
    thread.start()
    thread.join(None if capabilities.timeout is None else capabilities.timeout + _GRACE)
    if failed:
        raise failed[0]
    if not ended:
        _print(f"error: {program.name}: {limit_message(Ending.TIMED_OUT, capabilities)}")
        _exit(EXIT_CODES[Ending.TIMED_OUT], cleanup)
    return ended[0]


def _report(
    program: WasiProgram,
    capabilities: Capabilities,
    outcome: Outcome,
    notes: Sequence[str],
    *,
    stats: bool,
    quiet: bool,
) -> None:
    if outcome.ending is not Ending.EXITED:
        _print(f"error: {program.name}: {outcome.message}")
    if not quiet:
        for denial in outcome.denials:
            _print(f"note: {denial.text}")
        for note in notes:
            _print(f"note: {note}")
        if program.is_component and outcome.exit_code:
            _print(f"note: {_list(capabilities)}; denials of a component are not known")
    if stats:
        used = [f"{outcome.seconds:.3f} s"]
        used += [f"{quantity.format_size(outcome.memory)} of memory"] if outcome.memory is not None else []
        used += [f"{outcome.fuel_used} units of fuel"] if outcome.fuel_used is not None else []
        _print(f"note: {outcome.ending} with code {outcome.exit_code} after {', '.join(used)}")


def _list(capabilities: Capabilities) -> str:
    directories = [f"--dir {preopen}" for preopen in capabilities.preopens]
    variables = [f"--env {name}" for name in capabilities.environment]
    return f"granted: {', '.join([*directories, *variables]) or 'no directory, no variable'}"


def _print(text: str) -> None:
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()
