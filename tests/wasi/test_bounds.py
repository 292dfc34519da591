"""Limits of programs, and invalid arguments of WASI calls."""

from __future__ import annotations

import pytest

from kubewasp.wasi.command import Ending
from kubewasp.wasi.streams import OutputLimitError
from kubewasp.wasm.errors import GuestLoadError
from tests.guests.build import wat_text
from tests.wasi.running import Ran, gopher, probe, run_file

MODULE = """(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_renumber" (func $renumber (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func $deep (param i32) (result i32) (i32.add (call $deep (i32.add (local.get 0) (i32.const 1))) (i32.const 1)))
  (func (export "_start") BODY))"""
FAULT, BAD_DESCRIPTOR, INVALID = 21, 8, 28


def run_body(body: str, **granted: object) -> Ran:
    return run_file(wat_text(MODULE.replace("BODY", body), "wasi-body"), **granted)  # type: ignore[arg-type]


@pytest.mark.parametrize("program", [probe, gopher], ids=["c", "go"])
def test_sleeping_ends_with_the_time(program: object) -> None:
    ran = program("sleep", "3600000", timeout=0.05)  # type: ignore[operator]
    assert (ran.outcome.ending, ran.code) == (Ending.TIMED_OUT, 124)
    assert ran.outcome.message == "time limit of 0.05 s exceeded; raise --timeout"


def test_an_endless_loop_ends_with_the_time() -> None:
    assert probe("loop", timeout=0.05).outcome.ending is Ending.TIMED_OUT


def test_fuel_is_counted_exactly_and_ends_a_loop() -> None:
    first, second = (probe("hello", fuel=10**9).outcome.fuel_used for _ in range(2))
    assert first == second
    assert first
    ran = probe("loop", fuel=100_000)
    assert (ran.outcome.ending, ran.code, ran.outcome.fuel_used) == (Ending.OUT_OF_FUEL, 124, 100_000)
    assert ran.outcome.message == "fuel limit of 100000 units exceeded; raise --fuel"
    assert probe("hello", fuel=first).code == 0
    assert probe("hello", fuel=first // 2).code == 124


def test_memory_ends_at_its_limit_and_the_program_is_told() -> None:
    ran = probe("hoard", memory=32 << 20)
    assert (ran.code, ran.stderr) == (1, "Out of memory\n")
    assert ran.outcome.memory is not None
    assert 20 << 20 < ran.outcome.memory <= 32 << 20


def test_a_program_that_starts_with_more_memory_than_allowed_says_what_to_raise() -> None:
    with pytest.raises(GuestLoadError, match="over the limit of 64Ki; raise --memory"):
        probe("hello", memory=65536)


def test_the_stack_ends_at_its_limit() -> None:
    ran = run_body("(drop (call $deep (i32.const 0)))", stack=128 << 10)
    assert (ran.outcome.ending, ran.code) == (Ending.TRAPPED, 134)
    assert ran.outcome.message == "stack limit of 128Ki exceeded; raise --stack"


def test_a_data_segment_outside_of_memory_is_a_trap() -> None:
    file = wat_text(
        '(module (memory (export "memory") 1) (data (i32.const 65536) "x") (func (export "_start")))', "wasi-segment"
    )
    ran = run_file(file)
    assert (ran.outcome.ending, ran.code, ran.outcome.memory) == (Ending.TRAPPED, 134, None)
    assert ran.outcome.message.startswith("wasm trap: out of bounds memory access")


def test_a_flood_of_output_ends_at_the_sinks_limit() -> None:
    with pytest.raises(OutputLimitError):
        probe("flood", output_limit=10_000)


# ---------------------------------------------------------------------- nonsense


def error_of(call: str) -> int:
    return run_body(f"(call $exit {call})").code


def numbers(*values: int) -> str:
    return " ".join(f"(i32.const {value})" for value in values)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (f"(call $write {numbers(1, 65535, 1, 0)})", FAULT),
        (f"(call $write {numbers(1, -8, 1, 0)})", FAULT),
        (f"(call $write {numbers(1, 0, -1, 0)})", 0),  # of 4 billion empty buffers, the first thousand are looked at
        (f"(call $write {numbers(1, 0, 1, 65533)})", FAULT),
        (f"(call $read {numbers(0, -8, 1, 0)})", FAULT),
        (f"(call $read {numbers(0, 0, 1, -1)})", FAULT),
        (f"(call $write {numbers(77, 0, 0, 0)})", BAD_DESCRIPTOR),
        (f"(call $poll {numbers(0, 0, 0, 0)})", INVALID),
        (f"(call $poll {numbers(0, 0, -1, 0)})", INVALID),
        (f"(call $poll {numbers(65530, 0, 1, 0)})", FAULT),
        (f"(call $open {numbers(3, 0, -5, 100, 0)} (i64.const 0) (i64.const 0) {numbers(0, 0)})", 44),
        (f"(call $open {numbers(3, 0, 0, -1, 0)} (i64.const 0) (i64.const 0) {numbers(0, 0)})", 44),
        (f"(call $close {numbers(1000)})", BAD_DESCRIPTOR),
    ],
)
def test_addresses_outside_of_memory_are_errors(call: str, error: int) -> None:
    assert error_of(call) == error


def test_buffers_that_name_the_same_memory_over_and_over_are_written_in_part() -> None:
    setup = " ".join(f"(i32.store {numbers(at * 8 + 4, 60000)})" for at in range(1, 100))
    write = f"(drop (call $write {numbers(1, 8, 99, 0)}))"
    ran = run_body(f"{setup} {write} (call $exit (i32.eq (i32.load {numbers(0)}) {numbers(262144)}))")
    assert ran.code == 1
    assert len(ran.stdout) == 262144


def test_a_closed_stream_is_closed() -> None:
    assert error_of(f"(drop (call $close {numbers(1)})) (call $write {numbers(1, 0, 1, 100)})") == BAD_DESCRIPTOR


def test_a_stream_that_is_renumbered_goes_along() -> None:
    hello = f"(i32.store {numbers(0, 16)}) (i32.store {numbers(4, 3)}) (i32.store {numbers(16, 0x0A6968)})"
    moved = f"(drop (call $renumber {numbers(1, 2)}))"
    ran = run_body(f"{hello} {moved} (call $exit (call $write {numbers(2, 0, 1, 8)}))")
    assert (ran.code, ran.stdout, ran.stderr) == (0, "hi\n", "")
    ran = run_body(f"{hello} {moved} (call $exit (call $write {numbers(1, 0, 1, 8)}))")
    assert (ran.code, ran.stdout, ran.stderr) == (BAD_DESCRIPTOR, "", "")


def test_a_file_that_takes_the_place_of_a_stream_is_written(tmp_path: object) -> None:
    ran = probe("redirect", "/out/file", dirs=[f"{tmp_path}:/out"])
    assert (ran.code, ran.stdout) == (0, "")
    assert (tmp_path / "file").read_text() == "to the file\n"  # type: ignore[operator]


def test_many_denied_calls_are_told_of_in_part() -> None:
    body = """(local $i i32)
      (loop $again
        (i32.store8 (i32.const 0) (i32.add (i32.const 65) (i32.and (local.get $i) (i32.const 31))))
        (drop (call $open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 0)
          (i64.const 0) (i64.const 0) (i32.const 0) (i32.const 100)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $again (i32.lt_u (local.get $i) (i32.const 500))))"""
    assert len(run_body(body).denied) == 20
