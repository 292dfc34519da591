"""Fuzz targets: their seeds, some mutations of each, and every input that once was a crash."""

import random
from pathlib import Path

import pytest
from wasmtime import wat2wasm

from kubewasp.wasm.component import answers
from kubewasp.wasm.guest_cycle import GuestCycle
from tools.fuzz import catalogue
from tools.fuzz.mutation import MAX_SIZE, mutated
from tools.fuzz.targets import abi_calls, component_answers, core_guests

CRASHES = Path(__file__).parent / "crashes"


MOST_SEEDS = 40


@pytest.mark.parametrize("name", catalogue.TARGETS)
def test_seeds_and_mutations_of_them_are_processed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(abi_calls, "CALLS", 20)
    target, chance = catalogue.target(name), random.Random(1)
    seeds = list(target.seeds())
    labels = {target.one(seed) for seed in seeds[:: -(-len(seeds) // MOST_SEEDS)]}
    assert any("Error" not in label.split(";")[0] for label in labels), "no seed is valid"
    for _ in range(60):
        target.one(mutated(chance.choice(seeds), seeds, chance))


@pytest.mark.parametrize("name", catalogue.TARGETS)
def test_what_was_a_crash_is_none(name: str) -> None:
    """Shapes of attacks on earlier versions, and all that fuzzing finds."""
    for path in sorted((CRASHES / name.replace(" ", "-")).glob("*")):
        catalogue.target(name).one(path.read_bytes())


def test_every_crash_belongs_to_a_target() -> None:
    folders = {path.name for path in CRASHES.iterdir()}
    assert folders
    assert folders <= {name.replace(" ", "-") for name in catalogue.TARGETS}


def test_mutations_are_repeatable_and_bounded() -> None:
    seeds = [b"a: [1, 2]", b"\x0a\x03abc", b"", b"x" * 1000]
    first, second = (
        [mutated(seeds[place % 4], seeds, chance) for place in range(100)]
        for chance in (random.Random(7), random.Random(7))
    )
    assert first == second
    assert len(set(first)) > 75
    chance, large = random.Random(7), b"\0" * MAX_SIZE
    assert {len(mutated(large, [large], chance)) <= MAX_SIZE for _ in range(20)} == {True}


def test_generated_guests_are_valid() -> None:
    chance = random.Random(2)
    for _ in range(200):
        wat2wasm(core_guests.generated(chance.randbytes(chance.randrange(200))))


def test_an_exception_of_the_host_in_a_hook_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(answers, "take_remarks", fail)
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        component_answers.one(b"{}")


def test_calls_go_on_behind_one_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of calls with wild numbers many fail, each in an instance of its own."""
    monkeypatch.setattr(abi_calls, "CALLS", 60)
    monkeypatch.setattr(abi_calls, "_WILD", (255,))
    ends: list[str] = []
    checked = abi_calls._checked

    def counted(cycle: GuestCycle) -> str:
        ends.append(checked(cycle))
        return ends[-1]

    monkeypatch.setattr(abi_calls, "_checked", counted)
    abi_calls.one(b"\x05\x03\x04")
    assert ends.count("trap") > 5
