"""Run of a comparison: an experiment in plain values, small enough to keep many and to send between processes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kubewasp.lab.experiments import experiment
from kubewasp.lab.experiments.pending_reasons import reason_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.lab.experiments.experiment import Candidate, LabInput, Outcome
    from kubewasp.lab.experiments.fairness import NamespaceTotals
    from kubewasp.lab.experiments.pod_history import PodFate
    from kubewasp.lab.traces.samples import Sample
    from kubewasp.scheduler.attempt import Attempt
    from kubewasp.simulation.result import ErrorCause, NodeUsage

_MOST_DECISIONS: Final = 1_000_000
_QUANTILES: Final = 200


class Loss(NamedTuple):
    """A preemption: the preemptor, the node that the pod had, and when."""

    by: str
    node: str
    at: float


class DecisionLog:
    """Pods and their nodes by attempt, in order; a failed attempt has no node. Implements `AttemptListener`."""

    def __init__(self) -> None:
        self.decisions: list[tuple[str, str]] = []

    def attempted(self, attempt: Attempt) -> None:
        if len(self.decisions) < _MOST_DECISIONS:
            self.decisions.append((attempt.pod.key, attempt.node))


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """An experiment that has run.

    Args:
        candidate: Name of its configuration.
        seed: Its seed.
        measures: Figures by name.
        fates: What became of each pod.
        reasons: Numbers of pods without a node by reason, of pods that have left too.
        namespaces: Totals by namespace.
        errors: Errors of plugins by cause.
        preempted: Pods that were preempted, also those that had a node before.
        seconds: Time that it took.
        warnings: Of the configuration and the input.
        waits: Quantiles of the time to bind, from the shortest to the longest.
        decisions: Attempts in order.
        nodes: Usage of nodes at the end.
        samples: The cluster over time.
        capacity: Allocatable amounts of all nodes, of a trace.
    """

    candidate: str
    seed: int
    measures: Mapping[str, float]
    fates: Mapping[str, PodFate]
    reasons: Mapping[str, int]
    namespaces: Mapping[str, NamespaceTotals]
    errors: tuple[ErrorCause, ...]
    preempted: Mapping[str, Loss]
    seconds: float
    warnings: tuple[str, ...] = ()
    waits: tuple[float, ...] = ()
    decisions: Sequence[tuple[str, str]] = ()
    nodes: tuple[NodeUsage, ...] = ()
    samples: Sequence[Sample] = ()
    capacity: Mapping[str, int] = field(default_factory=dict)


def recorded(
    given: LabInput, candidate: Candidate, seed: int, /, *, detailed: frozenset[int] = frozenset()
) -> ComparedRun:
    """Runs an experiment; with all details if its seed is one of the `detailed` ones."""
    log = DecisionLog()
    is_detailed = seed in detailed
    heard = (log,) if is_detailed else ()
    found = experiment.run(given, candidate, seed, keeps_fates=True, listeners=heard)
    result, trace, waits = found.report.result, found.trace, np.frombuffer(found.history.waits, np.float64)
    return ComparedRun(
        candidate.name,
        seed,
        found.measures,
        dict(found.fates),
        _reasons(found),
        found.history.namespaces(),
        result.errors,
        {each.pod.key: Loss(each.by.key, each.node, each.at) for each in found.report.cluster.objects.preemptions},
        found.report.seconds,
        _warnings(found),
        tuple(np.quantile(waits, np.linspace(0, 1, _QUANTILES + 1)).tolist()) if len(waits) else (),
        log.decisions,
        result.nodes if is_detailed else (),
        tuple(trace.samples) if trace is not None and is_detailed else (),
        trace.capacity if trace is not None else {},
    )


def _reasons(found: Outcome) -> dict[str, int]:
    """Reasons of pending pods and of those that have left, the most frequent first."""
    counts: Counter[str] = Counter(reason_of(pod.message) for pod in found.report.result.pending)
    for message, number in found.history.left.items():
        counts[reason_of(message)] += number
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _warnings(found: Outcome) -> tuple[str, ...]:
    warnings = list(found.warnings)
    if found.trace is not None and found.trace.bad.count:
        warnings.append(str(found.trace.bad))
    if found.occupancy.priced is not None and (text := found.occupancy.priced.warning()):
        warnings.append(text)
    return tuple(warnings)
