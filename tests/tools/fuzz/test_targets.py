"""Fuzz targets return for some of their seeds, and for mutations of them. Fuzzing itself is not a test."""

import random
from collections.abc import Iterator
from types import ModuleType

import pytest
from wasmtime import wat2wasm

from kubewasp.wasm.component import answers
from tools.fuzz import abi_calls, component_answers, core_guests


def mutations(target: ModuleType, count: int) -> Iterator[bytes]:
    """Seeds with a few bytes changed, dropped or repeated; the same ones each time."""
    chance = random.Random(1)
    seeds = list(target.seeds())
    for _ in range(count):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(data) + 1)
            data[place : place + chance.choice([0, 1, 1, 4])] = chance.randbytes(chance.choice([0, 1, 1, 2]))
        yield bytes(data)


@pytest.mark.parametrize(
    ("target", "every", "mutated"),
    [(component_answers, 20, 15), (abi_calls, 1, 30), (core_guests, 7, 8)],
    ids=["answers", "abi", "core"],
)
def test_a_target_returns_for_its_seeds_and_their_mutations(target: ModuleType, every: int, mutated: int) -> None:
    for data in [*list(target.seeds())[::every], *mutations(target, mutated)]:
        target.one(data)


def test_generated_guests_are_valid() -> None:
    chance = random.Random(2)
    for _ in range(200):
        wat2wasm(core_guests.generated(chance.randbytes(chance.randrange(200))))


def test_an_exception_of_the_host_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(answers, "take_remarks", fail)
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        component_answers.one(b"{}")
