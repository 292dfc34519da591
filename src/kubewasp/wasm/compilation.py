"""Compilation of wasm, in a child process with limits, through a cache on disk.

A compiler's time and memory can be cubic in the size of the wasm: 8 KB took 38 s and 10 GB. So only the host's own
modules, and guests too small for that, are compiled in this process. All functions may be called from any thread.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, TypeVar, cast

from wasmtime import Module, WasmtimeError, wat2wasm
from wasmtime.component import Component

from kubewasp.wasm import compile_worker
from kubewasp.wasm.compile_worker import Task
from kubewasp.wasm.compiled_cache import usable_cache
from kubewasp.wasm.deadlines import WALL_FACTOR
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.load_checks import Positions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from wasmtime import Engine

    from kubewasp.wasm.engine_settings import EngineSettings
    from kubewasp.wasm.limits import CompileLimits

Compiled = TypeVar("Compiled", Module, Component)
logger = logging.getLogger(__name__)

# Largest module that is compiled in this process: the worst one known takes 0.04 s and 26 MB.
IN_PROCESS: Final = 1024
# Seconds of compilation until the log says so.
_PATIENCE: Final = 2.0
_THREADS: Final = 4
# In the background: priority of the compiler, and the size of compiled code that is not copied.
_NICENESS: Final = 10
_LARGE: Final = 1 << 20
_PROGRAM = ["-m", compile_worker.__name__]
# The line after the place of a panic; an exhausted memory is reported in another form.
_PANIC: Final = re.compile(r"^thread '[^']*'(?: \(\d+\))? panicked at .*:\n(?!memory allocation)(.*)$", re.MULTILINE)


_is_background: Final = ContextVar("background", default=False)


@contextmanager
def in_background() -> Iterator[None]:
    """Compiles and loads beside a thread that is at work: at low priority, on one processor, without long holds of
    Python's lock.
    """
    token = _is_background.set(True)
    try:
        yield
    finally:
        _is_background.reset(token)


def load_compiled(kind: type[Compiled], engine: Engine, settings: EngineSettings, wasm: bytes) -> Compiled | None:
    """The module or component from the cache, or None."""
    return _load(kind, engine, str(settings), wasm)


def load_checked(engine: Engine, settings: EngineSettings, wasm: bytes) -> tuple[Module, Positions] | None:
    """A module with load checks from the cache, and its positions; or None."""
    content = _cached(str(settings), wasm)
    try:
        return None if content is None else _checked(engine, content)
    except WasmtimeError:
        return None


def compile_and_keep(
    kind: type[Compiled],
    engine: Engine,
    settings: EngineSettings,
    wasm: bytes,
    *,
    limits: CompileLimits,
    strict: EngineSettings | None = None,
) -> Compiled:
    """Compiles a component, or a module without load checks, and stores the result in the cache.

    Args:
        kind: Module or Component.
        engine: The engine that runs it.
        settings: The engine's settings.
        wasm: The binary.
        limits: Limits of the compilation.
        strict: Settings with fewer features, to validate with.

    Raises:
        WasmtimeError: The wasm is invalid.
        GuestLoadError: The compilation has exceeded a limit.
    """
    # A small component, too, can make the compiler panic, which ends the process.
    if len(wasm) <= IN_PROCESS and kind is Module:
        made, _ = compile_worker.compiled(engine, settings, strict, wasm, is_component=False)
        _keep(str(settings), wasm, bytes(made.serialize()))
        return cast("Compiled", made)
    code = _compiled_apart(kind is Component, settings, strict, wasm, limits)
    _keep(str(settings), wasm, code)
    return _deserialized(kind, engine, code)


def compile_checked(
    engine: Engine, settings: EngineSettings, wasm: bytes, *, limits: CompileLimits, strict: EngineSettings
) -> tuple[Module, Positions]:
    """As `compile_and_keep`, for settings with load checks. The cache has the positions, too."""
    if len(wasm) <= IN_PROCESS:
        made, positions = compile_worker.compiled(engine, settings, strict, wasm, is_component=False)
        content = b"".join(compile_worker.joined(made, positions, settings))
    else:
        content = _compiled_apart(False, settings, strict, wasm, limits)
    _keep(str(settings), wasm, content)
    return _checked(engine, content)


def _checked(engine: Engine, content: bytes) -> tuple[Module, Positions]:
    code, positions = compile_worker.parted(content)
    return _deserialized(Module, engine, code), Positions.unpacked(positions)


def compile_text(engine: Engine, settings: EngineSettings, wat: str) -> Module:
    """Compiles a module of the host from its text. The cache key is of the text, so a hit needs no parsing."""
    source, name = hashlib.sha256(wat.encode()).digest(), f"{settings} text"
    module = _load(Module, engine, name, source)
    if module is None:
        module = Module(engine, bytes(wat2wasm(wat)))
        _keep(name, source, bytes(module.serialize()))
    return module


def _load(kind: type[Compiled], engine: Engine, settings: str, source: bytes) -> Compiled | None:
    code = _cached(settings, source)
    if code is None:
        return None
    try:
        return _deserialized(kind, engine, code)
    except WasmtimeError:
        return None


def _cached(settings: str, source: bytes) -> bytes | None:
    cache = usable_cache()
    return cache.get(cache.key(source, settings))


def _deserialized(kind: type[Compiled], engine: Engine, code: bytes) -> Compiled:
    """The compiled code, ready to run. In the background from a file in memory: bytes would be copied with the lock."""
    if _is_background.get() and len(code) > _LARGE:
        with suppress(OSError, WasmtimeError), _scratch() as file:
            file.write(code)
            file.flush()
            return kind.deserialize_file(engine, f"/proc/self/fd/{file.fileno()}")
    return kind.deserialize(engine, code)


def _keep(settings: str, source: bytes, code: bytes) -> None:
    cache = usable_cache()
    cache.put(cache.key(source, settings), code)


# ---------------------------------------------------------------- child process


def _compiled_apart(
    is_component: bool, settings: EngineSettings, strict: EngineSettings | None, wasm: bytes, limits: CompileLimits
) -> bytes:
    """Compiled code, from a child process."""
    niceness = _NICENESS if _is_background.get() else 0
    task = Task(is_component, settings, strict, math.ceil(limits.timeout), limits.memory, niceness)
    try:
        return _run(task, wasm, limits)
    except OSError as error:
        raise GuestLoadError(f"wasm: the process that compiles the guest cannot run: {error}") from None


def _run(task: Task, wasm: bytes, limits: CompileLimits) -> bytes:
    with _scratch() as sent, _scratch() as made, _scratch() as said:
        sent.writelines([task.line(), wasm])
        sent.seek(0)
        with subprocess.Popen(
            [sys.executable, "-P", *_PROGRAM], stdin=sent, stdout=made, stderr=said, env=_environment()
        ) as child:
            in_time = _wait(child, limits, len(wasm))
        if child.returncode == 0:
            return _whole(made)
        text = _whole(said).decode("utf-8", "replace").strip()
        if child.returncode == compile_worker.INVALID:
            raise WasmtimeError(text)
        raise GuestLoadError(_failed(child.returncode if in_time else -signal.SIGXCPU, text, limits))


def _wait(child: subprocess.Popen[bytes], limits: CompileLimits, size: int) -> bool:
    """Waits for the end. Kills a child that gets no CPU for too long (False), or whose parent is interrupted."""
    try:
        try:
            child.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            logger.info("Compiling a guest", extra={"bytes": size, "cpuLimit": f"{limits.timeout:g}s"})
            child.wait(limits.timeout * WALL_FACTOR)
    except BaseException as error:
        child.kill()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        return False
    return True


def _failed(code: int, text: str, limits: CompileLimits) -> str:
    if code == -signal.SIGXCPU:
        return f"wasm: compilation takes more than {limits.timeout:g} s of CPU time; raise limits.compileTimeout"
    if panic := _PANIC.search(text):
        return (
            f"wasm: the compiler cannot compile this file: {panic[1].strip()[:500]}; "
            "it may need a WebAssembly feature that is switched off"
        )
    if code == -signal.SIGABRT or "MemoryError" in text or "memory allocation" in text:
        return f"wasm: compilation takes more than {limits.memory} bytes of memory; raise limits.compileMemory"
    if code == -signal.SIGKILL:
        return "wasm: compilation was killed, probably by the system for lack of memory"
    last = text.splitlines()[-1] if text else "no output"
    return f"wasm: compilation failed with exit code {code}: {last[:500]}"


def _environment() -> dict[str, str]:
    """Paths of modules and libraries, and nothing else of this process."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR") if name in os.environ}
    threads = "1" if _is_background.get() else str(min(os.cpu_count() or 1, _THREADS))
    path = os.pathsep.join(item for item in sys.path if item)
    return kept | {"PYTHONPATH": path, "RAYON_NUM_THREADS": threads, "PYTHONDONTWRITEBYTECODE": "1"}


def _scratch() -> IO[bytes]:
    """A file without a name; in memory on Linux, where a container may have no writable folder at all."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("kubewasp"), "w+b")
    return cast("IO[bytes]", tempfile.TemporaryFile())


def _whole(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
