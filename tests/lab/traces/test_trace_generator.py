"""Generated traces: repeatable, with the means that were asked for, and readable as traces."""

import csv
from pathlib import Path

import pytest

from kubewasp.lab.traces.trace import Trace, in_order
from kubewasp.lab.traces.trace_errors import TraceError
from kubewasp.lab.traces.trace_generator import COLUMNS, GPU_SIZES, SIZES, Arrivals, Durations, GeneratedTrace
from kubewasp.lab.traces.trace_map import PRESETS

ARRIVALS: tuple[Arrivals, ...] = ("poisson", "diurnal", "bursts")
DURATIONS: tuple[Durations, ...] = ("exponential", "heavy", "constant")


@pytest.mark.parametrize("arrivals", ARRIVALS)
def test_pods_arrive_in_order_with_the_rate(arrivals: Arrivals) -> None:
    rows = list(GeneratedTrace(20_000, rate=0.1, arrivals=arrivals).rows())
    times = [float(row[3]) for row in rows]
    assert times == sorted(times)
    assert 20_000 / times[-1] == pytest.approx(0.1, rel=0.15)


@pytest.mark.parametrize("durations", DURATIONS)
def test_durations_have_the_mean(durations: Durations) -> None:
    rows = GeneratedTrace(50_000, durations=durations, mean_duration=600).rows()
    seconds = [float(row[4]) for row in rows]
    assert sum(seconds) / len(seconds) == pytest.approx(600, rel=0.35 if durations == "heavy" else 0.02)


def test_nights_have_fewer_pods_than_days() -> None:
    times = [float(row[3]) % 86_400 for row in GeneratedTrace(20_000, rate=0.1, arrivals="diurnal").rows()]
    day = sum(6 * 3600 < at < 18 * 3600 for at in times)
    assert day > 2 * (len(times) - day)


def test_bursts_come_at_once() -> None:
    times = [row[3] for row in GeneratedTrace(5_000, arrivals="bursts").rows()]
    assert len(set(times)) < 500


def test_the_same_seed_is_the_same_trace() -> None:
    one, same, other = (list(GeneratedTrace(100, seed=seed, namespaces=3).rows()) for seed in (1, 1, 2))
    assert one == same != other
    assert {row[1] for row in one} == {"team-0", "team-1", "team-2"}


def test_a_generated_trace_is_read_as_any_other(tmp_path: Path) -> None:
    path = tmp_path / "pods.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *GeneratedTrace(2000, sizes=(*SIZES, *GPU_SIZES)).rows()])
    pods = list(in_order(Trace(path, PRESETS["generic"]).pods(), str(path)))
    assert len(pods) == 2000
    requests = [pod.spec["containers"][0]["resources"]["requests"] for pod in pods]
    assert {amounts.get("nvidia.com/gpu") for amounts in requests} == {None, "1", "2", "8"}


@pytest.mark.parametrize("bad", [{"rate": 0.0}, {"mean_duration": -1.0}, {"rate": float("nan")}])
def test_a_workload_that_cannot_be_is_one_error(bad: dict[str, float]) -> None:
    with pytest.raises(TraceError, match=r"expected a .* above 0"):
        GeneratedTrace(1, **bad)  # type: ignore[arg-type]
