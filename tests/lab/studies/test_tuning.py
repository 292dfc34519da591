"""Searches: a known optimum is found, constraints bind, the hold-out is not looked at, a seed repeats the search."""

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewasp.errors import KubewaspError
from kubewasp.input_file import HeldFile
from kubewasp.lab.studies import search_space, tuning_file, tuning_picture
from kubewasp.lab.studies.objectives import Constraint, Objective, dominates
from kubewasp.lab.studies.run_store import RunStore
from kubewasp.lab.studies.search_space import Choices, Floats, Integers, Parameter
from kubewasp.lab.studies.search_strategies import STRATEGIES, RandomStrategy
from kubewasp.lab.studies.tuning import TuningPlan, TuningResults, TuningRun, importance
from tests.lab.studies.inline_engine import InlineEngine

ROOT = Path(__file__).parents[3]
STRATEGY = {
    "name": "strategy",
    "plugin": "NodeResourcesFit",
    "field": "args.scoringStrategy.type",
    "choices": ["LeastAllocated", "MostAllocated"],
}
WEIGHT = {"name": "fit", "plugin": "NodeResourcesFit", "field": "weight", "from": 1, "to": 10}
BODY = {
    "kind": "Tuning",
    "inputs": [{"name": "cluster", "manifests": ["cluster.yaml"]}],
    "parameters": [WEIGHT, STRATEGY],
    "objectives": [{"minimize": "nodes.used"}],
    "constraints": ["pods.pending <= 0"],
    "budget": {"trials": 12},
}
NODE = {"apiVersion": "v1", "kind": "Node", "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}
POD = {"apiVersion": "v1", "kind": "Pod"}
REQUESTS = {"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "1", "memory": "2Gi"}}}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three nodes, and three pods that fit on one."""
    nodes = [NODE | {"metadata": {"name": f"node-{number}"}} for number in range(3)]
    pods = [POD | {"metadata": {"name": f"pod-{number}"}, "spec": REQUESTS} for number in range(3)]
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all([*nodes, *pods]))
    return tmp_path


def plan_of(folder: Path, **changes: Any) -> TuningPlan:
    content = yaml.safe_dump(BODY | changes).encode()
    tuning = tuning_file.load(HeldFile("tuning.yaml", content, folder))
    return TuningPlan.of(tuning, str)


def search(folder: Path, **changes: Any) -> TuningResults:
    plan = plan_of(folder, **changes)
    engine = InlineEngine({name: found.given for name, found in plan.inputs.items()})
    return TuningRun(plan, RunStore(folder / "out"), engine).run()


def parameters(results: TuningResults, number: int) -> Mapping[str, Any]:
    point = results.trials[number].point
    assert point is not None
    return {one.name: value for one, value in zip(results.plan.tuning.parameters, point, strict=True)}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_known_optimum_is_found(folder: Path, strategy: str) -> None:
    results = search(folder, strategy=strategy)
    best = results.best()
    assert best is not None
    assert parameters(results, best.number)["strategy"] == "MostAllocated"
    assert results.plan.standing(best, results.plan.training).values == (1.0,)
    assert results.plan.standing(results.trials[0], results.plan.training).values == (3.0,)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_violates_a_constraint_is_never_chosen(folder: Path, strategy: str) -> None:
    results = search(folder, strategy=strategy, constraints=["nodes.used >= 2"])
    assert any(results.plan.standing(trial, results.plan.training).violated for trial in results.trials)
    for trial, standing in [*results.complete(), *results.front()]:
        assert standing.is_feasible
        assert standing.values == (3.0,)
        assert trial.point is None or parameters(results, trial.number)["strategy"] == "LeastAllocated"


def test_without_a_trial_that_fulfils_the_constraints_there_is_no_best(folder: Path) -> None:
    results = search(folder, constraints=["nodes.used > 3"])
    assert results.best() is None
    assert results.front() == []


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_seed_repeats_the_search_and_nothing_is_done_twice(folder: Path, strategy: str) -> None:
    first = search(folder, strategy=strategy, seed=7)
    plan = plan_of(folder, strategy=strategy, seed=7)
    engine = InlineEngine({name: found.given for name, found in plan.inputs.items()})
    again = TuningRun(plan, RunStore(folder / "out"), engine).run()
    assert again.trials == first.trials
    assert engine.runs == 0


def test_another_seed_is_another_search(folder: Path) -> None:
    one, other = ([trial.point for trial in search(folder, seed=seed).trials] for seed in (1, 2))
    assert one != other


def test_several_objectives_give_a_front(folder: Path) -> None:
    objectives = [{"minimize": "nodes.used"}, {"minimize": "requested.busiest.cpu"}]
    results = search(folder, objectives=objectives, budget={"trials": 20})
    found = {standing.values for _, standing in results.front()}
    assert found == {(1.0, 0.75), (3.0, 0.25)}
    best = results.best()
    assert best is not None
    drawn = tuning_picture.svg(results)
    assert drawn.startswith("<svg ")
    assert drawn.count("<circle ") > len(results.trials)
    assert "<polyline " in drawn


def test_the_picture_of_one_objective_is_by_trial(folder: Path) -> None:
    drawn = tuning_picture.svg(search(folder))
    assert ">trial</text>" in drawn
    assert "<polyline " not in drawn


def test_only_the_base_and_the_best_run_on_the_hold_out(folder: Path) -> None:
    results = search(folder, seeds=2, holdOut={"seeds": 3})
    plan = results.plan
    assert plan.training == (("cluster", 0), ("cluster", 1))
    assert plan.held_out == (("cluster", 2), ("cluster", 3), ("cluster", 4))
    best = results.best()
    assert best is not None
    held = [trial.number for trial in results.trials if plan.standing(trial, plan.held_out).values is not None]
    assert held == sorted([0, best.number])


def test_inputs_may_be_held_out(folder: Path) -> None:
    inputs = [{"name": name, "manifests": ["cluster.yaml"]} for name in ("a", "b")]
    plan = plan_of(folder, inputs=inputs, holdOut={"inputs": ["b"]})
    assert (plan.training, plan.held_out) == ((("a", 0),), (("b", 0),))


def test_a_trace_may_be_split_by_time(folder: Path) -> None:
    traces = ROOT / "examples" / "traces"
    trace = {"pods": str(traces / "pods.csv"), "nodes": str(traces / "nodes.csv"), "shuffle": True}
    results = search(
        folder,
        inputs=[{"name": "day", "trace": trace}],
        holdOut={"after": "2h"},
        objectives=[{"minimize": "wait.mean"}],
        constraints=[],
        budget={"trials": 1},
    )
    base = results.trials[0].runs
    assert base["day training", 0]["pods.arrived"] + base["day held out", 0]["pods.arrived"] == 120
    assert 0 < base["day training", 0]["pods.arrived"] < 120
    assert results.plan.inputs["day training"].digest != results.plan.inputs["day held out"].digest


def test_halving_spends_all_runs_on_few_trials(folder: Path) -> None:
    results = search(folder, strategy="halving", seeds=3, budget={"trials": 9})
    counts = [len(trial.runs) for trial in results.trials[1:]]
    assert sorted(counts) == [1] * 6 + [3] * 3
    best = results.best()
    assert best is not None
    assert len(best.runs) == 3


def test_a_finite_space_is_searched_once(folder: Path) -> None:
    results = search(folder, parameters=[STRATEGY], budget={"trials": 50})
    assert sorted(trial.point for trial in results.trials[1:]) == [("LeastAllocated",), ("MostAllocated",)]  # type: ignore[type-var]


def test_the_time_is_a_budget_too(folder: Path) -> None:
    plan = plan_of(folder, budget={"trials": 50, "time": "1m"})
    engine = InlineEngine({name: found.given for name, found in plan.inputs.items()})
    ticks = iter(range(0, 10_000, 61))
    results = TuningRun(plan, RunStore(folder / "out"), engine, clock=lambda: float(next(ticks))).run()
    assert 1 < len(results.trials) < 50


def test_a_trial_that_fails_is_no_result(folder: Path) -> None:
    choices = {**STRATEGY, "choices": ["LeastAllocated", "Nonsense", "MostAllocated"]}
    results = search(folder, parameters=[choices])
    [failed] = [trial for trial in results.trials if trial.error]
    assert failed.point == ("Nonsense",)
    assert "Nonsense" in failed.error
    assert results.plan.standing(failed, results.plan.training).values is None


def test_a_parameter_that_decides_alone_is_the_important_one(folder: Path) -> None:
    shares = dict(importance(search(folder, budget={"trials": 20})))
    assert shares["strategy"] == pytest.approx(1.0)
    assert shares["fit"] < 1


@pytest.mark.parametrize(
    ("parameter", "problem"),
    [
        (WEIGHT | {"plugin": "NodeResourceFit"}, 'no profile enables a plugin "NodeResourceFit"'),
        (WEIGHT | {"plugin": "NodePorts"}, "NodePorts does not score"),
        (STRATEGY | {"field": "args.nothing.x"}, "nothing: unknown field"),
        (STRATEGY | {"field": "args.scoringStrategy.type.x"}, "expected an object above"),
        (STRATEGY | {"field": "args.scoringStrategy.resources.9.weight"}, "is no place of a list of 2"),
    ],
)
def test_a_parameter_that_the_base_does_not_have_is_an_error(
    folder: Path, parameter: dict[str, Any], problem: str
) -> None:
    with pytest.raises(KubewaspError, match=problem):
        plan_of(folder, parameters=[parameter])


def test_places_of_lists_are_parameters(folder: Path) -> None:
    place = {"plugin": "NodeResourcesFit", "field": "args.scoringStrategy.resources.0.weight", "from": 1, "to": 9}
    plan = plan_of(folder, parameters=[place])
    [profile] = plan.candidate((7,), "x").settings.profiles
    assert profile.args["NodeResourcesFit"]["scoringStrategy"]["resources"][0] == {"name": "cpu", "weight": 7}
    [profile] = plan.base.settings.profiles
    assert profile.args["NodeResourcesFit"]["scoringStrategy"]["resources"][0] == {"name": "cpu", "weight": 1}


@pytest.mark.parametrize(
    "domain", [Integers(1, 1000, is_log=True), Integers(0, 3), Floats(0.1, 10, is_log=True), Floats(-1, 1)]
)
def test_samples_lie_in_their_range(domain: Integers | Floats) -> None:
    chance = random.Random(0)
    drawn = [domain.sample(chance) for _ in range(500)]
    assert domain.low <= min(drawn) <= max(drawn) <= domain.high
    assert len(set(drawn)) > 3


def test_a_log_scale_has_as_many_small_values_as_large_ones() -> None:
    chance = random.Random(0)
    drawn = [Integers(1, 10_000, is_log=True).sample(chance) for _ in range(1000)]
    assert 350 < sum(value < 100 for value in drawn) < 650


def test_random_points_do_not_repeat() -> None:
    space = [Parameter("A", (), Integers(0, 3)), Parameter("B", ("x",), Choices(("a", "b")))]
    points = RandomStrategy(space, 1).ask(100)
    assert len(points) == len(set(points)) == search_space.size(space) == 8


@pytest.mark.parametrize(
    ("text", "run", "holds"),
    [
        ("pods.pending <= 0", {"pods.pending": 0}, True),
        ("pods.pending<=0", {"pods.pending": 1}, False),
        ("wait.mean < 1.5e1", {"wait.mean": 15}, False),
        ("requested.end.cpu >= 0.5", {}, False),
        ("nodes.used > -1", {"nodes.used": 0}, True),
    ],
)
def test_a_constraint_is_a_bound(text: str, run: dict[str, float], holds: bool) -> None:
    constraint = Constraint.parse(text)
    assert constraint is not None
    assert constraint.holds(run) is holds
    assert (constraint.violation([run]) == 0) is holds


@pytest.mark.parametrize("text", ["", "pods.pending", "pods.pending = 0", "<= 3", "a <= b", "a <= 1 <= 2", "a <= nan"])
def test_other_texts_are_no_constraints(text: str) -> None:
    assert Constraint.parse(text) is None


def test_an_objective_is_the_mean_of_a_weighted_sum() -> None:
    objective = Objective("cost", {"nodes.used": 2, "pods.pending": 10})
    runs = [{"nodes.used": 1, "pods.pending": 0}, {"nodes.used": 2, "pods.pending": 1}]
    assert objective.value(runs) == 8
    assert objective.value([{"nodes.used": 1}]) is None
    assert replace(objective, is_maximized=True).loss(8) == -8


def test_equal_losses_do_not_dominate() -> None:
    assert dominates((1, 2), (1, 3))
    assert not dominates((1, 2), (1, 2))
    assert not dominates((1, 2), (2, 1))
