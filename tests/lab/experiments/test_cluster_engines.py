"""Engines on clusters: missing libraries and unreachable addresses, and sweeps on real local clusters if installed."""

import importlib.util
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubewasp import __version__
from kubewasp.lab.experiments.candidates import CandidateSource
from kubewasp.lab.experiments.cluster_engines import DaskEngine, RayEngine
from kubewasp.lab.experiments.experiment import LabInput
from kubewasp.lab.experiments.experiment_pool import Done, Failed, PlannedRun, figures
from kubewasp.lab.experiments.remote_run import EngineError, remote_run
from kubewasp.lab.studies.study_inputs import InputSource, TraceSource

EXAMPLES = Path(__file__).parents[3] / "examples"
DEFAULT = CandidateSource("default").candidate()


@pytest.fixture(scope="module")
def inputs() -> dict[str, LabInput]:
    """One with all files in memory, and a trace without nodes, which fails."""
    traces = EXAMPLES / "traces"
    good = TraceSource(traces / "pods.csv", traces / "nodes.csv", "generic", {"shuffle": True})
    bad = TraceSource(traces / "pods.csv", None, "generic", {})
    return {
        "good": InputSource("good", trace=good).load().given,
        "bad": InputSource("bad", trace=bad).load().given,
        "small": InputSource("small", (EXAMPLES / "clusters" / "small.yaml",)).load().given,
    }


def check(engine: Any, inputs: dict[str, LabInput]) -> None:
    runs = [PlannedRun(f"{name} {seed}", name, DEFAULT, seed) for name in inputs for seed in (1, 2)]
    with engine:
        found = {result.key: result for result in engine.run(runs)}
    assert found.keys() == {run.key for run in runs}
    for run in runs:
        result = found[run.key]
        if run.given == "bad":
            assert isinstance(result, Failed)
            assert "no nodes to run on" in result.error
        else:
            assert isinstance(result, Done)
            assert result.value.measures == figures(inputs[run.given], DEFAULT, run.seed).measures


def test_a_worker_of_another_version_is_an_error(inputs: dict[str, LabInput]) -> None:
    given, candidate = pickle.dumps(inputs["small"]), pickle.dumps(DEFAULT)
    assert remote_run("0.0", given, candidate, 1).error == f"the worker has kubewasp {__version__}, not 0.0"
    assert remote_run(__version__, given, candidate, 1).value.measures == figures(inputs["small"], DEFAULT, 1).measures


@pytest.mark.parametrize(
    ("engine", "module", "extra"), [(DaskEngine, "distributed", "dask"), (RayEngine, "ray", "ray")]
)
def test_a_missing_library_is_named_with_the_command_that_installs_it(
    engine: Any, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(EngineError, match=rf"--{extra} requires {module}; run `pip install 'kubewasp\[{extra}\]'`"):
        engine("address", {})


@pytest.mark.filterwarnings("default")
class TestDask:
    @pytest.fixture
    def address(self) -> Iterator[str]:
        distributed = importlib.import_module("distributed")
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            yield cluster.scheduler_address

    def test_a_dask_cluster_gives_the_results_of_this_process(self, address: str, inputs: dict[str, LabInput]) -> None:
        check(DaskEngine(address, inputs), inputs)

    def test_an_address_without_a_scheduler_is_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("kubewasp.lab.experiments.cluster_engines._CONNECT_SECONDS", 1)
        with pytest.raises(EngineError, match=r"no Dask scheduler at tcp://127\.0\.0\.1:1"):
            DaskEngine("tcp://127.0.0.1:1", {}).__enter__()

    def test_an_address_that_is_none_is_an_error(self) -> None:
        with pytest.raises(EngineError, match="no Dask scheduler at nonsense://x"):
            DaskEngine("nonsense://x", {}).__enter__()


@pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="ray is not installed: kubewasp[ray]")
@pytest.mark.filterwarnings("default")
class TestRay:
    @pytest.fixture
    def address(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
        monkeypatch.setenv("RAY_agent_register_timeout_ms", "120000")  # on a busy machine, its agents start late
        utilities = importlib.import_module("ray.cluster_utils")
        cluster = utilities.Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
        yield cluster.address
        cluster.shutdown()

    def test_a_ray_cluster_gives_the_results_of_this_process(self, address: str, inputs: dict[str, LabInput]) -> None:
        check(RayEngine(address, inputs), inputs)

    def test_an_address_without_a_cluster_is_an_error(self) -> None:
        with pytest.raises(EngineError, match=r"no Ray cluster at auto: "):
            RayEngine("auto", {}).__enter__()
