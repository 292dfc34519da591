"""Child process that compiles one module or component: `python -m kubewasp.wasm.compile_worker`.

The task is on the first line of stdin, the wasm after it; the compiled code goes to stdout, with load checks behind
their positions. The process limits its own CPU time and memory before it reads the wasm. Its environment has no secrets
of the parent.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from wasmtime import Module, WasmtimeError
from wasmtime.component import Component

from kubewasp.wasm.binary import BinaryError
from kubewasp.wasm.engine_settings import EngineSettings
from kubewasp.wasm.load_checks import with_checks

if TYPE_CHECKING:
    from wasmtime import Engine

INVALID = 3
_LONGEST_ERROR = 4000
_LARGEST = 4 << 30
_DEATH_SIGNAL = 1
_LENGTH = 8  # bytes of a length


@dataclass(frozen=True, slots=True)
class Task:
    """One compilation: kind and settings, stricter settings to validate with, CPU seconds and bytes of memory.

    `niceness` leaves the processor to others.
    """

    is_component: bool
    settings: EngineSettings
    strict: EngineSettings | None
    cpu_seconds: int
    memory: int
    niceness: int = 0

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> Task:
        sent = json.loads(line)
        strict = sent.pop("strict")
        return cls(**sent | {"settings": _settings(sent["settings"]), "strict": strict and _settings(strict)})


def _settings(sent: dict[str, object]) -> EngineSettings:
    return EngineSettings(**sent | {"off": tuple(sent["off"]), "on": tuple(sent["on"])})  # type: ignore[arg-type]


def compiled(
    engine: Engine, settings: EngineSettings, strict: EngineSettings | None, wasm: bytes, *, is_component: bool
) -> tuple[Module | Component, bytes]:
    """Compiles in this process, with the engine of those settings; WasmtimeError for an invalid file.

    Returns also the packed positions of load checks; empty without them.
    """
    if strict is not None:
        Module.validate(strict.engine(), wasm)
    if is_component:
        return Component(engine, wasm), b""
    if not settings.load_checks:
        return Module(engine, wasm), b""
    try:
        checked = with_checks(wasm)
    except BinaryError as error:
        raise WasmtimeError(f"{error}; without load checks (limits.interruption: epoch) it may compile") from None
    return Module(engine, checked.wasm), checked.positions.packed()


def joined(made: Module | Component, positions: bytes, settings: EngineSettings) -> tuple[bytes, ...]:
    """The parts of a file with the compiled code and, for load checks, the length of the positions and these."""
    code = bytes(made.serialize())
    return (len(positions).to_bytes(_LENGTH, "little"), positions, code) if settings.load_checks else (code,)


def parted(content: bytes) -> tuple[bytes, bytes]:
    """Compiled code and positions of a file with load checks."""
    end = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
    return content[end:], content[_LENGTH:end]


def main() -> int:
    task = Task.parse(sys.stdin.buffer.readline())
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)  # ends with its parent
    os.nice(task.niceness)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST, _LARGEST))
    resource.setrlimit(resource.RLIMIT_CPU, (task.cpu_seconds, task.cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (task.memory, task.memory))
    wasm = sys.stdin.buffer.read()
    try:
        settings = task.settings
        made, positions = compiled(settings.engine(), settings, task.strict, wasm, is_component=task.is_component)
    except WasmtimeError as error:
        sys.stderr.write(str(error)[:_LONGEST_ERROR])
        return INVALID
    for part in joined(made, positions, settings):
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
