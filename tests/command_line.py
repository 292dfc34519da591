"""A command line run inside the test process: output and exit code."""

import json
import re
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
        """The text of a usage error, which is one line and names the help to read."""
        assert (self.code, self.out) == (2, "")
        found = re.fullmatch(r"error: (.+) \(see .+ --help\)\n", self.err)
        assert found, self.err
        return found[1]


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


def examples(help_text: str) -> list[str]:
    """Commands of the section `Example` of a help, each in one line."""
    section = re.search(r"^Examples?:\n((?:  .+\n)+)", help_text, re.MULTILINE)
    assert section, help_text
    return [" ".join(line.split()) for line in section[1].replace("\\\n", "").splitlines()]


def fixed_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns and no colours. CI sets a variable that switches colours on."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
