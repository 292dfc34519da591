import io
from pathlib import Path

import pytest

from kubewasp.input_file import StandardInput, input_file


def test_standard_input_is_read_once_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"content")))
    file = StandardInput()
    for _ in range(2):
        with file.open("rb") as opened:
            assert opened.read() == b"content"


def test_relative_paths_in_standard_input_start_at_the_working_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (StandardInput().parent / "p.wasm").absolute() == tmp_path / "p.wasm"


def test_closed_standard_input_is_an_os_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(OSError, match="is closed"):
        StandardInput().open("rb")


def test_a_text_is_a_path_and_a_file_is_itself() -> None:
    file = StandardInput()
    assert input_file("a.yaml") == Path("a.yaml")
    assert input_file(file) is file
