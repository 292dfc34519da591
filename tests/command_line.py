"""A command line run inside the test process: output and exit code."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import pytest


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


class Command(Protocol):
    def __call__(self, *arguments: object) -> Ended: ...


def command(
    main: Callable[[], None], prog: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """The command line of `main`; it must end with SystemExit."""

    def run(*arguments: object) -> Ended:
        monkeypatch.setattr("sys.argv", [prog, *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Ended(int(ended.value.code or 0), printed.out, printed.err)

    return run


def fixed_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns and no colours. CI sets variables that switch colours on."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("typer.rich_utils.FORCE_TERMINAL", None)
