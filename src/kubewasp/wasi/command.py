"""Runs of WASI programs with exactly the granted capabilities.

`run` may be called from many threads at a time, for one program too: every run is a fresh instance, and the interpreter
lock is released meanwhile.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, cast

from wasmtime import Module, Store, Trap, TrapCode, WasiConfig, WasmtimeError

from kubewasp.k8s.quantity import format_size
from kubewasp.wasi import preview1_host, streams
from kubewasp.wasi.capabilities import CapabilityError
from kubewasp.wasi.denials import FIRST_PREOPEN
from kubewasp.wasi.preview1 import MODULE
from kubewasp.wasi.preview1_host import DeadlineExceededError, Preview1Host
from kubewasp.wasi.program import check_runnable
from kubewasp.wasi.streams import StandardStreams
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
    from collections.abc import Callable, Sequence

    from wasmtime import Instance

    from kubewasp.wasi.capabilities import Capabilities, Preopen
    from kubewasp.wasi.denials import Denial
    from kubewasp.wasi.program import WasiProgram
    from kubewasp.wasi.streams import Sink, Source

_NO_DEADLINE = 2**62
_MODULE = MODULE.encode()


class Ending(StrEnum):
    """End of a run."""

    EXITED = "exited"
    TRAPPED = "trapped"
    TIMED_OUT = "timed out"
    OUT_OF_FUEL = "out of fuel"


# As timeout(1) and abort(3).
EXIT_CODES = {Ending.TIMED_OUT: 124, Ending.OUT_OF_FUEL: 124, Ending.TRAPPED: 134}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a run. `exit_code` is the program's own if it exited, else that of `EXIT_CODES`."""

    ending: Ending
    exit_code: int
    message: str = ""
    denials: tuple[Denial, ...] = ()
    fuel_used: int | None = None
    memory: int | None = None
    seconds: float = 0.0


def run(
    program: WasiProgram,
    capabilities: Capabilities,
    *,
    stdin: Source = streams.empty,
    stdout: Sink = streams.discard,
    stderr: Sink = streams.discard,
    on_call: Callable[[str], object] | None = None,
) -> Outcome:
    """Runs a program to its end. An exception of a source or a sink ends the program and is raised here.

    `on_call` receives a line for every WASI call and its result; not for components.
    """
    check_runnable(program, capabilities)
    if program.engine.key != (capabilities.stack, capabilities.fuel is not None):
        raise CapabilityError(f"{program.name}: loaded for another stack limit, or without counting fuel")
    standard = StandardStreams(stdin, stdout, stderr)
    if program.is_component:
        from kubewasp.wasi.component_command import run_component

        return run_component(program, capabilities, standard)
    began = time.perf_counter()
    store = new_store(program, capabilities)
    try:
        try:
            core_run = _CoreRun(program, capabilities, store, standard, on_call)
        except Trap as error:  # at instantiation: a data segment outside of memory
            code, message = EXIT_CODES[Ending.TRAPPED], _trap_message(error, capabilities)
            used, seconds = _fuel_used(store, capabilities), time.perf_counter() - began
            return Outcome(Ending.TRAPPED, code, message, fuel_used=used, seconds=seconds)
        return core_run.outcome()
    finally:
        store.close()  # frees the program's memory now, not at garbage collection


def new_store(program: WasiProgram, capabilities: Capabilities) -> Store:
    """Store with the limits of the capabilities."""
    store = Store(program.engine.engine)
    program.bounds(capabilities).apply(store)
    if capabilities.fuel is not None:
        store.set_fuel(capabilities.fuel)
    ticks = _NO_DEADLINE if capabilities.timeout is None else program.engine.ticker.ticks(capabilities.timeout)
    store.set_epoch_deadline(ticks)
    return store


def wasi_config(
    program: WasiProgram,
    capabilities: Capabilities,
    inherited: tuple[bool, bool, bool],
    opened: Sequence[Preopen | None],
) -> WasiConfig:
    """Name, arguments, variables, preopens (None: the sentinel), and the inherited standard streams."""
    wasi = WasiConfig()
    wasi.argv = [program.name, *capabilities.arguments]
    wasi.env = list(capabilities.variables.items())
    for preopen in opened:
        if preopen is None:
            wasi.preopen_dir(cast("str", _sentinel()), "/", False)
            continue
        try:
            wasi.preopen_dir(preopen.host, preopen.shown_as, not preopen.read_only)
        except WasmtimeError:
            raise CapabilityError(f"{capabilities.names.directory} {preopen}: cannot be opened") from None
    stdin, stdout, stderr = inherited
    if stdin:
        wasi.inherit_stdin()
    if stdout:
        wasi.inherit_stdout()
    if stderr:
        wasi.inherit_stderr()
    return wasi


