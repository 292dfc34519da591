"""Comparison of candidates on one input with the same seeds: the first candidate is the baseline of the others."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from kubewasp.errors import KubewaspError
from kubewasp.lab.comparisons.compared_run import recorded
from kubewasp.lab.comparisons.difference_causes import cause_of, seen_decisions
from kubewasp.lab.comparisons.pod_differences import first_difference, moved, pod_differences
from kubewasp.lab.experiments.intervals import estimate, paired
from kubewasp.lab.experiments.measures import MOVED, in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.lab.comparisons.compared_run import ComparedRun
    from kubewasp.lab.comparisons.difference_causes import SeenDecision
    from kubewasp.lab.comparisons.pod_differences import FirstDifference, PodDifference
    from kubewasp.lab.experiments.experiment import Candidate, LabInput
    from kubewasp.lab.experiments.intervals import Estimate

T = TypeVar("T")
EXPLAINED: Final = 20


class CompareError(KubewaspError):
    """A comparison without a result."""


@dataclass(frozen=True, slots=True)
class FailedRun:
    """An experiment that could not run, and its error."""

    error: str


class Runner(Protocol):
    """Runs experiments, one after the other or in several processes."""

    def run(
        self, given: LabInput, runs: Sequence[tuple[Candidate, int]], work: Callable[..., T]
    ) -> list[T | FailedRun]:
        """Results of `work(given, candidate, seed)` in the order of the runs."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A candidate in a comparison. `letter` is its short name: A for the baseline.

    `changes` are the mean differences of its measures from the baseline, `differences` those of its pods in the run
    with the first seed; both are empty for the baseline, and for a candidate with an `error`.
    """

    name: str
    letter: str
    runs: tuple[ComparedRun, ...] = ()
    measures: Mapping[str, Estimate] = field(default_factory=dict)
    changes: Mapping[str, Estimate] = field(default_factory=dict)
    first: FirstDifference | None = None
    differences: tuple[PodDifference, ...] = ()
    error: str = ""

    @property
    def warnings(self) -> list[str]:
        return list(dict.fromkeys(warning for run in self.runs for warning in run.warnings))

    def as_dict(self) -> dict[str, Any]:
        if self.error:
            return {"name": self.name, "error": self.error}
        shown = self.runs[0]
        return {
            "name": self.name,
            "error": None,
            "measures": {
                name: {**found.as_dict(), "values": [run.measures.get(name, 0.0) for run in self.runs]}
                for name, found in self.measures.items()
                if name != MOVED
            },
            "changes": {
                name: {**found.as_dict(), "significant": found.is_significant if found.margin is not None else None}
                for name, found in self.changes.items()
            },
            "pending": [{"reason": reason, "pods": number} for reason, number in shown.reasons.items()],
            "namespaces": {name: totals.as_dict() for name, totals in shown.namespaces.items()},
            "errors": [cause.as_dict() for cause in shown.errors],
            "firstDifference": None if self.first is None else self.first.as_dict(),
            "pods": [difference.as_dict() for difference in self.differences],
            "warnings": self.warnings,
        }


@dataclass(frozen=True, slots=True)
class CandidateComparison:
    """Candidates in the order given; the first is the baseline."""

    standings: tuple[Standing, ...]
    seeds: tuple[int, ...]

    @property
    def baseline(self) -> Standing:
        return self.standings[0]

    @property
    def ran(self) -> list[Standing]:
        """Candidates without an error."""
        return [standing for standing in self.standings if not standing.error]

    @property
    def is_random(self) -> bool:
        """Whether the seed changes anything."""
        return any(run.measures != standing.runs[0].measures for standing in self.ran for run in standing.runs)

    @property
    def names(self) -> list[str]:
        """Names of all measures, in their order."""
        return in_order({name for standing in self.ran for name in standing.measures})

    def as_dict(self) -> dict[str, Any]:
        """Plain values, in the format of `kubewasp compare -o json`."""
        return {
            "baseline": self.baseline.name,
            "seeds": list(self.seeds),
            "seedsMatter": self.is_random if len(self.seeds) > 1 else None,
            "candidates": [standing.as_dict() for standing in self.standings],
        }


def compare(
    given: LabInput,
    candidates: Sequence[Candidate],
    seeds: Sequence[int],
    runner: Runner,
    *,
    explained: int = EXPLAINED,
) -> CandidateComparison:
    """Compares candidates.

    Args:
        given: The input.
        candidates: Configurations; the first is the baseline.
        seeds: Seeds that each of them runs with.
        runner: Runs the experiments.
        explained: The number of differing pods, by candidate, whose cause is looked for: some of each workload.
    """
    runs = [(candidate, seed) for candidate in candidates for seed in seeds]
    done = runner.run(given, runs, partial(recorded, detailed=frozenset(seeds[:1])))
    by_candidate = [done[start : start + len(seeds)] for start in range(0, len(done), len(seeds))]
    baseline = _standing(candidates[0].name, _letter(0), by_candidate[0], None)
    if baseline.error:
        raise CompareError(f"baseline {baseline.name}: {baseline.error}")
    standings = [
        _standing(candidate.name, _letter(place), found, baseline)
        for place, (candidate, found) in enumerate(zip(candidates[1:], by_candidate[1:], strict=True), start=1)
    ]
    if standings and all(standing.error for standing in standings):
        raise CompareError(f"{standings[0].name}: {standings[0].error}")
    return _with_causes(CandidateComparison((baseline, *standings), tuple(seeds)), given, candidates, runner, explained)


def _letter(place: int) -> str:
    return ascii_uppercase[place] if place < len(ascii_uppercase) else str(place + 1)


def _standing(name: str, letter: str, found: Sequence[ComparedRun | FailedRun], baseline: Standing | None) -> Standing:
    failed = next((run.error for run in found if isinstance(run, FailedRun)), "")
    runs = tuple(run for run in found if not isinstance(run, FailedRun))
    if failed:
        return Standing(name, letter, error=failed)
    names = in_order({measure for run in runs for measure in run.measures})
    measures = {measure: estimate([run.measures.get(measure, 0.0) for run in runs]) for measure in names}
    if baseline is None:
        return Standing(name, letter, runs, measures)
    pairs = list(zip(runs, baseline.runs, strict=True))
    measures[MOVED] = estimate([moved(old.fates, new.fates) for new, old in pairs])
    return Standing(
        name,
        letter,
        runs,
        measures,
        {
            measure: paired(
                [run.measures.get(measure, 0.0) for run in runs],
                [run.measures.get(measure, 0.0) for run in baseline.runs],
            )
            for measure in in_order({*names, *baseline.measures})
        },
        first_difference(pairs[0][1].decisions, pairs[0][0].decisions),
        pod_differences(pairs[0][1], pairs[0][0]),
    )


def _with_causes(
    comparison: CandidateComparison, given: LabInput, candidates: Sequence[Candidate], runner: Runner, explained: int
) -> CandidateComparison:
    """The comparison with the causes of the first differences of each candidate, for which runs are repeated."""
    looked_at = {standing.name: _examples(standing.differences, explained) for standing in comparison.standings}
    every = [difference for differences in looked_at.values() for difference in differences.values()]
    if not every:
        return comparison
    wanted: dict[str, frozenset[str]] = {}
    for difference in every:
        nodes = frozenset(name for name in (difference.baseline, difference.node) if name)
        wanted[difference.pod] = wanted.get(difference.pod, frozenset()) | nodes
    again = [candidate for candidate in candidates if candidate.name == comparison.baseline.name]
    again += [candidate for candidate in candidates[1:] if looked_at[candidate.name]]
    seed = comparison.seeds[0]
    work = partial(seen_decisions, wanted=wanted, until=_last_time(comparison, wanted))
    found = runner.run(given, [(candidate, seed) for candidate in again], work)
    seen: dict[str, dict[str, SeenDecision]] = {
        candidate.name: {} if isinstance(result, FailedRun) else result
        for candidate, result in zip(again, found, strict=True)
    }
    before = seen[comparison.baseline.name]
    standings = tuple(
        replace(
            standing,
            differences=tuple(
                replace(each, cause=cause_of(each, before.get(each.pod), seen[standing.name].get(each.pod)))
                if each.pod in looked_at[standing.name]
                else each
                for each in standing.differences
            ),
        )
        if standing.differences
        else standing
        for standing in comparison.standings
    )
    return replace(comparison, standings=standings)


def _examples(differences: Sequence[PodDifference], number: int) -> dict[str, PodDifference]:
    """Differences whose cause is looked for, by pod: the first one of each workload, then the second ones …"""
    counts: Counter[str] = Counter()
    ranked = []
    for place, each in enumerate(differences):
        if each.cause is None:
            group = each.workload or each.pod.partition("/")[0]
            ranked.append((counts[group], place))
            counts[group] += 1
    return {differences[place].pod: differences[place] for _, place in sorted(ranked)[:number]}


def _last_time(comparison: CandidateComparison, pods: Mapping[str, frozenset[str]]) -> float:
    """The time until which the runs are repeated: all decisions on these pods have been made. Pending: to the end."""
    fates = [standing.runs[0].fates.get(pod) for standing in comparison.ran for pod in pods]
    times = [math.inf if fate.placed is None else fate.placed for fate in fates if fate is not None]
    return max(times, default=math.inf)
