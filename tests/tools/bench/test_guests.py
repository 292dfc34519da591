"""Guests of the benchmark policies: TinyGo's, from a folder or not at all."""

from pathlib import Path

import pytest

from kubewasp.errors import KubewaspError
from tools.bench import agreement, guests
from tools.bench.guests import TINYGO, Unavailable, guest
from tools.bench.plugin_layer import Plan
from tools.bench.policies.policy_list import POLICIES, SOURCES


@pytest.fixture(autouse=True)
def _no_tinygo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("KUBEWASP_BENCH_TINYGO_GUESTS", "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A stand-in: the hand-written guest under the name of TinyGo's."""
    made = tmp_path / "made"
    made.mkdir()
    (made / "nodenumber.wasm").write_bytes(guest("nodenumber", "wat").read_bytes())
    return made


def test_given_guests_of_tinygo_are_a_form_like_others(folder: Path) -> None:
    guests.use_tinygo_guests(folder)
    assert guest("nodenumber", TINYGO) == folder.resolve() / "nodenumber.wasm"
    agreement.check(TINYGO, "nodenumber")
    with pytest.raises(Unavailable, match=r"label-cpu\.wasm: no such file"):
        guest("label-cpu", TINYGO)


def test_a_folder_without_guests_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KubewaspError, match=r"no \*\.wasm; a folder with guests that TinyGo built is required"):
        guests.use_tinygo_guests(tmp_path)


def test_without_tinygo_its_form_is_not_planned(folder: Path) -> None:
    def planned() -> set[str]:
        return {task.form for group in Plan.of(quick=True, forms=(), nodes=()).groups for task in group}

    assert TINYGO not in planned()
    guests.use_tinygo_guests(folder)
    assert TINYGO in planned()


@pytest.mark.parametrize("language", ["go", "rust", "c", "python", "javascript"])
def test_every_language_has_every_policy(language: str) -> None:
    assert all((SOURCES / f"{policy}-{language}").is_dir() for policy in POLICIES)


@pytest.mark.parametrize(("language", "reason"), [("rust", "Rust"), ("javascript", "Node.js"), (TINYGO, "TinyGo")])
def test_a_missing_toolchain_is_a_reason(
    language: str, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CARGO_HOME", str(tmp_path))
    with pytest.raises(Unavailable, match=reason):
        guest("nodenumber", language)