class _CoreRun:
    """One run of a core module, on the calling thread."""

    def __init__(
        self,
        program: WasiProgram,
        capabilities: Capabilities,
        store: Store,
        standard: StandardStreams,
        on_call: Callable[[str], object] | None,
    ) -> None:
        self._program = program
        self._capabilities = capabilities
        self._store = store
        self._began = time.perf_counter()
        timeout = capabilities.timeout
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        opened = _opened(capabilities)
        # The host serves the streams; inheriting them as well lets a program see a terminal.
        store.set_wasi(wasi_config(program, capabilities, standard.inherited(), opened))
        self._guest, self._interposer = self._link(traced=on_call is not None)
        if None in opened:
            sentinel = FIRST_PREOPEN + opened.index(None)
            exported_global(store, self._interposer, b"sentinel").set_value(store, sentinel)
        memory = exported_memory(store, self._guest, b"memory")
        self._host = Preview1Host(store, memory, standard, opened=opened, deadline=deadline, on_call=on_call)

    def _link(self, *, traced: bool) -> tuple[Instance, Instance]:
        """Instances of the program and of its interposer. No code of the program runs yet."""
        store, program = self._store, self._program
        linker = program.engine.linker
        modules = program.traced_interposer if traced else program.interposer
        shim = instantiated(store, modules.shim, [])
        imports = [
            exported(store, shim, name) if name in modules.names else linked(store, linker, _MODULE, name)
            for name in program.import_names
        ]
        try:
            guest = instantiated(store, cast("Module", program.compiled), imports)
        except WasmtimeError as error:
            raise GuestLoadError(f"{program.name}: {str(error).strip()}") from None
        links = [exported(store, guest, b"memory"), exported(store, shim, b"table")]
        links += [linked(store, linker, *item) for item in modules.imports]
        return guest, instantiated(store, modules.interposer, links)

    def outcome(self) -> Outcome:
        ticker = self._program.engine.ticker
        before = preview1_host.serve(self._host)
        ticker.begin()
        try:
            for name in self._program.starts:
                GuestCall(self._store, exported_function(self._store, self._guest, name), "")()
            if self._host.error is not None:
                raise self._host.error
            return self._ended(Ending.EXITED, 0)
        except (Trap, WasmtimeError) as error:
            return self._after(error)
        finally:
            ticker.end()
            preview1_host.serve(before)

    def _after(self, error: Exception) -> Outcome:
        kept = self._host.error
        if isinstance(kept, DeadlineExceededError):
            return self._ended(Ending.TIMED_OUT)
        if kept is not None:
            raise kept
        code = int(exported_global(self._store, self._interposer, b"exit_code").value(self._store))
        if code >= 0:
            return self._ended(Ending.EXITED, code)
        trap = error.trap_code if isinstance(error, Trap) else None
        if trap is TrapCode.INTERRUPT:
            return self._ended(Ending.TIMED_OUT)
        if trap is TrapCode.OUT_OF_FUEL:
            return self._ended(Ending.OUT_OF_FUEL)
        return self._ended(Ending.TRAPPED, message=_trap_message(error, self._capabilities))

    def _ended(self, ending: Ending, code: int | None = None, message: str = "") -> Outcome:
        capabilities = self._capabilities
        return Outcome(
            ending,
            EXIT_CODES[ending] if code is None else code,
            message or limit_message(ending, capabilities),
            tuple(self._host.denials),
            _fuel_used(self._store, capabilities),
            self._host.memory_bytes,
            time.perf_counter() - self._began,
        )


def limit_message(ending: Ending, capabilities: Capabilities) -> str:
    """The exceeded limit and its option; empty for other endings."""
    if ending is Ending.TIMED_OUT:
        return f"time limit of {capabilities.timeout:g} s exceeded; raise {capabilities.names.timeout}"
    if ending is Ending.OUT_OF_FUEL:
        return f"fuel limit of {capabilities.fuel} units exceeded; raise {capabilities.names.fuel}"
    return ""


def _trap_message(error: Exception, capabilities: Capabilities) -> str:
    if isinstance(error, Trap) and error.trap_code is TrapCode.STACK_OVERFLOW:
        return stack_message(capabilities)
    text = error.message if isinstance(error, Trap) else str(error)
    lines = [line.strip() for line in text.strip().splitlines()]
    cause = next((line for line in reversed(lines) if line.startswith("wasm trap: ")), lines[-1])
    return "\n".join(part for part in (cause, stack_trace(error)) if part)


def _fuel_used(store: Store, capabilities: Capabilities) -> int | None:
    return None if capabilities.fuel is None else capabilities.fuel - store.get_fuel()


def stack_message(capabilities: Capabilities) -> str:
    return f"stack limit of {format_size(capabilities.stack)} exceeded; raise {capabilities.names.stack}"


def _opened(capabilities: Capabilities) -> list[Preopen | None]:
    """Preopens by descriptor, with the sentinel (None) in front unless the root is granted."""
    preopens = capabilities.preopens_in_order()
    has_root = bool(preopens) and preopens[0].shown_as == "/"
    return [*preopens] if has_root or _sentinel() is None else [None, *preopens]


@cache
def _sentinel() -> str | None:
    """Path of a deleted directory: empty, and nothing can be created there (see preview1_interposer.py).

    None where the system cannot reopen it: denials of paths outside of all preopens are then not reported.
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
