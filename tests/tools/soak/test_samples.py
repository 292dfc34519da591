"""Sampler: texts of /proc and /metrics, and the file of a recording."""

import os

import pytest

from tests.tools.soak.example import GOOD, SETTINGS, recording
from tools.soak.samples import FORMAT, Outcome, ProcessFigures, Recording, as_line, parse_process, read_process, totals

STATUS = """Name:\tkube wasp) (x
Umask:\t0022
VmHWM:\t  300000 kB
VmRSS:\t  200000 kB
Threads:\t11
Seccomp_filters:\t0
"""
# A name may have blanks and parentheses.
STAT = (
    "42 (kube wasp) (x) S 1 42 42 0 -1 4194560 99 0 0 0 150 50 7 8 20 0 11 0 123456 1000000 48828 18446744073709551615"
)
METRICS = """# TYPE kubewasp_guest_failures_total counter
kubewasp_guest_failures_total{plugin="A",hook="filter",kind="trap"} 3.0
kubewasp_guest_failures_total{plugin="B",hook="score",kind="trap"} 4.0
kubewasp_guest_failures_total{kind="time\\"out",plugin="{b} kind="} 1.5e3
kubewasp_guest_failures_totals{kind="trap"} 100.0
kubewasp_guest_failures_total{plugin="without"} 100.0
process_open_fds 12.0
"""


def test_figures_of_a_process_come_from_its_status_and_stat() -> None:
    found = parse_process(STATUS, STAT, 17, ticks=100)
    assert found == ProcessFigures(memory=204_800_000, threads=11, descriptors=17, cpu=2.0, started=123456)


def test_the_figures_of_this_process_are_plausible() -> None:
    found, again = read_process(os.getpid()), read_process(os.getpid())
    assert found.memory > 10 * 2**20
    assert found.threads >= 1
    assert found.descriptors >= 3
    assert 0 < found.cpu <= again.cpu
    assert found.started == again.started


def test_a_metric_is_added_up_by_a_label() -> None:
    assert totals(METRICS, "kubewasp_guest_failures_total", "kind") == {"trap": 7.0, 'time\\"out': 1500.0}
    assert totals(METRICS, "kubewasp_guest_failures_total", "hook") == {"filter": 3.0, "score": 4.0}
    assert totals("", "kubewasp_guest_failures_total", "kind") == {}


def test_a_recording_is_the_same_after_writing_and_reading() -> None:
    made = recording()
    lines = [as_line(SETTINGS), *map(as_line, made.samples), as_line(GOOD)]
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)
    read = Recording.read(lines)
    assert read.samples == made.samples
    assert read.outcome == made.outcome
    assert read.settings == {"format": FORMAT, **SETTINGS}


def test_names_of_pods_are_kept_in_a_recording() -> None:
    read = Recording.read([as_line(SETTINGS), as_line(Outcome(unbound=("a", "b")))])
    assert read.outcome == Outcome(unbound=("a", "b"))


def test_a_recording_of_a_killed_soak_has_no_outcome() -> None:
    assert Recording.read([as_line(SETTINGS), as_line(recording().samples[0])]).outcome is None


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["text"],
        ["[]"],
        ["{}"],
        ['{"settings":{}}'],
        ['{"settings":{"format":99}}'],
        [as_line(SETTINGS), '{"sample":{"seconds":1}}'],
        [as_line(SETTINGS), '{"sample":[]}'],
        [as_line(SETTINGS), '{"outcome":{}}'],
    ],
)
def test_another_file_is_no_recording(lines: list[str]) -> None:
    with pytest.raises(ValueError, match=r"."):
        Recording.read(lines)
