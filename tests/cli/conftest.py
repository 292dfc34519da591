"""The command, run inside the test process: what it printed and how it ended."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from kubewasp.cli.main import main


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def usage_error(self) -> str:
        """The text of a usage error, without the frame around it."""
        assert (self.code, self.out) == (2, "")
        framed = [line.strip("│ ") for line in self.err.splitlines() if line.startswith("│")]
        return " ".join(framed)


class Kubewasp(Protocol):
    def __call__(self, *arguments: object) -> Ended: ...


Answers = Callable[..., list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def _terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"):  # CI sets them, and then everything is in colour
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("typer.rich_utils.FORCE_TERMINAL", None)


@pytest.fixture
def kubewasp(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kubewasp:
    def run(*arguments: object) -> Ended:
        monkeypatch.setattr("sys.argv", ["kubewasp", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Ended(int(ended.value.code or 0), printed.out, printed.err)

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


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a file of that name and content."""

    def run(name: str, content: str) -> Path:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return run
