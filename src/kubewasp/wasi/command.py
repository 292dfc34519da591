"""Runs a WASI program once, with exactly the rights that it is granted.

`run` may be called from many threads at a time, also for one program: what runs is a fresh instance each time, and the
interpreter is not held up meanwhile.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, cast

from wasmtime import Module, Store, Trap, TrapCode, WasiConfig, WasmtimeError

from kubewasp.wasi import host, streams
from kubewasp.wasi.denials import FIRST_DIRECTORY
from kubewasp.wasi.grants import GrantError
from kubewasp.wasi.preview1 import MODULE
from kubewasp.wasi.program import check_runnable
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.ffi import (
    GuestCall,
    exported,
    exported_function,
    exported_global,
    exported_memory,
    instantiated,
    linked,
)
from kubewasp.wasm.hook_failures import stack_trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from wasmtime import Instance

    from kubewasp.wasi.denials import Denial
    from kubewasp.wasi.grants import Grants
    from kubewasp.wasi.program import Program
    from kubewasp.wasi.streams import Sink, Source

_NO_DEADLINE = 2**62
_MODULE = MODULE.encode()


class Ending(StrEnum):
    """How a run ended."""

    EXITED = "exited"
    TRAPPED = "trapped"
    TIMED_OUT = "timed out"
    OUT_OF_FUEL = "out of fuel"


# What a shell is told, as timeout(1) and abort(3) have it.
EXIT_CODES = {Ending.TIMED_OUT: 124, Ending.OUT_OF_FUEL: 124, Ending.TRAPPED: 134}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run. `exit_code` is the program's own if it exited, else that of its ending."""

    ending: Ending
    exit_code: int
    message: str = ""
    denials: tuple[Denial, ...] = ()
    fuel_used: int | None = None
    memory: int | None = None
    seconds: float = 0.0


def run(
    program: Program,
    grants: Grants,
    *,
    stdin: Source = streams.nothing,
    stdout: Sink = streams.dropped,
    stderr: Sink = streams.dropped,
    on_call: Callable[[str], object] | None = None,
) -> Outcome:
    """Runs it to its end. What a source or a sink raises ends the program and is raised here.

    `on_call` is told every call of WASI with its result, of programs that are no components.
    """
    check_runnable(program, grants)
    if program.engine.key != (grants.stack, grants.fuel is not None):
        raise GrantError(f"{program.name}: it was loaded for another stack limit, or without counting fuel")
    if program.is_component:
        from kubewasp.wasi.component_command import run_component

        return run_component(program, grants, stdin=stdin, stdout=stdout, stderr=stderr)
    store = new_store(program, grants)
    try:
        session = host.Session(store, grants, stdin=stdin, stdout=stdout, stderr=stderr, on_call=on_call)
        return _Run(program, grants, store, session).outcome()
    finally:
        store.close()  # not when Python gets to it: the program's memory is freed now


def new_store(program: Program, grants: Grants) -> Store:
    store = Store(program.engine.engine)
    store.set_limits(memory_size=grants.memory, table_elements=10_000_000, instances=100, tables=100, memories=10)
    if grants.fuel is not None:
        store.set_fuel(grants.fuel)
    ticks = _NO_DEADLINE if grants.timeout is None else program.engine.ticker.ticks(grants.timeout)
    store.set_epoch_deadline(ticks)
    return store


def configuration(program: Program, grants: Grants, witness: str | None = None) -> WasiConfig:
    """Names, arguments, variables and directories, the witness being the first; no stream."""
    wasi = WasiConfig()
    wasi.argv = [program.name, *grants.arguments]
    wasi.env = list(grants.environment.items())
    if witness is not None:
        wasi.preopen_dir(witness, "/", False)
    for directory in grants.in_order():
        try:
            wasi.preopen_dir(directory.host, directory.shown_as, not directory.read_only)
        except WasmtimeError:
            raise GrantError(f"--dir {directory}: cannot be opened") from None
    return wasi


