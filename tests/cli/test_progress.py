"""Progress on stderr: a spinner on a terminal, one line elsewhere."""

import io
import re
import sys

import pytest

from kubewasp.cli.progress import working


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_a_spinner_and_the_elapsed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with working("building [mine]"):
        pass
    assert "\x1b[" in stream.getvalue()
    assert re.search(r"building \[mine\] … .*0:00:0\d", stream.getvalue())


def test_elsewhere_it_is_one_line_that_ends_with_the_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    with working("building mine"):
        assert stream.getvalue() == "building mine …"
    assert re.fullmatch(r"building mine … \d+\.\d s\n", stream.getvalue())


def test_the_line_of_a_failure_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    with pytest.raises(KeyError), working("building mine"):
        raise KeyError
    assert re.fullmatch(r"building mine … failed after \d+\.\d s\n", stream.getvalue())
