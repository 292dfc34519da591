"""Runs a component that exports wasi:cli/run (WASI preview 2), with the same grants as any other program.

The runtime's own WASI serves it: what was denied is not known here, and a component that sleeps is out of the reach of
its time limit until it wakes up (`kubewasp wasi run` then ends the process).
"""

from __future__ import annotations

import os
import re
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from wasmtime import ExitTrap, WasmtimeError
from wasmtime.component import Variant

from kubewasp.wasi import streams
from kubewasp.wasi.command import EXIT_CODES, Ending, Outcome, configuration, inherit_streams, limit_message, new_store
from kubewasp.wasm.errors import GuestLoadError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wasmtime import Store, WasiConfig
    from wasmtime.component import Component, Func

    from kubewasp.wasi.grants import Grants
    from kubewasp.wasi.program import Program
    from kubewasp.wasi.streams import Sink, Source

_CHUNK = 64 * 1024
_TRAP = re.compile(r"wasm trap: .*")


def run_component(program: Program, grants: Grants, *, stdin: Source, stdout: Sink, stderr: Sink) -> Outcome:
    began = time.perf_counter()
    failures: list[BaseException] = []
    with ExitStack() as stack:
        wasi = configuration(program, grants)
        own = streams.own_streams(stdin, stdout, stderr)
        inherit_streams(wasi, *own)
        try:
            _connect(stack, wasi, own, failures, stdin=stdin, stdout=stdout, stderr=stderr)
            store = new_store(program, grants)
        except BaseException:
            wasi.close()  # it holds ends of pipes that are waited for
            raise
        stack.callback(store.close)  # first of all, for the same reason
        store.set_wasi(wasi)
        stack.enter_context(program.engine.ticker.running())
        ending, code, message = _called(program, store, grants)
        used = None if grants.fuel is None else grants.fuel - store.get_fuel()
    if failures:
        raise failures[0]
    return Outcome(ending, code, message or limit_message(ending, grants), (), used, None, time.perf_counter() - began)


def _called(program: Program, store: Store, grants: Grants) -> tuple[Ending, int, str]:
    try:
        instance = program.engine.component_linker.instantiate(store, cast("Component", program.compiled))
        interface = instance.get_export_index(store, program.run_export)
        run = instance.get_export_index(store, "run", interface)
        function = None if run is None else instance.get_func(store, run)
        if function is None:
            raise GuestLoadError(f"{program.name}: its export {program.run_export} has no function run")
        return Ending.EXITED, _exit_code(_call(function, store)), ""
    except ExitTrap as error:
        return Ending.EXITED, error.code & 0xFF, ""
    except WasmtimeError as error:
        return _trapped(str(error), grants)


def _call(function: Func, store: Store) -> Any:
    answer = function(store)
    function.post_return(store)
    return answer


def _exit_code(answer: Any) -> int:
    """Of `result`, which has a case for success and one for failure, and nothing in them."""
    tag = answer.tag if isinstance(answer, Variant) else answer
    return 1 if tag == "err" else 0


def _trapped(text: str, grants: Grants) -> tuple[Ending, int, str]:
    found = _TRAP.search(text)
    trap = found.group() if found else text.strip().splitlines()[-1].strip()
    ending, message = Ending.TRAPPED, trap
    if trap == "wasm trap: interrupt":
        ending, message = Ending.TIMED_OUT, ""
    elif "all fuel consumed" in trap:
        ending, message = Ending.OUT_OF_FUEL, ""
    elif trap == "wasm trap: call stack exhausted":
        message = f"the stack limit of {grants.stack} bytes is exceeded; raise --stack"
    return ending, EXIT_CODES[ending], message


def _connect(
    stack: ExitStack,
    wasi: WasiConfig,
    own: tuple[bool, bool, bool],
    failures: list[BaseException],
    *,
    stdin: Source,
    stdout: Sink,
    stderr: Sink,
) -> None:
    """Streams that are not this process's own go through pipes.

    The runtime either opens a file, or calls us on threads of its own, which may outlive Python.
    """
    if not own[0] and stdin is not streams.nothing:
        wasi.stdin_file = stack.enter_context(_pumped_in(stdin, failures))
    if not own[1] and stdout is not streams.dropped:
        wasi.stdout_file = stack.enter_context(_pumped_out(stdout, failures))
    if not own[2] and stderr is not streams.dropped:
        wasi.stderr_file = stack.enter_context(_pumped_out(stderr, failures))


@contextmanager
def _pumped_out(sink: Sink, failures: list[BaseException]) -> Iterator[str]:
    """The path of a pipe whose other end goes to the sink; all of it has arrived there afterwards."""
    readable, writable = os.pipe()

    def pump() -> None:
        with os.fdopen(readable, "rb", buffering=0) as pipe:  # closed early, the program's writes fail
            try:
                while content := pipe.read(_CHUNK):
                    sink(content)
            except BaseException as error:  # noqa: BLE001 - raised again where the program was run
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
                pass  # the program does not want more
            except BaseException as error:  # noqa: BLE001 - as above
                failures.append(error)

    thread = threading.Thread(target=pump, name="kubewasp-wasi-input", daemon=True)
    thread.start()
    try:
        yield f"/dev/fd/{readable}"
    finally:
        os.close(readable)
        thread.join()
