"""Scheduler layer: plan, figures, and small runs in memory."""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubewasp.errors import KubewaspError
from tools.bench import contenders, embedded_layer, real_layer, scheduler_layer
from tools.bench.contenders import Contender
from tools.bench.embedded_run import run
from tools.bench.figures import (
    Figures,
    RunError,
    TooSlowError,
    algorithm_mean,
    histogram,
    histogram_quantile,
    measurements,
    quantile,
)
from tools.bench.guests import Unavailable
from tools.bench.model import Measurement, Skipped
from tools.bench.scheduler_layer import Case, Plan
from tools.bench.workload_list import WORKLOADS, workload

NONE, WASM = Contender("kubewasp"), Contender("kubewasp", "wasm-1")
METRICS = """\
# TYPE scheduler_scheduling_attempt_duration_seconds histogram
scheduler_scheduling_attempt_duration_seconds_bucket{profile="p",result="scheduled",le="0.001"} 50
scheduler_scheduling_attempt_duration_seconds_bucket{profile="p",result="scheduled",le="0.002"} 80
scheduler_scheduling_attempt_duration_seconds_bucket{profile="p",result="scheduled",le="+Inf"} 90
scheduler_scheduling_attempt_duration_seconds_bucket{le="0.001",profile="p",result="unschedulable"} 0
scheduler_scheduling_attempt_duration_seconds_bucket{le="0.002",profile="p",result="unschedulable"} 10
scheduler_scheduling_attempt_duration_seconds_bucket{le="+Inf",profile="p",result="unschedulable"} 10.0
scheduler_scheduling_attempt_duration_seconds_sum{profile="p",result="scheduled"} 0.5
scheduler_scheduling_algorithm_duration_seconds_bucket{le="0.001"} 1
scheduler_scheduling_algorithm_duration_seconds_sum 0.25
scheduler_scheduling_algorithm_duration_seconds_count 100
"""


def figures(rate: float = 100.0) -> Figures:
    return Figures(rate, {0.5: 0.001, 0.9: 0.002, 0.99: 0.003}, 0.0005, 0.004, 2**20)


# ---------------------------------------------------------------------- figures


def test_attempts_of_all_results_are_counted_together() -> None:
    assert histogram(METRICS) == {0.001: 50, 0.002: 90, math.inf: 100}


@pytest.mark.parametrize(("share", "seconds"), [(0.25, 0.0005), (0.5, 0.001), (0.7, 0.0015), (0.99, 0.002)])
def test_a_quantile_lies_where_prometheus_puts_it(share: float, seconds: float) -> None:
    assert histogram_quantile(share, histogram(METRICS)) == pytest.approx(seconds)


def test_a_scheduler_that_tried_nothing_is_an_error() -> None:
    with pytest.raises(RunError, match="no samples"):
        histogram_quantile(0.5, histogram(""))
    with pytest.raises(RunError, match="no samples"):
        algorithm_mean("")


def test_the_time_to_choose_a_node_is_the_mean() -> None:
    assert algorithm_mean(METRICS) == 0.0025


def test_quantiles_of_values_are_values() -> None:
    assert [quantile(share, [5.0, 1.0, 4.0, 2.0, 3.0]) for share in (0.5, 0.9, 0.99)] == [3.0, 5.0, 5.0]


def test_figures_have_one_value_a_repetition() -> None:
    found = {one.metric: one for one in measurements({"nodes": 5}, [figures(100), figures(200)])}
    assert found["rate"].values == (100, 200)
    assert (found["rate"].better, found["cpu"].better) == ("higher", "lower")
    assert found["attempt_p99"].values == (3, 3)
    assert found["cpu"].values == (4, 4)
    assert {one.layer for one in found.values()} == {"scheduler"}


# ---------------------------------------------------------------------- the plan


def test_the_full_plan_has_every_workload_in_both_places() -> None:
    cases = Plan.of().cases
    assert {case.workload for case in cases if case.where == "real"} == set(WORKLOADS)
    assert {case.workload for case in cases if case.where == "embedded"} == set(WORKLOADS)
    assert {case.nodes for case in cases if case.workload == "basic"} == {500, 5000}
    assert all(
        contender.scheduler == "kubewasp" for case in cases if case.where == "embedded" for contender in case.contenders
    )


def test_a_place_and_workloads_can_be_chosen() -> None:
    cases = Plan.of(places=["real"], workloads=["gated", "basic"]).cases
    assert [(case.where, case.workload, case.nodes) for case in cases] == [
        ("real", "basic", 500),
        ("real", "gated", 500),
        ("real", "basic", 5000),
    ]


def test_a_quick_plan_is_small() -> None:
    assert {(case.workload, case.nodes, case.pods) for case in Plan.of(quick=True).cases} == {("basic", 100, 300)}
    assert {case.workload for case in Plan.of(quick=True, workloads=["gated"]).cases} == {"gated"}


def test_what_is_close_is_measured_more_often() -> None:
    other = Contender("kube-scheduler")
    case = Case("real", "basic", 10, 20, (other, NONE, WASM), 2, close=(NONE, WASM), more=3)
    assert list(case.rounds()) == [(other, NONE, WASM), (NONE, WASM, other), (NONE, WASM), (WASM, NONE), (NONE, WASM)]
    assert [case.times(contender) for contender in (other, NONE, WASM)] == [2, 5, 5]


def test_what_bars_are_set_for_is_measured_more_often() -> None:
    for case in Plan.of().cases:
        assert bool(case.more) == (case.workload == "basic")
        assert set(case.close) <= set(case.contenders)


