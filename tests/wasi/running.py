"""Runs of test programs, with their output."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from kubewasp.wasi import streams
from kubewasp.wasi.capabilities import Capabilities, Preopen
from kubewasp.wasi.command import run
from kubewasp.wasi.program import load_program
from tests.guests.build import SOURCES, c_command, go_command

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kubewasp.wasi.command import Outcome
    from kubewasp.wasi.program import WasiProgram

LIMIT = 1 << 20


@dataclass(frozen=True)
class Ran:
    outcome: Outcome
    stdout: str
    stderr: str

    @property
    def code(self) -> int:
        return self.outcome.exit_code

    @property
    def denied(self) -> list[str]:
        return [denial.text for denial in self.outcome.denials]


def run_file(
    file: Path, *arguments: str, dirs: Sequence[str] = (), stdin: bytes = b"", output_limit: int = LIMIT, **granted: Any
) -> Ran:
    preopens = tuple(Preopen.parse(text) for text in dirs)
    capabilities = Capabilities(preopens=preopens, arguments=arguments, **granted)
    program = _program(file, capabilities.stack, fueled=capabilities.fuel is not None)
    out, err = streams.Buffer(output_limit), streams.Buffer(output_limit)
    outcome = run(program, capabilities, stdin=streams.of_bytes(stdin), stdout=out, stderr=err)
    return Ran(outcome, *(kept.content().decode(errors="replace") for kept in (out, err)))


@cache
def _program(file: Path, stack: int, *, fueled: bool) -> WasiProgram:
    """Loaded once: a test without the rights of root cannot read root's cache, nor start a compiler."""
    return load_program(file.read_bytes(), Capabilities(stack=stack, fuel=1 if fueled else None), name=file.name)


def probe(*arguments: str, **granted: Any) -> Ran:
    """The C program tests/guests/wasi/probe.c."""
    return run_file(probe_file(), *arguments, **granted)


@cache
def probe_file() -> Path:
    return c_command(SOURCES / "wasi" / "probe.c")


def gopher(*arguments: str, **granted: Any) -> Ran:
    """The Go program tests/guests/wasi/gopher."""
    return run_file(_gopher_file(), *arguments, **granted)


@cache
def _gopher_file() -> Path:
    return go_command("gopher")
