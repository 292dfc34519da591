"""Progress on stderr: a bar for phases; for one step a spinner on a terminal, one line elsewhere."""

import io
import re
import sys

import pytest

from kubewasp.cli.progress import Progress, working
from kubewasp.scheduler.attempt import Attempt
from tests.plugins.building import make_pod


def test_nothing_is_shown_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        progress.phase("loading")
        progress.show()
        assert progress.line is None
    assert capsys.readouterr().err == ""


def test_the_bar_counts_placed_pods_of_the_current_phase() -> None:
    placed = Attempt(make_pod("p"), node="a")
    with Progress(is_shown=True, delay=3600) as progress:
        progress.phase("loading")
        assert progress.line is None  # not before it is shown
        progress.show()
        assert progress.line == ("loading", 0, None)
        progress.phase("scheduling", 10)
        for attempt in (placed, Attempt(make_pod("q")), Attempt(make_pod("r"), node="a", is_waiting=True), placed):
            progress.attempted(attempt)
        assert progress.line == ("scheduling", 2, 10)
        progress.phase("scheduling the baseline", 10)
        assert progress.line == ("scheduling the baseline", 0, 10)


def test_nothing_appears_after_the_end() -> None:
    with Progress(is_shown=True, delay=3600) as progress:
        progress.phase("loading")
    progress.show()
    assert progress.line is None


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
