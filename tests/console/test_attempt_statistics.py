"""Statistics of a running scheduler's attempts."""

import pytest

from kubewasp.console.attempt_statistics import AttemptStatistics
from kubewasp.console.console_source import Change
from kubewasp.k8s.pods import Pod
from kubewasp.rollout.rollout_events import RELOADED, RolloutEvent
from kubewasp.scheduler.attempt import Attempt
from kubewasp.simulation.embedded_cluster import SimulatedClock
from tests.plugins.building import make_pod as pod


def statistics() -> tuple[AttemptStatistics, SimulatedClock]:
    clock = SimulatedClock(1_000_000.0)
    clock.advance_to(1000)
    return AttemptStatistics(clock), clock


def placed(found: AttemptStatistics, item: Pod, seconds: float = 0.001) -> None:
    """As of a real cluster: the choice, and later the outcome of the binding."""
    found.attempted(Attempt(item, node="n1", is_binding=True, seconds=seconds))
    found.attempted(Attempt(item, node="n1"))


def test_outcomes_are_counted_once() -> None:
    found, _ = statistics()
    placed(found, pod("a"))
    found.attempted(Attempt(pod("b"), node="n1", is_waiting=True, seconds=0.001))
    found.attempted(Attempt(pod("c"), message="no room", seconds=0.002))
    found.attempted(Attempt(pod("d"), message="broken", is_error=True))
    assert (found.scheduled, found.unschedulable, found.error) == (1, 1, 1)
    assert [(change.kind, change.pod, change.text) for change in found.recent(10)] == [
        ("scheduled", "default/a", "placed on n1"),
        ("unschedulable", "default/c", "no room"),
        ("error", "default/d", "broken"),
    ]


def test_the_last_changes_of_each_kind_are_kept() -> None:
    found, clock = statistics()
    found.attempted(Attempt(pod("first"), message="no room", victims=(pod("victim", node="n2"),)))
    for number in range(200):
        clock.advance_to(1001 + number)
        placed(found, pod(f"p{number}"))
    recent = found.recent(100)
    assert len(recent) == 52
    assert recent[0].pod == "default/p199"
    assert {change.kind for change in recent} == {"scheduled", "unschedulable", "preempted"}
    assert found.recent(1) == recent[:1]
    assert recent[0].time == 1_001_200.0


def test_other_changes_and_rollouts_are_among_them() -> None:
    found, clock = statistics()
    found.noted([Change(clock.wall(), "node-added", "node n9 was added", node="n9")])
    found.happened(RolloutEvent(RELOADED, "reloaded", plugin="policy"))
    assert [(change.kind, change.node, change.plugin) for change in found.recent(9)] == [
        ("node-added", "n9", ""),
        ("rollout", "", "policy"),
    ]
    assert found.changes == 2


@pytest.mark.parametrize("seconds", [1e-7, 1e-6, 0.000_25, 0.003, 0.1, 2.0, 4000.0])
def test_latency_is_known_within_a_twelfth(seconds: float) -> None:
    found, _ = statistics()
    for _ in range(10):
        placed(found, pod("a"), seconds)
    (median,) = found.latency(0.5)
    assert median is not None
    if 1e-6 <= seconds <= 2000:
        assert median == pytest.approx(seconds, rel=1 / 12)


def test_quantiles_are_of_the_last_five_minutes() -> None:
    found, clock = statistics()
    assert found.latency(0.5, 0.99) == [None, None]
    for _ in range(99):
        placed(found, pod("a"), 1.0)
    clock.advance_to(1301)
    for _ in range(98):
        placed(found, pod("a"), 0.001)
    for _ in range(2):
        placed(found, pod("a"), 0.1)
    p50, p99 = found.latency(0.5, 0.99)
    assert p50 == pytest.approx(0.001, rel=1 / 12)
    assert p99 == pytest.approx(0.1, rel=1 / 12)


def test_the_rate_is_that_of_the_last_seconds() -> None:
    found, clock = statistics()
    for second in range(60):
        clock.advance_to(1000 + second)
        for _ in range(7):
            placed(found, pod("a"))
    clock.advance_to(1060)
    assert found.rate() == pytest.approx(7)
    assert found.is_busy()
    clock.advance_to(1200)
    assert found.rate() == 0
    assert not found.is_busy()


def test_series_have_figures_by_five_seconds_of_ten_minutes() -> None:
    found, clock = statistics()
    for step in range(200):
        clock.advance_to(1000 + 5 * step)
        found.sample(step, 2 * step)
        placed(found, pod("a"))
    series = found.series()
    assert len(series.time) == 119
    assert series.placed[-1] == 198
    assert series.pending[-1] == 396
    assert set(series.rate) == {0.2}
    assert series.time[-1] == 1_000_000 + 1995


def test_memory_is_bounded() -> None:
    found, clock = statistics()
    for number in range(5000):
        clock.advance_to(1000 + number)
        found.attempted(Attempt(pod("a"), message="x" * 10_000))
    assert len(found.recent(1000)) == 50
    assert all(len(change.text) <= 4096 for change in found.recent(100))
