"""The command line of the benchmarks, run inside the test process."""

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
