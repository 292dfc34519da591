"""Random numbers and time of repeatable guests."""

from pathlib import Path

import pytest

from kubewasp.simulation.embedded_cluster import SimulatedClock
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.repeatable import GuestSource, Repeatable
from tests.guests.build import SOURCES, go_guest, project_guest, wat_text

START = 1_767_614_400.0  # 2026-01-05T12:00:00Z
PYTHON = """
import os, random, time
answer = f'{random.random()} {os.urandom(8).hex()} {time.monotonic_ns()} {time.time()}'
"""
POD = {"metadata": {"name": "web-1", "annotations": {"filter": PYTHON}}}
NODES = [{"metadata": {"name": "entropy"}}]


def guest(language: str) -> Path:
    return go_guest("nodenumber") if language == "go" else project_guest(SOURCES / "python" / "probe")


def reasons(language: str, seed: int | None, clock: SimulatedClock | None = None) -> list[str]:
    """Reasons of two Filter calls in each of two cycles at the same time."""
    repeatable = None if seed is None else Repeatable(seed, clock or SimulatedClock(START))
    loaded = Guest.load(guest(language), name="policy", repeatable=repeatable)
    found = []
    with loaded.cycle(POD, NODES) as first, loaded.cycle(POD, NODES) as second:
        for cycle in (first, second):
            cycle.prefilter()
            found += [cycle.filter().status(0).reason for _ in range(2)]
    return found


@pytest.mark.parametrize("language", ["go", "python"])
def test_guests_with_the_same_seed_give_the_same_answers(language: str) -> None:
    found = reasons(language, 7)
    assert len(set(found)) == 4  # random nevertheless
    assert reasons(language, 7) == found
    assert not set(reasons(language, 8)) & set(found)
    assert not set(reasons(language, None)) & set(found)


def test_the_clock_of_guests_is_the_given_one() -> None:
    clock = SimulatedClock(START)
    clock.advance_to(3600)
    assert "2026-01-05T13:00:00Z" in reasons("go", 0, clock)[0]
    assert reasons("python", 0, clock)[0].endswith(f" {START + 3600}")


def test_a_sleep_advances_the_time_of_the_guest() -> None:
    assert reasons("go", 0)[0].endswith(" true")  # it slept a millisecond, and measured it


# ---------------------------------------------------------------------- arguments of WASI functions


def called(function: str, parameters: str, arguments: str, *, repeatable: bool) -> tuple[int, str]:
    """Result of a WASI function, and the error of the hook that called it."""
    text = f"""(module
      (import "wasi_snapshot_preview1" "{function}" (func $wasi (param {parameters}) (result i32)))
      (memory (export "memory") 1)
      (func (export "filter") (result i32) (i32.add (i32.const 100) (call $wasi {arguments}))))"""
    clock = SimulatedClock(START)
    loaded = Guest.load(wat_text(text), repeatable=Repeatable(0, clock) if repeatable else None)
    with loaded.cycle(POD, NODES) as cycle:
        status = cycle.filter().status(0)
    return int(status.code) - 100, status.reason


@pytest.mark.parametrize("repeatable", [True, False])
@pytest.mark.parametrize(
    ("function", "parameters", "arguments", "errno"),
    [
        ("random_get", "i32 i32", "(i32.const 0) (i32.const 16)", 0),
        ("clock_time_get", "i32 i64 i32", "(i32.const 0) (i64.const 1) (i32.const 8)", 0),
        ("clock_time_get", "i32 i64 i32", "(i32.const 1) (i64.const -1) (i32.const 8)", 0),
        ("clock_time_get", "i32 i64 i32", "(i32.const 2) (i64.const 1) (i32.const 8)", 8),
    ],
)
def test_wasi_functions_have_the_results_of_the_runtime(
    function: str, parameters: str, arguments: str, errno: int, *, repeatable: bool
) -> None:
    assert called(function, parameters, arguments, repeatable=repeatable) == (errno, "")


@pytest.mark.parametrize("repeatable", [True, False])
@pytest.mark.parametrize(
    ("function", "parameters", "arguments"),
    [
        ("random_get", "i32 i32", "(i32.const 65530) (i32.const 16)"),
        ("random_get", "i32 i32", "(i32.const 0) (i32.const -1)"),
        ("clock_time_get", "i32 i64 i32", "(i32.const 0) (i64.const 1) (i32.const -4)"),
    ],
)
def test_a_buffer_outside_of_memory_ends_the_call(
    function: str, parameters: str, arguments: str, *, repeatable: bool
) -> None:
    code, reason = called(function, parameters, arguments, repeatable=repeatable)
    assert code == 1 - 100
    assert reason.startswith("wasm: filter error: ")


def test_random_numbers_are_limited() -> None:
    _, reason = called("random_get", "i32 i32", "(i32.const 0) (i32.const -1)", repeatable=True)
    assert "random_get: 4294967295 bytes are over the limit of 16777216" in reason


@pytest.mark.parametrize(("wall", "found"), [(-5.0, 0), (1e12, 2**64 - 1)])
def test_a_time_beyond_the_range_of_wasi_is_its_nearest(wall: float, found: int) -> None:
    assert GuestSource("seed", SimulatedClock(wall)).wall_ns() == found
