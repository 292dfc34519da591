"""Inputs and candidates of comparisons in tests."""

from collections.abc import Mapping
from pathlib import Path

from kubewasp.lab.experiments.candidates import CandidateSource
from kubewasp.lab.experiments.experiment import Candidate, LabInput
from kubewasp.lab.experiments.node_prices import NodePrices
from kubewasp.lab.traces.trace_map import PRESETS
from kubewasp.lab.traces.trace_simulation import TraceOptions
from kubewasp.simulation.simulator import SimulationInput
from tests.simulation.simulating import Object, added

EXAMPLES = Path(__file__).parents[3] / "examples"
PODS, NODES = EXAMPLES / "traces" / "pods.csv", EXAMPLES / "traces" / "nodes.csv"


def candidate(name: str = "default", weights: Mapping[str, int] | None = None) -> Candidate:
    return CandidateSource(name, weights=weights or {}).candidate()


def static(*objects: Object, prices: NodePrices | None = None) -> LabInput:
    return LabInput(SimulationInput(added(*objects), None, 0, False, 0.0), prices=prices)


def trace(pods: Path = PODS, nodes: Path = NODES, prices: NodePrices | None = None, **options: object) -> LabInput:
    made = TraceOptions(pods, PRESETS["generic"], nodes, **options)  # type: ignore[arg-type]
    return LabInput(static().objects, made, prices)
