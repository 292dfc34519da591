"""Each capability, granted and denied, for a C program and one in standard Go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kubewasp.wasi.command import Ending
from tests.wasi.running import Ran, gopher, probe

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Program = Callable[..., Ran]

PROGRAMS = pytest.mark.parametrize("program", [probe, gopher], ids=["c", "go"])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "file.txt").write_text("content")
    return folder


@PROGRAMS
def test_a_file_in_a_granted_directory_is_read(program: Program, data: Path) -> None:
    ran = program("read", "/in/file.txt", dirs=[f"{data}:/in:ro"])
    assert (ran.code, ran.stdout, ran.denied) == (0, "content", [])


@PROGRAMS
def test_the_name_of_a_directory_is_as_given_if_no_other_is(program: Program, data: Path) -> None:
    assert program("read", f"{data}/file.txt", dirs=[f"{data}:ro"]).stdout == "content"


@PROGRAMS
def test_the_current_directory_is_granted_by_a_dot(
    program: Program, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data)
    assert program("read", "file.txt", dirs=[".:ro"]).stdout == "content"
    assert program("read", "data/file.txt", dirs=["../data:data:ro"]).stdout == "content"


@PROGRAMS
def test_the_root_and_the_current_directory_are_granted_together(
    program: Program, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data)
    for dirs in (["/:/", ".:."], [".:.", "/:/"], ["/:/:ro", ".:."], ["/:/:ro", ".:.:ro"]):
        ran = program("read", f"{data}/file.txt", dirs=dirs)
        assert (ran.code, ran.stdout) == (0, "content")
        assert program("read", "/proc/self/comm", dirs=dirs).stdout


def test_the_current_directory_is_where_go_starts_even_with_the_root(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data)
    assert gopher("read", "file.txt", dirs=["/:/", ".:."]).stdout == "content"


def test_the_current_directory_is_writable_in_a_root_that_is_not(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(data)
    dirs = ["/:/:ro", ".:."]
    assert probe("create", f"{data}/new.txt", dirs=dirs).code == 0
    assert probe("create", f"{data.parent}/new.txt", dirs=dirs).code == 1


@PROGRAMS
def test_a_file_is_not_there_without_a_grant_and_the_grant_is_named(program: Program, data: Path) -> None:
    ran = program("read", f"{data}/file.txt")
    assert (ran.code, ran.stdout) == (1, "")
    assert ran.denied == [f"denied read access to {data}/file.txt: not in a granted directory; add --dir {data}:ro"]


def test_a_grant_for_the_current_directory_is_named_where_the_file_is(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data)
    assert probe("read", "file.txt").denied == [
        "denied read access to /file.txt: not in a granted directory; add --dir .:ro"
    ]


def test_another_grant_does_not_help(data: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    ran = probe("read", f"{data}/file.txt", dirs=[f"{tmp_path}/other:ro"])
    assert ran.denied == [f"denied read access to {data}/file.txt: not in a granted directory; add --dir {data}:ro"]


@PROGRAMS
def test_a_directory_is_listed_if_it_is_granted(program: Program, data: Path) -> None:
    assert program("list", "/in", dirs=[f"{data}:/in:ro"]).stdout.split() == ["file.txt"]
    denied = program("list", str(data))
    assert denied.code == 1
    assert denied.denied == [f"denied read access to {data}: not in a granted directory; add --dir {data}:ro"]


def test_the_root_is_not_there_without_a_grant() -> None:
    for operation in ("list", "stat"):
        ran = probe(operation, "/")
        assert (ran.code, ran.stdout) == (1, "")


def test_a_file_is_made_in_a_directory_that_may_be_written(data: Path) -> None:
    assert probe("create", "/out/new", dirs=[f"{data}:/out"]).code == 0
    assert (data / "new").read_text() == "written"
    assert gopher("write", "/out/go", dirs=[f"{data}:/out"]).code == 0
    assert (data / "go").read_text() == "written"


@PROGRAMS
def test_a_file_that_should_be_made_without_a_grant_asks_for_one_that_may_be_written(
    program: Program, data: Path
) -> None:
    ran = program("create" if program is probe else "write", f"{data}/new")
    assert ran.code == 1
    assert ran.denied == [f"denied write access to {data}/new: not in a granted directory; add --dir {data}"]
    assert not (data / "new").exists()


@PROGRAMS
def test_variables_are_those_that_are_granted(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    assert program("env").stdout.strip() == ""
    assert program("env", environment={"A": "1", "B": "x y=z ü"}).stdout.split("\n")[:2] == ["A=1", "B=x y=z ü"]


@PROGRAMS
def test_arguments_are_handed_over_as_they_are(program: Program) -> None:
    assert program("args", "a b", "--", "", "-x", "ü").stdout == "a b\n--\n\n-x\nü\n"


@PROGRAMS
def test_standard_input_is_empty_unless_it_is_given(program: Program) -> None:
    assert program("stdin").stdout == ""
    content = bytes(range(32, 127)) * 4000
    assert program("stdin", stdin=content).stdout == content.decode()


def test_clocks_and_random_numbers_need_no_grant() -> None:
    assert probe("clock").code == 0
    assert probe("random").code == 0


@PROGRAMS
def test_a_program_may_sleep(program: Program) -> None:
    assert program("sleep", "20").outcome.seconds >= 0.02


@pytest.mark.parametrize("code", [0, 1, 3, 125, 126, 127, 200, 255])
def test_the_exit_code_is_the_programs(code: int) -> None:
    ran = probe("exit", str(code))
    assert (ran.outcome.ending, ran.code) == (Ending.EXITED, code)


def test_a_crash_has_a_code_of_its_own_and_says_where() -> None:
    ran = probe("abort")
    assert (ran.outcome.ending, ran.code) == (Ending.TRAPPED, 134)
    assert ran.outcome.message.startswith("wasm trap: wasm `unreachable` instruction executed\nwasm stack trace:\n")


def test_a_panic_of_go_is_its_exit_code_2() -> None:
    ran = gopher("panic", "at the disco")
    assert ran.code == 2
    assert ran.stderr.startswith("panic: at the disco")
