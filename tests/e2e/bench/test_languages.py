"""The policy nodenumber in every language has the same answers; small measurements of languages and collectors."""

import pytest

from tools.bench.guests import TINYGO
from tools.bench.languages import collectors, example_guests, side_by_side
from tools.bench.languages.collectors import CASES
from tools.bench.languages.example_guests import EXAMPLES

# TinyGo has to be installed by hand.
HERE = [name for name in EXAMPLES if name != TINYGO]


@pytest.mark.parametrize("language", HERE)
def test_the_policy_has_the_same_answers_in_every_language(language: str) -> None:
    example_guests.check(language, EXAMPLES[language].wasm())


@pytest.mark.parametrize("language", ["go", "rust-tiny", "javascript"])
def test_a_language_has_figures(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "NODES", 50)
    monkeypatch.setattr(side_by_side, "PODS", 3)
    told: list[str] = []
    (found,) = side_by_side.measure(told.append, [language])
    assert isinstance(found, side_by_side.Figures)
    assert found.size == EXAMPLES[language].wasm().stat().st_size
    assert found.load_cold > found.load_cached > 0
    assert found.first_cycle > 0
    assert min(found.filter, found.score, found.memory) > 0
    assert told == [f"building {EXAMPLES[language].name}", f"measuring {EXAMPLES[language].name}"]


def test_collectors_keep_leak_or_replace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collectors, "NODES", 200)
    monkeypatch.setattr(collectors, "PODS", 110)
    found = {one.name: one for one in collectors.measure(lambda _: None) if isinstance(one, collectors.Figures)}
    assert list(found) == [case.name for case in CASES]
    freed, leaked = found["Rust, memory freed"], found["Rust, nothing freed, replaced when full"]
    assert leaked.memory_peak > freed.memory_peak + 100 * 200 * 1024
    for case in CASES:
        started = found[case.name].instances
        assert started == (110 if case.pods_per_instance == 1 else 1 if case.pods_per_instance else 0), case.name
