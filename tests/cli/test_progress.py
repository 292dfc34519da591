"""Progress on the terminal."""

import pytest

from kubewasp.cli.progress import Progress
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
