"""A sweep in progress: what is done, what is left, and who does it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kubewasp.lab.experiments.experiment_pool import Failed
from kubewasp.lab.studies import stored_runs
from kubewasp.lab.studies.fixed_candidates import GuestContents
from kubewasp.lab.studies.run_store import RunIdentity
from kubewasp.lab.studies.stored_runs import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kubewasp.lab.experiments.experiment import Candidate
    from kubewasp.lab.studies.fixed_candidates import FixedCandidate
    from kubewasp.lab.studies.run_store import RunRecord, RunStore
    from kubewasp.lab.studies.stored_runs import Engine
    from kubewasp.lab.studies.study_inputs import StudyInput
    from kubewasp.lab.studies.sweep_file import Sweep, SweepRun


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """A sweep with its inputs and configurations read."""

    sweep: Sweep
    inputs: Mapping[str, StudyInput]
    configurations: Mapping[str, FixedCandidate]

    @classmethod
    def of(cls, sweep: Sweep, guest_of: Callable[[str], str]) -> SweepPlan:
        """Reads all that the runs of the sweep need. `guest_of` gives the wasm of a guest, built if it has to be."""
        contents = GuestContents()
        needed = {run.given for run in sweep.runs}
        inputs = {source.name: source.load() for source in sweep.inputs if source.name in needed}
        needed = {run.configuration for run in sweep.runs}
        configurations = {
            source.name: contents.fixed(source.with_guests(guest_of).candidate())
            for source in sweep.configurations
            if source.name in needed
        }
        return cls(sweep, inputs, configurations)

    def identity(self, run: SweepRun) -> RunIdentity:
        given, configuration = self.inputs[run.given], self.configurations[run.configuration]
        return RunIdentity(given.digest, configuration.digest, run.seed)

    def candidate(self, run: SweepRun) -> Candidate:
        return self.configurations[run.configuration].candidate

    def part(self, index: int, count: int) -> SweepPlan:
        """Every `count`-th run, from `index` on."""
        return replace(self, sweep=replace(self.sweep, runs=self.sweep.runs[index::count]))


@dataclass(frozen=True, slots=True)
class SweepFailure:
    """A run without a result."""

    run: SweepRun
    error: str


@dataclass(slots=True)
class SweepResults:
    """Results of a sweep so far: records by run, and failures. `known` are runs that were done before."""

    records: dict[SweepRun, RunRecord] = field(default_factory=dict)
    failures: list[SweepFailure] = field(default_factory=list)
    known: int = 0

    def in_order(self, runs: Sequence[SweepRun]) -> list[tuple[SweepRun, RunRecord]]:
        return [(run, self.records[run]) for run in runs if run in self.records]


def stored(plan: SweepPlan, store: RunStore) -> SweepResults:
    """The results that are there."""
    found = SweepResults()
    for run in plan.sweep.runs:
        record = store.get(plan.identity(run))
        if record is not None:
            found.records[run] = record
            found.known += 1
    return found


def execute(plan: SweepPlan, store: RunStore, engine: Engine, results: SweepResults) -> Iterator[SweepRun]:
    """Does the runs that have no result, and yields each run that has got one or has failed."""
    waiting: dict[str, list[SweepRun]] = {}
    wanted = []
    for run in plan.sweep.runs:
        if run not in results.records:
            identity = plan.identity(run)
            waiting.setdefault(identity.key, []).append(run)
            wanted.append(Wanted(identity, run.given, plan.candidate(run)))
    with engine:
        for result in stored_runs.results(wanted, store, engine):
            if isinstance(result, Failed):
                runs = waiting[result.key]
                results.failures += [SweepFailure(run, result.error) for run in runs]
            else:
                runs = waiting[result.identity.key]
                results.records.update(dict.fromkeys(runs, result))
            yield from runs
