"""The command line of the benchmarks, run inside the test process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import command_line
from tests.command_line import Command
from tools.bench.__main__ import main


@pytest.fixture(autouse=True)
def _terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    command_line.fixed_terminal(monkeypatch)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return command_line.command(main, "bench", monkeypatch, capsys)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a file of that name and content."""

    def run(name: str, content: str) -> Path:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return run
