"""Fuzz targets: their seeds, some mutations of each, and every input that once was a crash."""

import random
from pathlib import Path

import pytest

from tools.fuzz import catalogue
from tools.fuzz.mutation import MAX_SIZE, mutated

CRASHES = Path(__file__).parent / "crashes"


@pytest.mark.parametrize("name", catalogue.TARGETS)
def test_seeds_and_mutations_of_them_are_processed(name: str) -> None:
    target, chance = catalogue.target(name), random.Random(1)
    seeds = list(target.seeds())
    labels = {target.one(seed) for seed in seeds}
    assert any("Error" not in label.split(";")[0] for label in labels), "no seed is valid"
    for _ in range(60):
        target.one(mutated(chance.choice(seeds), seeds, chance))


@pytest.mark.parametrize("name", catalogue.TARGETS)
def test_what_was_a_crash_is_none(name: str) -> None:
    for path in sorted((CRASHES / name.replace(" ", "-")).glob("*")):
        catalogue.target(name).one(path.read_bytes())


def test_mutations_are_repeatable_and_bounded() -> None:
    seeds = [b"a: [1, 2]", b"\x0a\x03abc", b"", b"x" * MAX_SIZE]
    first, second = (
        [mutated(seeds[place % 4], seeds, chance) for place in range(400)]
        for chance in (random.Random(7), random.Random(7))
    )
    assert first == second
    assert len(set(first)) > 300
    assert max(map(len, first)) <= MAX_SIZE
