from __future__ import annotations

import pytest

from kubewasp.wasi import streams
from kubewasp.wasi.capabilities import Capabilities, CapabilityError
from kubewasp.wasi.command import run
from kubewasp.wasi.preview1 import FUNCTIONS, MODULE
from kubewasp.wasi.program import load_program
from kubewasp.wasm.errors import GuestLoadError
from tests.guests.build import wat_text
from tests.wasi.running import probe_file, run_file

MEMORY = '(memory (export "memory") 1)'
START = '(func (export "_start"))'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"(module {MEMORY})", "not a WASI command: no export _start"),
        (f'(module {MEMORY} (func (export "_initialize")))', "WASI reactor"),
        (f'(module {MEMORY} (global (export "_start") i32 (i32.const 0)))', "export _start is not a function without"),
        (f"(module {START})", "no exported memory named memory"),
        (f'(module (import "env" "foo" (func)) {MEMORY} {START})', "import env foo is not WASI"),
        (f'(module (import "{MODULE}" "fd_dance" (func)) {MEMORY} {START})', "fd_dance is not in WASI preview 1"),
        (f'(module (import "wasi_unstable" "fd_read" (func)) {MEMORY} {START})', "is WASI preview 0"),
        (f'(module (import "{MODULE}" "fd_close" (func)) {MEMORY} {START})', "incompatible import type"),
        (f'(module (import "{MODULE}" "fd_sync" (func)) {MEMORY} {START})', "incompatible import type"),
        (f'(module {MEMORY} (func (export "_start") (param i32)))', "export _start is not a function without"),
        (f'(module {MEMORY} (func (export "_start") (param v128)))', "export _start is not a function without"),
    ],
)
def test_a_module_that_cannot_be_run_says_why(text: str, message: str) -> None:
    with pytest.raises(GuestLoadError, match=message):
        run_file(wat_text(text, "wasi-odd"))


def test_all_problems_are_told_at_once() -> None:
    text = '(module (import "env" "one" (func)) (import "env" "two" (func)))'
    with pytest.raises(GuestLoadError, match=r"env one.*env two.*no export _start.*no exported memory"):
        run_file(wat_text(text, "wasi-odd"))


@pytest.mark.parametrize(
    ("wasm", "message"),
    [
        (b"", "the file is empty"),
        (b"\0asm", "truncated"),
        (b"\0asm\x01\0\0\0\x01\xff", "truncated"),
        (b"\0asm\x01\0\0\0\x63\x00", "invalid WebAssembly program"),
        (b"\0asm\x0d\0\x01\0\xff\xff", "invalid WebAssembly program"),
        (b"#!/bin/sh\n", "does not start with"),
    ],
)
def test_what_is_no_program_is_refused(wasm: bytes, message: str) -> None:
    with pytest.raises(GuestLoadError, match=f"odd.wasm: .*{message}"):
        load_program(wasm, Capabilities(), name="odd.wasm")


def test_the_start_section_runs_before_the_command() -> None:
    say = f"""(import "{MODULE}" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
      {MEMORY} (data (i32.const 0) "\\10\\00\\00\\00\\06\\00\\00\\00\\18\\00\\00\\00\\06\\00\\00\\00")
      (data (i32.const 16) "first \\00\\00second")
      (func $first (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 100))))
      (func (export "_start") (drop (call $write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 100))))
      (start $first)"""
    assert run_file(wat_text(f"(module {say})", "wasi-start")).stdout == "first second"


def test_every_function_of_preview_1_is_known_and_linked_with_its_type() -> None:
    imports = "".join(
        f'(import "{MODULE}" "{name}" (func'
        + (f" (param {' '.join(function.types)})" if function.types else "")
        + (" (result i32)" if function.returns else "")
        + "))"
        for name, function in FUNCTIONS.items()
    )
    file = wat_text(f"(module {imports} {MEMORY} {START})", "wasi-all")
    assert run_file(file).code == 0
    calls: list[str] = []
    capabilities = Capabilities()
    assert run(load_program(file.read_bytes(), capabilities), capabilities, on_call=calls.append).exit_code == 0


def test_calls_are_traced_with_their_paths_and_results() -> None:
    calls: list[str] = []
    capabilities = Capabilities(arguments=("read", "/etc/hostname"))
    program = load_program(probe_file().read_bytes(), capabilities)
    assert run(program, capabilities, stdout=streams.discard, on_call=calls.append).exit_code == 1
    opened = [call for call in calls if call.startswith("path_open")]
    assert len(opened) == 1
    assert "fd=3" in opened[0]
    assert "path='etc/hostname'" in opened[0]
    assert opened[0].endswith(" = NOENT")
    assert calls[-1] == "proc_exit(code=1)"


def test_a_program_runs_only_with_the_engine_that_it_was_loaded_for() -> None:
    program = load_program(probe_file().read_bytes(), Capabilities())
    with pytest.raises(CapabilityError, match="loaded for another stack limit, or without counting fuel"):
        run(program, Capabilities(fuel=1))
