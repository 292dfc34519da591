"""The `kubewasp` command, run inside the test process."""

import gc
import io
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kubewasp.cli.main import main
from tests import command_line
from tests.command_line import Command as Kubewasp
from tests.command_line import Ended

__all__ = ["Answers", "Ended", "Kubewasp"]

Answers = Callable[..., list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def _terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    command_line.fixed_terminal(monkeypatch)


@pytest.fixture(autouse=True)
def _process_as_before() -> Iterator[None]:
    """A server sets up logging and the collector for its process, which here is that of all tests."""
    root, thresholds = logging.getLogger(), gc.get_threshold()
    handlers, level, ours = list(root.handlers), root.level, logging.getLogger("kubewasp").level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("kubewasp").setLevel(ours)
    gc.set_threshold(*thresholds)


@pytest.fixture
def kubewasp(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kubewasp:
    return command_line.command(main, "kubewasp", monkeypatch, capsys)


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | bytes], None]:
    """Sets the standard input of the next commands."""

    def run(content: str | bytes) -> None:
        given = content.encode() if isinstance(content, str) else content
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))

    return run


@pytest.fixture
def answers(kubewasp: Kubewasp) -> Answers:
    """`plugin call` with the given arguments, which must succeed: the list that it prints."""

    def run(*arguments: object) -> list[dict[str, Any]]:
        ended = kubewasp("plugin", "call", *arguments, "-o", "json")
        assert (ended.code, ended.err) == (0, "")
        calls = ended.json
        assert isinstance(calls, list)
        return calls

    return run
