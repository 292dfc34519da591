"""Experiments in several processes: the same results as in one, failures as values, workers that end."""

import io
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from kubewasp.errors import KubewaspError
from kubewasp.input_file import StandardInput
from kubewasp.lab.experiments import experiment_pool
from kubewasp.lab.experiments.candidates import CandidateSource
from kubewasp.lab.experiments.experiment import Candidate, LabInput
from kubewasp.lab.experiments.experiment_pool import Done, ExperimentPool, Failed, PlannedRun, figures
from kubewasp.lab.traces.trace_map import PRESETS
from kubewasp.lab.traces.trace_simulation import TraceOptions
from kubewasp.simulation.simulator import read_input

EXAMPLES = Path(__file__).parents[3] / "examples"
DEFAULT = CandidateSource("default").candidate()


def manifests() -> LabInput:
    return LabInput(read_input([EXAMPLES / "clusters/small.yaml"], start_time=0.0))


def trace() -> LabInput:
    traces = EXAMPLES / "traces"
    options = TraceOptions(traces / "pods.csv", PRESETS["generic"], traces / "nodes.csv", shuffle=True)
    return LabInput(read_input([], start_time=0.0), options)


def seed_and_process(given: LabInput, candidate: Candidate, seed: int) -> tuple[int, int]:
    return seed, os.getpid()


def killed_by_odd_seeds(given: LabInput, candidate: Candidate, seed: int) -> int:
    if seed % 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return seed


def refused_by_odd_seeds(given: LabInput, candidate: Candidate, seed: int) -> int:
    if seed == 1:
        raise KubewaspError("seed 1 is not liked")
    if seed == 3:
        raise ZeroDivisionError("three")
    return seed


def unpicklable(given: LabInput, candidate: Candidate, seed: int) -> object:
    return lambda: seed


def identity(given: LabInput, candidate: Candidate, seed: int) -> int:
    return id(given)


def planned(count: int, given: str = "small") -> list[PlannedRun]:
    return [PlannedRun(f"run-{seed}", given, DEFAULT, seed) for seed in range(count)]


@pytest.fixture
def inputs() -> dict[str, LabInput]:
    return {"small": manifests(), "trace": trace()}


def test_results_are_those_of_one_process(inputs: dict[str, LabInput]) -> None:
    runs = [PlannedRun(f"{name} {seed}", name, DEFAULT, seed) for name in inputs for seed in (1, 2)]
    with ExperimentPool(inputs, partial(figures, keeps_fates=True, keeps_samples=True), 2) as pool:
        found = {result.key: result for result in pool.run(runs)}
    assert found.keys() == {run.key for run in runs}
    for run in runs:
        here, there = (
            figures(inputs[run.given], DEFAULT, run.seed, keeps_fates=True, keeps_samples=True),
            found[run.key],
        )
        assert isinstance(there, Done)
        assert (there.value.measures, there.value.fates, there.value.samples) == (
            here.measures,
            here.fates,
            here.samples,
        )


def test_there_are_not_more_workers_than_runs_or_processes(inputs: dict[str, LabInput]) -> None:
    with ExperimentPool(inputs, seed_and_process, 2) as pool:
        alone = [result.value for result in pool.run(planned(1)) if isinstance(result, Done)]
        values = [result.value for result in pool.run(planned(5)) if isinstance(result, Done)]
    assert sorted(seed for seed, _ in values) == [0, 1, 2, 3, 4]
    workers = {process for _, process in values}
    assert len(workers) <= 2
    assert os.getpid() not in workers
    assert len(workers | {process for _, process in alone}) <= 2


def test_a_worker_parses_nothing_twice(inputs: dict[str, LabInput]) -> None:
    with ExperimentPool(inputs, identity, 1) as pool:
        assert len({result.value for result in pool.run(planned(3)) if isinstance(result, Done)}) == 1


def test_a_killed_worker_fails_its_run_only(inputs: dict[str, LabInput]) -> None:
    with ExperimentPool(inputs, killed_by_odd_seeds, 2) as pool:
        found = {result.key: result for result in pool.run(planned(4))}
    assert [isinstance(found[f"run-{seed}"], Done) for seed in range(4)] == [True, False, True, False]
    assert found["run-1"] == Failed("run-1", "the worker process was ended by SIGKILL: out of memory?")


def test_errors_are_values(inputs: dict[str, LabInput]) -> None:
    with ExperimentPool(inputs, refused_by_odd_seeds, 1) as pool:
        found = {result.key: result for result in pool.run(planned(5))}
    assert found["run-1"] == Failed("run-1", "seed 1 is not liked")
    other = found["run-3"]
    assert isinstance(other, Failed)
    assert other.error == "ZeroDivisionError: three"
    assert "refused_by_odd_seeds" in other.trace
    assert [result.value for result in found.values() if isinstance(result, Done)] == [0, 2, 4]


def test_a_result_that_cannot_be_sent_is_a_failure(inputs: dict[str, LabInput]) -> None:
    with ExperimentPool(inputs, unpicklable, 1) as pool:
        [found] = pool.run(planned(1))
    assert isinstance(found, Failed)
    assert found.error.startswith("the result cannot be sent: ")


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_leaving_the_context_ends_the_workers(inputs: dict[str, LabInput]) -> None:
    with ExperimentPool(inputs, seed_and_process, 2) as pool:
        first = next(pool.run(planned(100)))
        assert isinstance(first, Done)
        assert is_there(first.value[1])
    assert not is_there(first.value[1])


def test_a_worker_ends_with_the_other_side() -> None:
    reading, writing = os.pipe()
    command = [sys.executable, "-c", experiment_pool._WORKER, str(reading)]
    with subprocess.Popen(command, pass_fds=(reading,)) as worker:
        os.close(reading)
        os.close(writing)
        assert worker.wait() == 0


def test_runs_are_taken_when_a_worker_is_free(inputs: dict[str, LabInput]) -> None:
    taken: list[str] = []

    def counted() -> Iterator[PlannedRun]:
        for run in planned(4):
            taken.append(run.key)
            yield run

    with ExperimentPool(inputs, seed_and_process, 1) as pool:
        results = pool.run(counted())
        next(results)
        assert taken == ["run-0"]
        assert len(list(results)) == 3


def test_standard_input_is_sent_with_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"name,arrival")))
    assert pickle.loads(pickle.dumps(StandardInput())).open("rb").read() == b"name,arrival"