class _Run:
    """One run of a core module, on the calling thread."""

    def __init__(self, program: Program, grants: Grants, store: Store, session: host.Session) -> None:
        self._program = program
        self._grants = grants
        self._store = store
        self._session = session
        self._began = time.perf_counter()
        self._door: Instance | None = None

    def outcome(self) -> Outcome:
        engine = self._program.engine
        before = host.serve(self._session)
        engine.ticker.begin()
        try:
            guest = self._link()
            for name in self._program.starts:
                GuestCall(self._store, exported_function(self._store, guest, name), "")()
            if self._session.error is not None:
                raise self._session.error
            return self._ended(Ending.EXITED, 0)
        except (Trap, WasmtimeError) as error:
            return self._after(error)
        finally:
            engine.ticker.end()
            host.serve(before)

    def _link(self) -> Instance:
        store, program = self._store, self._program
        linker = program.engine.linker
        door = program.traced_door if self._session.on_call else program.door
        store.set_wasi(self._configuration())
        shim = instantiated(store, door.shim, [])
        imports = [
            exported(store, shim, name) if name in door.names else linked(store, linker, _MODULE, name)
            for name in program.import_names
        ]
        try:
            guest = instantiated(store, cast("Module", program.compiled), imports)
        except WasmtimeError as error:
            raise GuestLoadError(f"{program.name}: {str(error).strip()}") from None
        self._session.memory = exported_memory(store, guest, b"memory")
        links = [exported(store, guest, b"memory"), exported(store, shim, b"table")]
        links += [linked(store, linker, *item) for item in door.imports]
        self._door = instantiated(store, door.door, links)
        if None in self._session.opened:
            exported_global(store, self._door, b"witness").set_value(store, FIRST_DIRECTORY)
        return guest

    def _configuration(self) -> WasiConfig:
        """The streams are the session's; a terminal is told of all the same, as programs show more of it at once."""
        opened = self._grants.in_order()
        has_root = bool(opened) and opened[0].shown_as == "/"
        witness = None if has_root else _witness()
        self._session.opened = [*opened] if witness is None else [None, *opened]
        wasi = configuration(self._program, self._grants, witness)
        inherit_streams(wasi, *self._session.descriptors())
        return wasi

    def _after(self, error: Exception) -> Outcome:
        kept = self._session.error
        if isinstance(kept, host.TimeIsUp):
            return self._ended(Ending.TIMED_OUT)
        if kept is not None:
            raise kept
        code = -1
        if self._door is not None:
            code = int(exported_global(self._store, self._door, b"exit_code").value(self._store))
        if code >= 0:
            return self._ended(Ending.EXITED, code)
        trap = error.trap_code if isinstance(error, Trap) else None
        if trap is TrapCode.INTERRUPT:
            return self._ended(Ending.TIMED_OUT)
        if trap is TrapCode.OUT_OF_FUEL:
            return self._ended(Ending.OUT_OF_FUEL)
        return self._ended(Ending.TRAPPED, message=self._trap_message(error))

    def _trap_message(self, error: Exception) -> str:
        if isinstance(error, Trap) and error.trap_code is TrapCode.STACK_OVERFLOW:
            return f"the stack limit of {self._grants.stack} bytes is exceeded; raise --stack"
        text = error.message if isinstance(error, Trap) else str(error)
        lines = [line.strip() for line in text.strip().splitlines()]
        cause = next((line for line in reversed(lines) if line.startswith("wasm trap: ")), lines[-1])
        return "\n".join(part for part in (cause, stack_trace(error)) if part)

    def _ended(self, ending: Ending, code: int | None = None, message: str = "") -> Outcome:
        grants, memory = self._grants, self._session.memory
        return Outcome(
            ending,
            EXIT_CODES[ending] if code is None else code,
            message or limit_message(ending, grants),
            tuple(self._session.denials),
            None if grants.fuel is None else grants.fuel - self._store.get_fuel(),
            None if memory is None else memory.data_len(self._store),
            time.perf_counter() - self._began,
        )


def limit_message(ending: Ending, grants: Grants) -> str:
    if ending is Ending.TIMED_OUT:
        return f"the time limit of {grants.timeout:g} s is over; raise --timeout"
    if ending is Ending.OUT_OF_FUEL:
        return f"the {grants.fuel} units of fuel are used up; raise --fuel"
    return ""


def inherit_streams(wasi: WasiConfig, stdin: bool, stdout: bool, stderr: bool) -> None:
    if stdin:
        wasi.inherit_stdin()
    if stdout:
        wasi.inherit_stdout()
    if stderr:
        wasi.inherit_stderr()


@cache
def _witness() -> str | None:
    """A directory that was deleted: there is nothing in it, and nothing can be put there. See door.py.

    None where the system cannot open one again: then a program's vain search is not noticed.
    """
    try:
        place = tempfile.mkdtemp(prefix="kubewasp-")
        number = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        os.rmdir(place)  # noqa: PTH106 - as the rest
        path = f"/proc/self/fd/{number}"
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECTORY))
    except OSError:
        return None
    return path
