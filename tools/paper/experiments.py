"""Experiments of the paper: policy and seed, run on the trace in memory, with the curve of allocated GPUs."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

from kubewasp.errors import KubewaspError
from kubewasp.framework.config.reading import read_config
from kubewasp.lab.experiments import experiment
from kubewasp.lab.experiments.experiment import Candidate, LabInput
from kubewasp.lab.traces import shapes
from kubewasp.lab.traces.trace import Trace
from kubewasp.lab.traces.trace_map import PRESETS
from kubewasp.lab.traces.trace_simulation import Inflation, TraceOptions
from kubewasp.simulation.simulator import read_input

if TYPE_CHECKING:
    from pathlib import Path

    from kubewasp.framework.config.model import SchedulerConfig

RESOURCE: Final = "kubewasp.dev/gpu-milli"
DEMAND: Final = 1.3
# Arrived demand in percent of all GPUs: the places where the paper compares policies.
FULL, END = 100, 130
SEEDS: Final = 42  # the first one
_PODS, _NODES = "openb_pod_list_default.csv", "openb_node_list_gpu_node.csv"
_PLUGIN: Final = "gpu-share"
_MAP: Final = PRESETS["openb"]
_MODEL: Final = "gpu-model"
_TYPICAL: Final = 0.95  # share of pods whose shapes are the workload of FGD


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy of the plugin, and its published means: allocated percents of all GPUs at 100 % and 130 % arrived."""

    title: str
    name: str
    full: float
    end: float


# In the published order.
POLICIES: Final = (
    Policy("Random", "random", 86.30, 87.47),
    Policy("DotProd", "dotProduct", 90.62, 90.85),
    Policy("GpuClustering", "gpuClustering", 91.65, 91.88),
    Policy("GpuPacking", "gpuPacking", 91.78, 92.00),
    Policy("BestFit", "bestFit", 92.86, 93.08),
    Policy("FGD", "fgd", 95.23, 95.39),
)


@dataclass(frozen=True, slots=True)
class TraceFiles:
    """Nodes and pods of the trace in a folder."""

    pods: Path
    nodes: Path

    @classmethod
    def of(cls, folder: Path) -> TraceFiles:
        """The files of the trace; others are no reason to refuse the folder."""
        for name in (_PODS, _NODES):
            if not (folder / name).is_file():
                raise KubewaspError(
                    f"{folder / name}: no such file; docs/reproduce-the-paper.md has its download address"
                )
        return cls(folder / _PODS, folder / _NODES)


@dataclass(frozen=True, slots=True)
class Run:
    """An experiment that has run. `curve` has the allocated percents at each percent of arrived demand, from 0 on."""

    policy: str
    seed: int
    pods: int
    placed: int
    curve: tuple[float, ...]
    seconds: float
    cpu_seconds: float

    @property
    def full(self) -> float:
        return self.curve[FULL]

    @property
    def end(self) -> float:
        return self.curve[END]

    def as_json(self) -> bytes:
        return orjson.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: bytes) -> Run:
        found = orjson.loads(text)
        return cls(**{**found, "curve": tuple(found["curve"])})


def run(files: TraceFiles, policy: str, seed: int, guest: Path) -> Run:
    """Runs one experiment.

    Pods and nodes are shuffled; copies of random pods follow until all pods request 130 % of the GPUs; pods never end,
    and a pod that fits nowhere leaves.
    """
    began, began_cpu = time.perf_counter(), time.process_time()
    options = TraceOptions(
        files.pods,
        _MAP,
        files.nodes,
        shuffle=True,
        shuffle_nodes=True,
        inflation=Inflation(DEMAND, RESOURCE),
        patience=0.0,
        stays=True,
    )
    given = LabInput(read_input([], start_time=0.0), options)
    outcome = experiment.run(given, Candidate(policy, settings(files, policy, guest)), seed)
    report = outcome.trace
    if report is None or outcome.report.result.errors:
        raise KubewaspError(f"{policy}, seed {seed}: {outcome.report.result.errors[:1]}")
    total = report.capacity[RESOURCE]
    arrived = [100 * sample.arrived_amounts[RESOURCE] / total for sample in report.samples]
    allocated = [100 * sample.requested[RESOURCE] / total for sample in report.samples]
    curve = np.interp(range(END + 1), [0.0, *arrived], [0.0, *allocated])
    return Run(
        policy,
        seed,
        report.counts.arrived,
        report.counts.placed,
        tuple(round(value, 3) for value in curve.tolist()),
        round(time.perf_counter() - began, 2),
        round(time.process_time() - began_cpu, 2),
    )


def settings(files: TraceFiles, policy: str, guest: Path) -> SchedulerConfig:
    """The plugin with a policy as the only one that scores; all nodes are looked at, nothing is preempted."""
    config: dict[str, Any] = {"policy": policy, "modelLabel": _MODEL, "tiesByName": policy != "random"}
    if policy == "fgd":
        config["typical"] = [shape.as_dict() for shape in typical(files)]
    plugins = {
        "multiPoint": {"enabled": [{"name": _PLUGIN}]},
        "score": {"disabled": [{"name": "*"}], "enabled": [{"name": _PLUGIN}]},
        "postFilter": {"disabled": [{"name": "*"}]},
    }
    arguments = {"guestURL": str(guest), "guestConfig": orjson.dumps(config).decode()}
    profile = {"plugins": plugins, "pluginConfig": [{"name": _PLUGIN, "args": arguments}]}
    return read_config(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "percentageOfNodesToScore": 100,
            "profiles": [profile],
        }
    )


def typical(files: TraceFiles) -> list[shapes.Shape]:
    """The workload that FGD measures fragments by: the most frequent shapes of the trace."""
    return shapes.most_frequent(shapes.count(Trace(files.pods, _MAP).pods(), ("cpu", RESOURCE)), _TYPICAL)
