from __future__ import annotations

import pytest

from kubewasp.wasi import streams
from kubewasp.wasi.command import run
from kubewasp.wasi.grants import GrantError, Grants
from kubewasp.wasi.preview1 import FUNCTIONS, MODULE
from kubewasp.wasi.program import load
from kubewasp.wasi.report import report
from kubewasp.wasm.errors import GuestLoadError
from tests.guests.build import go_command, go_guest, wat_text
from tests.wasi.running import probe_file, run_file
from tests.wasi.test_component import command

MEMORY = '(memory (export "memory") 1)'
START = '(func (export "_start"))'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"(module {MEMORY})", "it exports no _start, so it is no WASI command"),
        (f'(module {MEMORY} (func (export "_initialize")))', "it is a WASI reactor"),
        (f'(module {MEMORY} (global (export "_start") i32 (i32.const 0)))', "its export _start is no function without"),
        (f"(module {START})", "it exports no memory with the name memory"),
        (f'(module (import "env" "foo" (func)) {MEMORY} {START})', "it imports env foo, which is not WASI"),
        (f'(module (import "{MODULE}" "fd_dance" (func)) {MEMORY} {START})', "fd_dance, which WASI preview 1 does not"),
        (f'(module (import "wasi_unstable" "fd_read" (func)) {MEMORY} {START})', "that is WASI preview 0"),
        (f'(module (import "{MODULE}" "fd_close" (func)) {MEMORY} {START})', "incompatible import type"),
        (f'(module (import "{MODULE}" "fd_sync" (func)) {MEMORY} {START})', "incompatible import type"),
        (f'(module {MEMORY} (func (export "_start") (param i32)))', "its export _start is no function without"),
        (f'(module {MEMORY} (func (export "_start") (param v128)))', "its export _start is no function without"),
    ],
)
def test_a_module_that_cannot_be_run_says_why(text: str, message: str) -> None:
    with pytest.raises(GuestLoadError, match=message):
        run_file(wat_text(text, "wasi-odd"))


def test_all_problems_are_told_at_once() -> None:
    text = '(module (import "env" "one" (func)) (import "env" "two" (func)))'
    with pytest.raises(GuestLoadError, match=r"env one.*env two.*no _start.*no memory"):
        run_file(wat_text(text, "wasi-odd"))


@pytest.mark.parametrize(
    ("wasm", "message"),
    [
        (b"", "does not start with"),
        (b"\0asm", "truncated"),
        (b"\0asm\x01\0\0\0\x01\xff", "truncated"),
        (b"\0asm\x01\0\0\0\x63\x00", "not a valid WebAssembly program"),
        (b"\0asm\x0d\0\x01\0\xff\xff", "not a valid WebAssembly program"),
        (b"#!/bin/sh\n", "does not start with"),
    ],
)
def test_what_is_no_program_is_refused(wasm: bytes, message: str) -> None:
    with pytest.raises(GuestLoadError, match=f"odd.wasm: .*{message}"):
        load(wasm, Grants(), name="odd.wasm")


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
    grants = Grants()
    assert run(load(file.read_bytes(), grants), grants, on_call=calls.append).exit_code == 0


def test_calls_are_traced_with_their_paths_and_results() -> None:
    calls: list[str] = []
    grants = Grants(arguments=("read", "/etc/hostname"))
    program = load(probe_file().read_bytes(), grants)
    assert run(program, grants, stdout=streams.dropped, on_call=calls.append).exit_code == 1
    opened = [call for call in calls if call.startswith("path_open")]
    assert len(opened) == 1
    assert "fd=3" in opened[0]
    assert "path='etc/hostname'" in opened[0]
    assert opened[0].endswith(" = NOENT")
    assert calls[-1] == "proc_exit(code=1)"


def test_a_program_runs_only_with_the_engine_that_it_was_loaded_for() -> None:
    program = load(probe_file().read_bytes(), Grants())
    with pytest.raises(GrantError, match="loaded for another stack limit, or without counting fuel"):
        run(program, Grants(fuel=1))


def test_a_report_says_what_a_c_program_could_ask_for() -> None:
    found = report(load(probe_file().read_bytes(), Grants()))
    assert (found["kind"], found["wasi"], found["runnable"]) == ("core module, command", "preview 1", True)
    asks = found["could_ask_for"]
    assert "path_open" in asks["files and directories"]
    assert "environ_get" in asks["environment variables"]
    assert "random_get" in asks["random numbers"]
    assert "sockets" not in asks
    assert any(grant.startswith("--dir ") for grant in found["grants"])
    assert found["network"].startswith("none")
    assert found["exports"] == ["memory", "_start"]


def test_a_report_tells_reactors_components_and_strangers_apart() -> None:
    reactor = report(load(go_guest("allhooks").read_bytes(), Grants()))
    assert (reactor["kind"], reactor["runnable"]) == ("core module, reactor", False)
    assert "k8s.io/klog log" in reactor["could_ask_for"]["not WASI"]
    assert "sockets" not in report(load(go_command("gopher").read_bytes(), Grants()))["grants"]
    component = report(load(command().read_bytes(), Grants()))
    assert (component["kind"], component["wasi"]) == ("component, command", "preview 2 (0.2.0)")
    assert component["could_ask_for"]["files and directories"] == [
        "wasi:filesystem/types@0.2.0",
        "wasi:filesystem/preopens@0.2.0",
    ]
