"""Results by content: kept, found again, never half written."""

from pathlib import Path

import pytest

from kubewasp.lab.studies.run_store import RunIdentity, RunRecord, RunStore, write_file

IDENTITY = RunIdentity("sha256:a", "sha256:b", 7)
RECORD = RunRecord(IDENTITY, {"pods.placed": 3, "wait.mean": 0.5}, 1.5)


def file_of(folder: Path) -> Path:
    [found] = folder.rglob("*.json")
    return found


def test_a_result_is_found_by_its_identity(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    assert store.get(IDENTITY) is None
    store.put(RECORD)
    assert store.get(IDENTITY) == RECORD


@pytest.mark.parametrize(
    "other",
    [
        RunIdentity("sha256:x", "sha256:b", 7),
        RunIdentity("sha256:a", "sha256:x", 7),
        RunIdentity("sha256:a", "sha256:b", 8),
    ],
)
def test_another_input_configuration_or_seed_is_another_result(tmp_path: Path, other: RunIdentity) -> None:
    store = RunStore(tmp_path)
    store.put(RECORD)
    assert store.get(other) is None


def test_another_version_is_another_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RunStore(tmp_path).put(RECORD)
    monkeypatch.setattr("kubewasp.lab.studies.run_store.__version__", "99.0")
    assert RunStore(tmp_path).get(IDENTITY) is None


def test_results_of_other_folders_are_read(tmp_path: Path) -> None:
    RunStore(tmp_path / "there").put(RECORD)
    (tmp_path / "empty").mkdir()
    store = RunStore(tmp_path / "here", [tmp_path / "empty", tmp_path / "there"])
    assert store.get(IDENTITY) == RECORD


def test_results_in_lines_are_read_among_others(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"warning: x\n{}\n\xff\n" + RECORD.line() + b'{"key":"cut off')
    assert RunStore(tmp_path / "here", [tmp_path / "log"]).get(IDENTITY) == RECORD


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"of": 1}', b"\xff"])
def test_a_damaged_file_is_no_result(tmp_path: Path, content: bytes) -> None:
    store = RunStore(tmp_path)
    store.put(RECORD)
    file_of(tmp_path).write_bytes(content)
    assert store.get(IDENTITY) is None
    store.put(RECORD)
    assert store.get(IDENTITY) == RECORD


def test_a_file_of_another_identity_is_no_result(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    store.put(RECORD)
    other = RunIdentity("sha256:other", "sha256:b", 7)
    place = tmp_path / "runs" / other.key[:2] / f"{other.key}.json"
    place.parent.mkdir(exist_ok=True)
    file_of(tmp_path).rename(place)
    assert store.get(other) is None


def test_a_failed_write_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_file(path, b"old")
    with pytest.raises(TypeError):
        write_file(path, "new")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
