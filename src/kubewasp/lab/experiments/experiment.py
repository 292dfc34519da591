"""Experiment: one input, one candidate configuration and one seed, run in a simulated cluster and measured.

`compare`, `tune` and `sweep` are many of these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kubewasp.lab.experiments.measures import measured
from kubewasp.lab.experiments.occupancy import Occupancy
from kubewasp.lab.experiments.pod_history import LastMessages, PodHistory
from kubewasp.lab.traces.trace_simulation import TraceSimulation
from kubewasp.simulation.simulator import Simulation, SimulationReport

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.lab.experiments.node_prices import NodePrices
    from kubewasp.lab.experiments.pod_history import PodFate
    from kubewasp.lab.traces.trace_simulation import TraceOptions, TraceReport
    from kubewasp.scheduler.attempt import AttemptListener
    from kubewasp.simulation.simulator import SimulationInput


@dataclass(frozen=True, slots=True)
class Candidate:
    """A configuration to try. `added` are the names of its wasm plugins that were given as options."""

    name: str
    settings: SchedulerConfig
    added: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class LabInput:
    """Input of experiments: objects with or without a timeline, or a trace on them, and the prices of nodes.

    The seed of the objects is not used.
    """

    objects: SimulationInput
    trace: TraceOptions | None = None
    prices: NodePrices | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """An experiment that has run.

    `measures` are its figures by name (`lab.measures.MEASURES`), `fates` arrival and placement by pod, of pods that
    have ended too; empty unless they were asked for. `history` and `occupancy` have what the measures are made of.
    """

    candidate: str
    seed: int
    report: SimulationReport
    measures: Mapping[str, float]
    history: PodHistory
    occupancy: Occupancy
    warnings: Sequence[str]
    trace: TraceReport | None = None

    @property
    def fates(self) -> Mapping[str, PodFate]:
        return self.history.fates


def run(
    given: LabInput,
    candidate: Candidate,
    seed: int = 0,
    *,
    keeps_fates: bool = False,
    watched: Collection[str] = (),
    listeners: Sequence[AttemptListener] = (),
) -> Outcome:
    """Runs an experiment. The same arguments give the same outcome, but for the time it takes.

    Args:
        given: The input.
        candidate: The configuration.
        seed: Seed of all random choices, also those of guests and of changes to a trace.
        keeps_fates: Keep what became of each pod, which takes memory for each.
        watched: Pods (`namespace/name`) whose last attempts are in the `explanations` of the report.
        listeners: Listeners for attempts.
    """
    objects, messages = replace(given.objects, seed=seed), LastMessages()
    heard = (messages, *listeners)
    made: Simulation | TraceSimulation
    if given.trace is None:
        made = Simulation(objects, candidate.settings, candidate.added, watched=watched, listeners=heard)
    else:
        made = TraceSimulation(
            given.trace, objects, candidate.settings, candidate.added, watched=watched, listeners=heard
        )
    history = PodHistory(made.cluster, keeps_fates=keeps_fates, messages=messages)
    occupancy = Occupancy(made.cluster, given.prices)
    ran = made.run()
    report, trace = (ran, None) if isinstance(ran, SimulationReport) else (ran.simulation, ran)
    measures = measured(report, history, occupancy, trace)
    return Outcome(candidate.name, seed, report, measures, history, occupancy, tuple(made.warnings), trace)
