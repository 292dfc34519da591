"""Reload: failures told once, tags in use or judged bad are no change, a busy scheduler is not waited for forever."""

from pathlib import Path
from typing import Any

import pytest

from kubewasp.rollout import reloader as module
from kubewasp.rollout.reloader import ConfigChanges, Reloader
from kubewasp.wasm.errors import GuestLoadError
from tests.rollout.bench import Bench
from tests.rollout.policies import wasm


def test_a_failure_that_repeats_is_logged_once_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(tmp_path)
    bench.guest.write_bytes(b"broken")
    for _ in range(3):
        assert bench.reload()
    assert caplog.text.count("Reload failed") == 1
    assert bench.history.failures == 3
    bench.reload(wasm("v1"))
    bench.reload(b"broken")
    assert caplog.text.count("Reload failed") == 2


def test_an_unreadable_configuration_is_a_failure(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.document["parallelism"] = "many"
    assert "parallelism: expected an integer" in bench.reload()


def test_a_scheduler_that_takes_no_version_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, posted = Bench(tmp_path), list[Any]()
    monkeypatch.setattr(module, "_PATIENCE", 0.001)
    monkeypatch.setattr(module, "_HAND_OVER", 0.01)
    late = Reloader(read=bench.read, stager=bench.stager, controller=bench.controller, post=posted.append, listeners=[])
    running = bench.running
    bench.guest.write_bytes(wasm("v2"))
    assert "did not take the new version in time" in late.reload("test")
    for action in posted:
        action()  # too late: nothing happens
    assert bench.running is running


class Tags:
    """Sources with one meaning for all tags."""

    def __init__(self) -> None:
        self.meaning = "sha256:new"
        self.is_away = False

    def resolve(self, source: str) -> str:
        if self.is_away:
            raise GuestLoadError("away")
        return self.meaning


@pytest.fixture
def tagged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Bench, ConfigChanges, Tags]:
    bench, tags = Bench(tmp_path), Tags()
    monkeypatch.setattr(module, "is_tag_followed", lambda _settings: True)
    monkeypatch.setattr(bench.stager, "sources", lambda _config: tags)
    return bench, ConfigChanges("", bench.controller, bench.stager, bench.ledger), tags


def test_a_tag_with_another_meaning_is_a_change(tagged: tuple[Bench, ConfigChanges, Tags]) -> None:
    bench, changes, tags = tagged
    assert list(changes.in_tags()) == [str(bench.guest)]
    release = bench.running.version.release_of("policy")
    assert release is not None
    tags.meaning = release.reference
    assert list(changes.in_tags()) == []


def test_a_tag_that_cannot_be_resolved_is_told_once(
    tagged: tuple[Bench, ConfigChanges, Tags], caplog: pytest.LogCaptureFixture
) -> None:
    _, changes, tags = tagged
    tags.is_away = True
    for _ in range(3):
        assert list(changes.in_tags()) == []
    assert caplog.text.count("Tag not checked") == 1


def test_files_of_the_configuration_and_its_guests_are_watched(tmp_path: Path) -> None:
    bench, file = Bench(tmp_path), tmp_path / "config.yaml"
    file.write_text("one")
    changes = ConfigChanges(str(file), bench.controller, bench.stager, bench.ledger)
    assert changes.interval == 60.0
    file.write_text("another")
    bench.guest.write_bytes(wasm("v2"))
    assert sorted(changes.in_files()) == sorted([str(file), str(bench.guest)])


def test_watching_can_be_switched_off(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.document["reload"] = {"watch": False}
    assert bench.reload() == ""
    assert ConfigChanges("", bench.controller, bench.stager, bench.ledger).interval is None
