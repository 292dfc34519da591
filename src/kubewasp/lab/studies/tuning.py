"""A search for weights and arguments: trials on the training runs, the best of them on the hold-out.

A trial is a point of the search space with all its runs. Only one that fulfils every constraint in every run of the
training can be the best, or on the front.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from kubewasp.errors import KubewaspError
from kubewasp.lab.experiments.experiment import Candidate, LabInput
from kubewasp.lab.experiments.experiment_pool import Failed
from kubewasp.lab.studies import search_space, stored_runs
from kubewasp.lab.studies.fixed_candidates import GuestContents, digest_of
from kubewasp.lab.studies.objectives import dominates
from kubewasp.lab.studies.run_store import RunIdentity
from kubewasp.lab.studies.search_strategies import HALVING, strategy_of
from kubewasp.lab.studies.stored_runs import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kubewasp.lab.studies.fixed_candidates import FixedCandidate
    from kubewasp.lab.studies.run_store import RunStore
    from kubewasp.lab.studies.search_space import Point
    from kubewasp.lab.studies.stored_runs import Engine
    from kubewasp.lab.studies.study_inputs import StudyInput
    from kubewasp.lab.studies.tuning_file import Tuning

    Cell = tuple[str, int]  # an input and a seed

_BATCH: Final = 8  # trials that are asked for at once, whatever the machine
_KEPT_SHARE: Final = 3  # successive halving: one of so many goes on
_FEWEST: Final = 10  # trials for shares of importance
_GROUPS: Final = 5
_TRAINING: Final = "training"
_HELD: Final = "held out"


class TuningError(KubewaspError):
    """A tuning that cannot begin."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A point of the search space and its runs so far, by input and seed. The base has number 0 and no point."""

    number: int
    point: Point | None
    runs: Mapping[Cell, Mapping[str, float]] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """Values of the objectives, their losses, and how far constraints are off. No values: a run failed."""

    values: tuple[float, ...] | None
    losses: tuple[float, ...] | None
    violation: float
    violated: tuple[str, ...]

    @property
    def is_feasible(self) -> bool:
        return self.values is not None and not self.violated


@dataclass(frozen=True, slots=True)
class TuningPlan:
    """A tuning with its inputs read. `inputs` are by the names of runs: those of a split trace come twice."""

    tuning: Tuning
    base: Candidate
    inputs: Mapping[str, StudyInput]
    training: tuple[Cell, ...]
    held_out: tuple[Cell, ...]

    @classmethod
    def of(cls, tuning: Tuning, guest_of: Callable[[str], str]) -> TuningPlan:
        """Reads inputs and base; checks that the base has all parameters."""
        base = tuning.base.with_guests(guest_of).candidate()
        chance_point = tuple(_first(parameter.domain) for parameter in tuning.parameters)
        search_space.applied(base.settings, tuning.parameters, chance_point)
        inputs = {source.name: source.load() for source in tuning.inputs}
        hold_out, seeds = tuning.hold_out, tuning.seeds
        if hold_out.inputs:
            names = [name for name in inputs if name not in hold_out.inputs]
            return cls(tuning, base, inputs, _cells(names, seeds), _cells(hold_out.inputs, seeds))
        if hold_out.seeds:
            return cls(tuning, base, inputs, _cells(inputs, seeds), _cells(inputs, hold_out.seeds))
        if hold_out:
            first = {f"{name} {_TRAINING}": _part(given, before=hold_out.after) for name, given in inputs.items()}
            later = {f"{name} {_HELD}": _part(given, since=hold_out.after) for name, given in inputs.items()}
            return cls(tuning, base, first | later, _cells(first, seeds), _cells(later, seeds))
        return cls(tuning, base, inputs, _cells(inputs, seeds), ())

    def candidate(self, point: Point | None, name: str) -> Candidate:
        settings = self.base.settings
        if point is not None:
            settings = search_space.applied(settings, self.tuning.parameters, point)
        return Candidate(name, settings, self.base.added)

    def standing(self, trial: Trial, cells: Sequence[Cell]) -> Standing:
        """How a trial does on some of its runs."""
        runs = [trial.runs[cell] for cell in cells if cell in trial.runs]
        if len(runs) < len(cells):
            return Standing(None, None, 0.0, ())
        tuning = self.tuning
        values = [objective.value(runs) for objective in tuning.objectives]
        found = tuple(value for value in values if value is not None)
        if len(found) < len(values):
            return Standing(None, None, 0.0, ())
        losses = tuple(objective.loss(value) for objective, value in zip(tuning.objectives, found, strict=True))
        violated = tuple(str(constraint) for constraint in tuning.constraints if not all(map(constraint.holds, runs)))
        violation = sum(constraint.violation(runs) for constraint in tuning.constraints)
        return Standing(found, losses, violation, violated)


