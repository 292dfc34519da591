"""Source of `kubewasp compare`: its candidates as runs, and its figures. The run with the first seed is looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from kubewasp.console.console_source import Mode
from kubewasp.console.played_run import play
from kubewasp.console.run_comparison import ComparedMeasure, ComparedPod, Distribution, RunComparison
from kubewasp.console.simulated_source import SimulatedSource
from kubewasp.lab.experiments.measures import describe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.lab.comparisons.candidate_comparison import CandidateComparison, Standing
    from kubewasp.lab.experiments.experiment import Candidate, LabInput

_BINS: Final = 20
_SHARES: Final = ("cpu", "memory")


def compared_source(
    title: str, found: CandidateComparison, given: LabInput, candidates: Sequence[Candidate]
) -> SimulatedSource:
    """Runs the candidates once more with the first seed, for their histories; the figures are those of `found`."""
    by_name = {candidate.name: candidate for candidate in candidates}
    seed = found.seeds[0]
    seeded = replace(given, objects=replace(given.objects, seed=seed))
    runs = [play(seeded, by_name[standing.name], seed) for standing in found.ran]
    comparison = comparison_of(found)
    for run in runs:
        run.history.mark_differences({pod.key for pod in comparison.pods})
    return SimulatedSource(title, runs, comparison, Mode.COMPARISON)


def comparison_of(found: CandidateComparison) -> RunComparison:
    """The same numbers as the report of the command."""
    return RunComparison([_measure(found, name) for name in found.names], _pods(found), _distributions(found))


def _measure(found: CandidateComparison, name: str) -> ComparedMeasure:
    about = describe(name)
    values = tuple(standing.measures[name].mean if name in standing.measures else None for standing in found.ran)
    changes = [standing.changes[name] for standing in found.ran[1:] if name in standing.changes]
    known = [value for value in values if value is not None]
    best: tuple[int, ...] = ()
    if about.better and len(set(known)) > 1:
        wanted = max(known) if about.better == "higher" else min(known)
        best = tuple(place for place, value in enumerate(values) if value == wanted)
    has_margins = [change.is_significant for change in changes if change.margin is not None]
    unit = {"pods": "count", "nodes": "count"}.get(about.unit, about.unit)
    return ComparedMeasure(name, about.title, unit, values, best, any(has_margins) if has_margins else None)


def _pods(found: CandidateComparison) -> list[ComparedPod]:
    """Pods that differ in any run, in the order of the first run with a difference."""
    ran = found.ran
    differing: dict[str, ComparedPod] = {}
    for standing in ran[1:]:
        for each in standing.differences:
            known = differing.get(each.pod)
            if known is None:
                known = differing[each.pod] = ComparedPod(each.pod, tuple(_place(run, each.pod) for run in ran))
            if each.cause is not None and not known.cause:
                differing[each.pod] = replace(known, plugin=each.cause.plugin, cause=each.cause.text)
    return list(differing.values())


def _place(standing: Standing, pod: str) -> str | None:
    fate = standing.runs[0].fates.get(pod)
    return None if fate is None or not fate.node else fate.node


def _distributions(found: CandidateComparison) -> list[Distribution]:
    """Shares of nodes at the end, and times to bind."""
    listed = []
    for resource in _SHARES:
        shares = [
            [share for node in standing.runs[0].nodes if (share := node.share(resource)) is not None]
            for standing in found.ran
        ]
        if any(shares):
            top = max(1.0, *(share for each in shares for share in each))
            listed.append(_histogram(f"{resource} requested, by node", "share", shares, top))
    waits = [list(standing.runs[0].waits) for standing in found.ran]
    longest = max((wait for each in waits for wait in each), default=0.0)
    if longest > 0:
        listed.append(_histogram("time to bind", "seconds", waits, longest))
    return listed


def _histogram(name: str, unit: str, values: Sequence[Sequence[float]], top: float) -> Distribution:
    edges = np.linspace(0.0, top, _BINS + 1)
    counts = tuple(tuple(np.histogram(each, edges)[0].tolist()) for each in values)
    return Distribution(name, unit, tuple(edges.tolist()), counts)
