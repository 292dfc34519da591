"""Document of a tuning: search space, objectives, constraints, inputs for training and for the hold-out.

```yaml
kind: Tuning
inputs:
- name: day
  trace: {pods: pods.csv, nodes: nodes.csv, shuffle: true}
configuration: {}                 # the base; as an entry of a sweep's configurations
parameters:
- {name: fit, plugin: NodeResourcesFit, field: weight, from: 1, to: 100, scale: log}
- {name: strategy, plugin: NodeResourcesFit, field: args.scoringStrategy.type, choices: [LeastAllocated, MostAllocated]}
objectives:
- minimize: nodes.used
constraints:
- pods.pending <= 0
seeds: 3
holdOut: {seeds: 3}
strategy: random
budget: {trials: 50}
```
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kubewasp.framework.config.changes import MAX_WEIGHT
from kubewasp.framework.config.fields import Section
from kubewasp.k8s.errors import shown
from kubewasp.lab.studies import study_file
from kubewasp.lab.studies.objectives import Constraint, Objective
from kubewasp.lab.studies.search_space import WEIGHT, Choices, Floats, Integers, Parameter
from kubewasp.lab.studies.search_strategies import RANDOM, STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.input_file import InputFile
    from kubewasp.lab.experiments.candidates import CandidateSource
    from kubewasp.lab.studies.study_file import StudyFile
    from kubewasp.lab.studies.study_inputs import InputSource

KIND: Final = "Tuning"
_ARGS: Final = "args."
_MAX_PARAMETERS: Final = 100
_MAX_OBJECTIVES: Final = 5
_MAX_TRIALS: Final = 100_000
_DEFAULT_TRIALS: Final = 50
_MAX_LABEL: Final = 63
_BASE: Final = "base"


@dataclass(frozen=True, slots=True)
class HoldOut:
    """What training does not see: seeds, inputs by name, or the part of traces after a time."""

    seeds: tuple[int, ...] = ()
    inputs: tuple[str, ...] = ()
    after: float = math.inf

    def __bool__(self) -> bool:
        return bool(self.seeds or self.inputs or self.after < math.inf)


@dataclass(frozen=True, slots=True)
class Tuning:
    """A tuning. `seconds` is the most time; at least one batch of trials is done."""

    inputs: tuple[InputSource, ...]
    base: CandidateSource
    parameters: tuple[Parameter, ...]
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    seeds: tuple[int, ...]
    hold_out: HoldOut
    strategy: str = RANDOM
    trials: int = _DEFAULT_TRIALS
    seconds: float = math.inf
    seed: int = 0


def load(path: InputFile) -> Tuning:
    """The tuning in a file. ConfigError has all its problems."""
    file = study_file.open_document(path, KIND)
    root, problems = file.root, file.problems
    inputs = study_file.read_inputs(file)
    base = study_file.read_candidate(root.section("configuration"), file, _BASE)
    seeds = study_file.read_seeds(root, "seeds")
    strategy = root.text("strategy", RANDOM)
    if strategy not in STRATEGIES:
        problems.unsupported("strategy", strategy, STRATEGIES)
    budget = root.section("budget")
    trials, seconds = budget.integer("trials", _DEFAULT_TRIALS), budget.seconds("time", math.inf)
    budget.refuse_unknown()
    if not 1 <= trials <= _MAX_TRIALS:
        problems.invalid("budget.trials", trials, f"must be from 1 to {_MAX_TRIALS}")
    if seconds <= 0:
        problems.invalid("budget.time", seconds, "must be above 0")
    seed = root.integer("seed", bits=64)
    if seed < 0:
        problems.invalid("seed", seed, "must not be negative")
    found = Tuning(
        inputs,
        base,
        _read_parameters(file),
        _read_objectives(file),
        _read_constraints(file),
        seeds,
        _read_hold_out(root.section("holdOut"), inputs, seeds),
        strategy,
        trials,
        seconds,
        seed,
    )
    root.refuse_unknown()
    problems.raise_if_any(str(path))
    return found


# ---------------------------------------------------------------------- parameters


def _read_parameters(file: StudyFile) -> tuple[Parameter, ...]:
    sections = file.root.sections("parameters")
    if not sections:
        file.problems.required("parameters", "at least one")
    if len(sections) > _MAX_PARAMETERS:
        file.problems.unreadable("parameters", f"at most {_MAX_PARAMETERS} of them, got {len(sections)}")
    found: list[Parameter] = []
    for section in sections[:_MAX_PARAMETERS]:
        parameter = _read_parameter(section)
        if any(other.target == parameter.target for other in found):
            file.problems.duplicate(section.path, parameter.target)
        elif any(other.name == parameter.name for other in found):
            file.problems.duplicate(section.at("name"), parameter.name)
        found.append(parameter)
    return tuple(found)


def _read_parameter(section: Section) -> Parameter:
    problems = section.problems
    plugin, field, label = section.text("plugin"), section.text("field"), section.text("name")
    if not plugin:
        problems.required(section.at("plugin"))
    path: tuple[str, ...] = ()
    if field.startswith(_ARGS):
        path = tuple(field.removeprefix(_ARGS).split("."))
        if not all(path):
            problems.invalid(section.at("field"), field, "has an empty part")
    elif field != WEIGHT:
        problems.unreadable(section.at("field"), f"expected {WEIGHT} or {_ARGS}FIELD, got {shown(field)}")
    choices = section.take("choices")
    domain = _read_range(section) if choices is None else _read_choices(section, choices)
    section.refuse_unknown()
    if not path and isinstance(domain, Integers) and not 0 <= domain.low <= domain.high <= MAX_WEIGHT:
        problems.invalid(section.at("from"), domain.low, "a weight must not be negative")
    if not path and not isinstance(domain, Integers):
        problems.add(section.path, "a weight has a range of integers")
    return Parameter(plugin, path, domain, label[:_MAX_LABEL])


def _read_range(section: Section) -> Integers | Floats:
    problems, values = section.problems, [section.take(name) for name in ("from", "to")]
    scale = section.text("scale", "linear")
    if scale not in ("linear", "log"):
        problems.unsupported(section.at("scale"), scale, ("linear", "log"))
    for name, value in zip(("from", "to"), values, strict=True):
        if value is None:
            problems.required(section.at(name), "a number; or `choices`")
        elif not _is_number(value):
            problems.unreadable(section.at(name), f"expected a number, got {shown(value)}")
    if not all(map(_is_number, values)):
        return Integers(0, 0)
    low, high = values
    if low > high:
        problems.invalid(section.at("to"), high, f"must be at least {low}")
    if scale == "log" and low <= 0:
        problems.invalid(section.at("from"), low, "must be above 0 on a log scale")
        return Integers(0, 0)
    if isinstance(low, int) and isinstance(high, int):
        return Integers(low, high, scale == "log")
    return Floats(float(low), float(high), scale == "log")


def _read_choices(section: Section, given: Any) -> Choices:
    path = section.at("choices")
    if not isinstance(given, list) or not given or len(given) > _MAX_TRIALS:
        section.problems.unreadable(path, f"expected a list of values, got {shown(given)}")
        return Choices(("",))
    for index, value in enumerate(given):
        if not isinstance(value, str | bool) and not _is_number(value):
            section.problems.unreadable(f"{path}[{index}]", f"expected a string, number or boolean, got {shown(value)}")
            return Choices(("",))
    if _has_equal(given):
        section.problems.add(path, "two are equal")
    for name in ("from", "to", "scale"):
        if section.has(name):
            section.problems.forbidden(section.at(name), "the values are listed")
        section.take(name)
    return Choices(tuple(given))


def _has_equal(values: Sequence[Any]) -> bool:
    return len({(type(value), value) for value in values}) < len(values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -(2**53) <= value <= 2**53


# ---------------------------------------------------------------------- objectives, constraints, hold-out


def _read_objectives(file: StudyFile) -> tuple[Objective, ...]:
    sections, problems = file.root.sections("objectives"), file.problems
    if not 1 <= len(sections) <= _MAX_OBJECTIVES:
        problems.unreadable("objectives", f"expected 1 to {_MAX_OBJECTIVES}, got {len(sections)}")
    found = [_read_objective(section) for section in sections[:_MAX_OBJECTIVES]]
    for index, objective in enumerate(found):
        if any(other.name == objective.name for other in found[:index]):
            problems.duplicate(f"objectives[{index}]", objective.name)
    return tuple(found)


def _read_objective(section: Section) -> Objective:
    problems = section.problems
    directions = [name for name in ("minimize", "maximize") if section.has(name)]
    given = [section.take(name) for name in ("minimize", "maximize")]
    if len(directions) != 1:
        problems.add(section.path, "expected either minimize or maximize")
        section.text("name")
        section.refuse_unknown()
        return Objective("", {})
    [direction] = directions
    value, path = next(item for item in given if item is not None), section.at(direction)
    terms: dict[str, float] = {}
    if isinstance(value, str):
        study_file.check_measure(value, path, problems, is_pattern=False)
        terms = {value: 1.0}
    else:
        sums = Section(value, path, problems)
        for measure in sums.names():
            study_file.check_measure(measure, sums.at(measure), problems, is_pattern=False)
            terms[measure] = sums.number(measure)
        if not terms:
            problems.required(path, "a measure, or measures with factors")
    name = section.text("name") or " + ".join(terms)
    section.refuse_unknown()
    return Objective(name, terms, direction == "maximize")


def _read_constraints(file: StudyFile) -> tuple[Constraint, ...]:
    found = []
    for index, text in enumerate(file.root.texts("constraints")):
        path, constraint = f"constraints[{index}]", Constraint.parse(text)
        if constraint is None:
            file.problems.unreadable(path, f"expected a bound such as pods.pending <= 0, got {shown(text)}")
        else:
            study_file.check_measure(constraint.measure, path, file.problems, is_pattern=False)
            found.append(constraint)
    return tuple(found)


def _read_hold_out(section: Section, inputs: Sequence[InputSource], seeds: Sequence[int]) -> HoldOut:
    problems = section.problems
    count = section.has("seeds") and isinstance(section.take("seeds"), int)
    held_seeds = study_file.read_seeds(section, "seeds", ())
    if count:  # a number: the ones that follow
        first = max(seeds, default=-1) + 1
        held_seeds = tuple(first + seed for seed in held_seeds)
    elif both := set(held_seeds) & set(seeds):
        problems.invalid(section.at("seeds"), min(both), "is a seed of the training")
    names = section.texts("inputs")
    known = [source.name for source in inputs]
    for index, name in enumerate(names):
        if name not in known:
            problems.unreadable(f"{section.at('inputs')}[{index}]", f"there is no input {shown(name)}")
    if names and not set(known) - set(names):
        problems.add(section.at("inputs"), "no input is left for the training")
    after = section.seconds("after", math.inf)
    if after <= 0:
        problems.invalid(section.at("after"), after, "must be above 0")
    if after < math.inf and not all(source.trace is not None for source in inputs):
        problems.forbidden(section.at("after"), "only traces can be split by time")
    section.refuse_unknown()
    found = HoldOut(held_seeds, tuple(names), after)
    if sum((bool(found.seeds), bool(found.inputs), found.after < math.inf)) > 1:
        problems.add(section.path, "expected one of seeds, inputs and after")
    return found