@dataclass(slots=True)
class TuningResults:
    """Trials so far, the base first."""

    plan: TuningPlan
    trials: list[Trial] = field(default_factory=list)

    def complete(self) -> list[tuple[Trial, Standing]]:
        """Trials with all training runs that fulfil the constraints, the base too; the best first."""
        found = [(trial, self.plan.standing(trial, self.plan.training)) for trial in self.trials]
        feasible = [(trial, standing) for trial, standing in found if standing.is_feasible]
        return sorted(feasible, key=lambda item: (item[1].losses or (), item[0].number))

    def front(self) -> list[tuple[Trial, Standing]]:
        """Those of them that none of the others dominates; one for a single objective, unless none is feasible."""
        found = self.complete()
        front = [
            (trial, standing)
            for trial, standing in found
            if not any(dominates(other.losses or (), standing.losses or ()) for _, other in found)
        ]
        return front[:1] if len(self.plan.tuning.objectives) == 1 else _distinct(front)

    def best(self) -> Trial | None:
        """The best trial: of a front, the one nearest to the best of each objective."""
        front = self.front()
        if not front:
            return None
        losses = [standing.losses or () for _, standing in front]
        columns = list(zip(*losses, strict=True))
        lows, highs = list(map(min, columns)), list(map(max, columns))

        def distance(place: int) -> float:
            sides = zip(losses[place], lows, highs, strict=True)
            squares = (((loss - low) / (high - low)) ** 2 for loss, low, high in sides if high > low)
            return float(sum(squares))

        return front[min(range(len(front)), key=distance)][0]

    def replace(self, trial: Trial) -> None:
        self.trials[trial.number] = trial