def test_an_unknown_workload_is_told_with_those_there_are() -> None:
    with pytest.raises(KubewaspError, match="no workload 'basik'; there are basic, node-affinity"):
        Plan.of(workloads=["basik"])


# ---------------------------------------------------------------------- measuring


@pytest.fixture
def told() -> list[str]:
    return []


def test_contenders_take_turns_and_steps_are_counted(monkeypatch: pytest.MonkeyPatch, told: list[str]) -> None:
    monkeypatch.setattr(embedded_layer, "figures", lambda *_: figures())
    plan = Plan((Case("embedded", "basic", 5, 5, (NONE, Contender("kubewasp", "builtin")), 3),))

    found = [one for one in scheduler_layer.measure(told.append, plan) if isinstance(one, Measurement)]

    assert len(told) == scheduler_layer.steps(plan) == 7
    assert ["builtin" in text for text in told[1:]] == [False, True, True, False, False, True]
    assert {len(one.values) for one in found} == {3}
    keys = {"where", "workload", "scheduler", "plugins", "nodes"}
    assert all(set(one.case) == keys for one in found)


def test_a_contender_that_is_too_slow_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, told: list[str]
) -> None:
    def too_slow(*_arguments: object) -> Figures:
        raise TooSlowError("3 of 5 pods were bound after 180 s")

    monkeypatch.setattr(embedded_layer, "figures", too_slow)
    plan = Plan((Case("embedded", "basic", 5, 5, (NONE,), 3),))

    found = list(scheduler_layer.measure(told.append, plan))

    assert len(told) == scheduler_layer.steps(plan)
    assert Skipped("scheduler", "embedded, basic, 5 nodes, kubewasp", "3 of 5 pods were bound after 180 s") in found
    assert not [one for one in found if isinstance(one, Measurement)]


def test_what_cannot_be_had_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch, told: list[str]) -> None:
    def no_servers() -> Path:
        raise RuntimeError("there is no Go")

    def no_guests(plugins: str) -> None:
        if plugins == "wasm-1":
            raise Unavailable("there is no Go here either")

    monkeypatch.setattr(scheduler_layer.build, "programs", no_servers)
    monkeypatch.setattr(contenders, "compile_guests", no_guests)
    monkeypatch.setattr(embedded_layer, "figures", lambda *_: figures())
    cases = (Case("embedded", "basic", 5, 5, (NONE, WASM), 2), Case("real", "basic", 5, 5, (NONE,), 2))

    found = list(scheduler_layer.measure(told.append, Plan(cases)))

    assert len(told) == scheduler_layer.steps(Plan(cases))
    assert Skipped("scheduler", "real", "there is no Go") in found
    assert Skipped("scheduler", "wasm-1", "there is no Go here either") in found
    assert {one.case["plugins"] for one in found if isinstance(one, Measurement)} == {"none"}


def test_cases_with_as_many_nodes_share_an_api_server(monkeypatch: pytest.MonkeyPatch, told: list[str]) -> None:
    opened = []

    @contextmanager
    def api_server(folder: Path) -> Iterator[None]:
        opened.append(folder)
        yield

    @contextmanager
    def runs(case: Case, _api: object, _folder: Path) -> Iterator[scheduler_layer.Run]:
        yield lambda _contender: figures()

    monkeypatch.setattr(scheduler_layer.build, "programs", Path)
    monkeypatch.setattr(real_layer, "api_server", api_server)
    monkeypatch.setattr(scheduler_layer, "_real_runs", runs)
    cases = [Case("real", name, nodes, 5, (NONE,), 1) for name, nodes in (("basic", 5), ("gated", 5), ("basic", 50))]

    assert len(list(scheduler_layer.measure(told.append, Plan(tuple(cases))))) == 3 * len(measurements({}, [figures()]))
    assert len(opened) == 2


# ---------------------------------------------------------------------- runs in memory


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_runs_in_memory(name: str) -> None:
    done = run(workload(name, nodes=20, pods=30), contenders.profile(NONE))
    assert len(done.attempts) >= done.pods > 0.7 * workload(name, nodes=20, pods=30).measured.count
    assert 0 < sum(done.attempts) <= done.seconds
    assert done.memory > 2**20


@pytest.mark.parametrize("plugins", ["none", "builtin", "wasm-1", "wasm-1-unsigned", "wasm-2", "wasm-5"])
def test_every_contender_runs_in_a_process_of_its_own(plugins: str, tmp_path: Path) -> None:
    found = embedded_layer.figures(workload("basic", 20, 10), Contender("kubewasp", plugins), tmp_path, 60)
    assert found.rate > 0
    assert found.attempts[0.5] <= found.attempts[0.99]


def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with pytest.raises(TooSlowError, match=r"not done after 0\.01 s"):
        embedded_layer.figures(workload("basic", 20, 10), NONE, tmp_path, 0.01)


def test_a_run_that_comes_out_wrong_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(contenders, "profile", lambda _contender: {"schedulerName": "somebody-else"})
    with pytest.raises(RunError, match="0 of 10 measured pods are bound"):
        embedded_layer.figures(workload("basic", 20, 10), NONE, tmp_path, 60)


def test_profiles_name_the_plugins_of_a_contender() -> None:
    profile = contenders.profile(Contender("kubewasp", "wasm-5"))
    names = [plugin["name"] for plugin in profile["plugins"]["multiPoint"]["enabled"]]
    assert len(set(names)) == 5
    assert [plugin["name"] for plugin in profile["pluginConfig"]] == names
    assert json.loads(json.dumps(profile)) == profile
