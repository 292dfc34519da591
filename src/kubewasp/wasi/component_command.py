"""Runs of components that export wasi:cli/run (WASI preview 2), with the same capabilities as core modules.

The runtime's own WASI serves them. So denials are not known, and the time limit does not interrupt a sleeping component
(`kubewasp wasi run` then ends the process).
"""

from __future__ import annotations

import os
import re
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, cast

from wasmtime import ExitTrap, WasmtimeError
from wasmtime.component import Variant

from kubewasp.wasi import streams
from kubewasp.wasi.command import EXIT_CODES, Ending, Outcome, limit_message, new_store, stack_message, wasi_config
from kubewasp.wasm.errors import GuestLoadError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wasmtime import Store, WasiConfig
    from wasmtime.component import Component, Func

    from kubewasp.wasi.capabilities import Capabilities
    from kubewasp.wasi.program import WasiProgram
    from kubewasp.wasi.streams import Sink, Source, StandardStreams

_CHUNK = 64 * 1024
_TRAP = re.compile(r"wasm trap: .*")


def run_component(program: WasiProgram, capabilities: Capabilities, standard: StandardStreams) -> Outcome:
    """Runs a component to its end. An exception of a source or a sink is raised here."""
    began = time.perf_counter()
    failures: list[BaseException] = []
    with ExitStack() as stack:
        wasi = wasi_config(program, capabilities, standard.inherited(), capabilities.preopens_in_order())
        try:
            _connect(stack, wasi, standard, failures)
            store = new_store(program, capabilities)
        except BaseException:
            wasi.close()  # holds ends of pipes, which the pumps wait for
            raise
        stack.callback(store.close)  # closed first, for the same reason
        store.set_wasi(wasi)
        stack.enter_context(program.engine.ticker.running())
        ending, code, message = _called(program, store, capabilities)
        used = None if capabilities.fuel is None else capabilities.fuel - store.get_fuel()
    if failures:
        raise failures[0]
    return Outcome(
        ending, code, message or limit_message(ending, capabilities), (), used, None, time.perf_counter() - began
    )


def _called(program: WasiProgram, store: Store, capabilities: Capabilities) -> tuple[Ending, int, str]:
    try:
        instance = program.engine.component_linker.instantiate(store, cast("Component", program.compiled))
        interface = instance.get_export_index(store, program.run_export)
        run = instance.get_export_index(store, "run", interface)
        function = None if run is None else instance.get_func(store, run)
        if function is None:
            raise GuestLoadError(f"{program.name}: export {program.run_export} has no function run")
        return Ending.EXITED, _exit_code(_call(function, store)), ""
    except ExitTrap as error:
        return Ending.EXITED, error.code & 0xFF, ""
    except WasmtimeError as error:
        return _trapped(str(error), capabilities)


def _call(function: Func, store: Store) -> object:
    result = function(store)
    function.post_return(store)
    return result


def _exit_code(result: object) -> int:
    """Exit code for the WIT type `result`: ok or err, both without a value."""
    tag = result.tag if isinstance(result, Variant) else result
    return 1 if tag == "err" else 0


def _trapped(text: str, capabilities: Capabilities) -> tuple[Ending, int, str]:
    found = _TRAP.search(text)
    trap = found.group() if found else text.strip().splitlines()[-1].strip()
    ending, message = Ending.TRAPPED, trap
    if trap == "wasm trap: interrupt":
        ending, message = Ending.TIMED_OUT, ""
    elif "all fuel consumed" in trap:
        ending, message = Ending.OUT_OF_FUEL, ""
    elif trap == "wasm trap: call stack exhausted":
        message = stack_message(capabilities)
    return ending, EXIT_CODES[ending], message


def _connect(stack: ExitStack, wasi: WasiConfig, standard: StandardStreams, failures: list[BaseException]) -> None:
    """Connects streams that are not inherited through pipes.

    The runtime's alternative is a callback on its own threads, which may outlive the interpreter.
    """
    stdin, stdout, stderr = standard.inherited()
    if not stdin and standard.stdin is not streams.empty:
        wasi.stdin_file = stack.enter_context(_pumped_in(standard.stdin, failures))
    if not stdout and standard.stdout is not streams.discard:
        wasi.stdout_file = stack.enter_context(_pumped_out(standard.stdout, failures))
    if not stderr and standard.stderr is not streams.discard:
        wasi.stderr_file = stack.enter_context(_pumped_out(standard.stderr, failures))


@contextmanager
def _pumped_out(sink: Sink, failures: list[BaseException]) -> Iterator[str]:
    """Path of a pipe into the sink, which has received everything when the context ends."""
    readable, writable = os.pipe()

    def pump() -> None:
        with os.fdopen(readable, "rb", buffering=0) as pipe:  # closed after an error: the program's writes fail
            try:
                while content := pipe.read(_CHUNK):
                    sink(content)
            except BaseException as error:  # noqa: BLE001 - raised by `run_component`
                failures.append(error)

    thread = threading.Thread(target=pump, name="kubewasp-wasi-output", daemon=True)
    thread.start()
    try:
        yield f"/dev/fd/{writable}"
    finally:
        os.close(writable)
        thread.join()


@contextmanager
def _pumped_in(source: Source, failures: list[BaseException]) -> Iterator[str]:
    readable, writable = os.pipe()

    def pump() -> None:
        with suppress(BrokenPipeError), os.fdopen(writable, "wb", buffering=0) as pipe:
            try:
                while content := source(_CHUNK):
                    streams.Descriptor(pipe.fileno())(content)
            except BrokenPipeError:
                pass  # the program closed its stdin
            except BaseException as error:  # noqa: BLE001 - raised by `run_component`
                failures.append(error)

    thread = threading.Thread(target=pump, name="kubewasp-wasi-input", daemon=True)
    thread.start()
    try:
        yield f"/dev/fd/{readable}"
    finally:
        os.close(readable)
        thread.join()
