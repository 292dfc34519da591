"""Output files that appear at once."""

import stat
from pathlib import Path
from typing import IO

import pytest

from kubewasp.cli.output_file import replaced


def test_the_file_is_there_at_the_end_with_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    with replaced(target, 0o640) as file:
        file.write(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_after_a_failure_the_old_file_is_there_and_no_other(tmp_path: Path) -> None:
    def fail(file: IO[bytes]) -> None:
        file.write(b"half")
        raise ZeroDivisionError

    target = tmp_path / "out"
    target.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), replaced(target) as file:
        fail(file)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out", b"old")]


def test_a_folder_that_is_not_there_is_an_error_with_the_name_of_the_file(tmp_path: Path) -> None:
    target = tmp_path / "none" / "out"
    with pytest.raises(FileNotFoundError) as caught, replaced(target):
        pass
    assert caught.value.filename == str(target)