class TuningRun:
    """A search with an engine, which must be open.

    Args:
        plan: The tuning.
        store: Results that are there, and where new ones go.
        engine: Who does the runs.
        finished: Called after each run.
        clock: Seconds, for the budget of time.
    """

    def __init__(
        self,
        plan: TuningPlan,
        store: RunStore,
        engine: Engine,
        *,
        finished: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.results = TuningResults(plan)
        self._plan = plan
        self._store = store
        self._engine = engine
        self._finished = finished
        self._clock = clock
        self._contents = GuestContents()

    def run(self) -> TuningResults:
        """Searches within the budget; then runs base and front on the hold-out."""
        plan, tuning = self._plan, self._plan.tuning
        began = self._clock()
        self.results.trials.append(Trial(0, None))
        self._evaluate([0], plan.training)
        if self.results.trials[0].error:
            raise TuningError(f"the base configuration fails: {self.results.trials[0].error}")
        strategy = strategy_of(tuning.strategy, tuning.parameters, seed=tuning.seed, objectives=len(tuning.objectives))
        if tuning.strategy == HALVING:
            self._halve(strategy.ask(tuning.trials), lambda: self._clock() - began >= tuning.seconds)
        else:
            left = tuning.trials
            while left and (points := strategy.ask(min(left, _BATCH))):
                left -= len(points)
                numbers = self._added(points)
                self._evaluate(numbers, plan.training)
                for number, point in zip(numbers, points, strict=True):
                    standing = plan.standing(self.results.trials[number], plan.training)
                    strategy.tell(point, standing.losses, standing.violation)
                if self._clock() - began >= tuning.seconds:
                    break
        self._evaluate([0, *(trial.number for trial, _ in self.results.front() if trial.number)], plan.held_out)
        return self.results

    def _halve(self, points: Sequence[Point], is_over: Callable[[], bool]) -> None:
        """Few runs for all, three times as many for the best third of them, and so on; all runs for the last."""
        plan, numbers, count = self._plan, self._added(points), 1
        while True:
            cells = plan.training[:count]
            self._evaluate(numbers, cells)
            if count >= len(plan.training) or is_over():
                return
            ranked = sorted(numbers, key=lambda number: self._rank(number, numbers, cells))
            numbers = sorted(ranked[: max(len(ranked) // _KEPT_SHARE, 1)])
            count = min(count * _KEPT_SHARE, len(plan.training))

    def _rank(self, number: int, others: Iterable[int], cells: Sequence[Cell]) -> tuple[Any, ...]:
        """Failures last, then violations; then by the number of trials that dominate it."""
        standing = self._plan.standing(self.results.trials[number], cells)
        if standing.losses is None:
            return (1, 0.0, 0, (), number)
        rivals = (self._plan.standing(self.results.trials[other], cells).losses for other in others)
        above = sum(dominates(rival, standing.losses) for rival in rivals if rival is not None)
        return (0, standing.violation, above, standing.losses, number)

    def _added(self, points: Sequence[Point]) -> list[int]:
        first = len(self.results.trials)
        self.results.trials += [Trial(first + place, point) for place, point in enumerate(points)]
        return list(range(first, len(self.results.trials)))

    def _evaluate(self, numbers: Sequence[int], cells: Sequence[Cell]) -> None:
        """Does the runs of trials that have none for these cells."""
        owners: dict[str, list[tuple[int, Cell]]] = {}
        wanted: list[Wanted] = []
        for number in numbers:
            trial = self.results.trials[number]
            fixed = self._fixed(trial)
            if fixed is None:
                continue
            for cell in cells:
                if cell not in trial.runs:
                    name, seed = cell
                    identity = RunIdentity(self._plan.inputs[name].digest, fixed.digest, seed)
                    owners.setdefault(identity.key, []).append((number, cell))
                    wanted.append(Wanted(identity, name, fixed.candidate))
        for result in stored_runs.results(wanted, self._store, self._engine):
            if isinstance(result, Failed):
                for number, _ in owners[result.key]:
                    self.results.replace(replace(self.results.trials[number], error=result.error))
            else:
                for number, cell in owners[result.identity.key]:
                    trial = self.results.trials[number]
                    self.results.replace(replace(trial, runs={**trial.runs, cell: result.measures}))
            self._finished()

    def _fixed(self, trial: Trial) -> FixedCandidate | None:
        """The candidate of a trial; values that a plugin refuses are a failure of the trial."""
        try:
            return self._contents.fixed(self._plan.candidate(trial.point, f"trial {trial.number}"))
        except KubewaspError as error:
            if trial.point is None:
                raise
            self.results.replace(replace(trial, error=str(error)))
            return None


def importance(results: TuningResults) -> list[tuple[str, float]]:
    """Share of the variance of the first objective that each parameter explains alone, the largest first.

    Values of a parameter are put into at most five groups of equal size; the share is the correlation ratio.
    """
    plan = results.plan
    found = [
        (trial.point, standing.values[0])
        for trial in results.trials
        if trial.point is not None
        for standing in (plan.standing(trial, plan.training),)
        if standing.values is not None
    ]
    if len(found) < _FEWEST:
        return []
    mean = sum(value for _, value in found) / len(found)
    total = sum((value - mean) ** 2 for _, value in found)
    if not total:
        return []
    shares = []
    for index, parameter in enumerate(plan.tuning.parameters):
        groups = _groups([(point[index], value) for point, value in found])
        between = sum(len(group) * (sum(group) / len(group) - mean) ** 2 for group in groups)
        shares.append((parameter.name, between / total))
    return sorted(shares, key=lambda item: -item[1])


def _groups(pairs: Sequence[tuple[Any, float]]) -> list[list[float]]:
    by_value: dict[Any, list[float]] = {}
    for key, value in pairs:
        by_value.setdefault(key, []).append(value)
    if len(by_value) <= _GROUPS:
        return list(by_value.values())
    ordered = [value for _, value in sorted(pairs, key=lambda pair: (str(type(pair[0])), pair[0]))]
    bounds = [round(place * len(ordered) / _GROUPS) for place in range(_GROUPS + 1)]
    return [ordered[start:end] for start, end in pairwise(bounds) if start < end]


def _first(domain: Any) -> Any:
    return domain.values[0] if hasattr(domain, "values") else domain.low


def _cells(names: Iterable[str], seeds: Sequence[int]) -> tuple[Cell, ...]:
    """Seed by seed, so that the first runs of successive halving see all inputs."""
    listed = list(names)
    return tuple((name, seed) for seed in seeds for name in listed)


def _part(given: StudyInput, **change: float) -> StudyInput:
    found = given.given
    if found.trace is None:
        raise TuningError("only traces can be split by time")
    part = LabInput(found.objects, replace(found.trace, **change))  # type: ignore[arg-type]
    return replace(given, given=part, digest=digest_of([given.digest, change]))


def _distinct(front: Sequence[tuple[Trial, Standing]]) -> list[tuple[Trial, Standing]]:
    """One of those with equal values."""
    found: dict[Any, tuple[Trial, Standing]] = {}
    for trial, standing in front:
        found.setdefault(standing.values, (trial, standing))
    return list(found.values())
