"""Document of a sweep: inputs × configurations × seeds, or a list of runs.

```yaml
kind: Sweep
inputs:
- name: day
  trace: {pods: pods.csv, nodes: nodes.csv, shuffle: true}
configurations:
- name: default
- name: packing
  args:
    NodeResourcesFit: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
seeds: 10
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.k8s.spelling import did_you_mean, nearest
from kubewasp.lab.studies import study_file
from kubewasp.lab.studies.study_file import MAX_RUNS, MAX_SEED

if TYPE_CHECKING:
    from collections.abc import Collection

    from kubewasp.framework.config.fields import Section
    from kubewasp.input_file import InputFile
    from kubewasp.lab.experiments.candidates import CandidateSource
    from kubewasp.lab.studies.study_file import StudyFile
    from kubewasp.lab.studies.study_inputs import InputSource

KIND: Final = "Sweep"


@dataclass(frozen=True, slots=True, order=True)
class SweepRun:
    """A run of a sweep, by names."""

    given: str
    configuration: str
    seed: int

    def __str__(self) -> str:
        return f"{self.given}, {self.configuration}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep. `measures` are those of its table; none: all."""

    inputs: tuple[InputSource, ...]
    configurations: tuple[CandidateSource, ...]
    runs: tuple[SweepRun, ...]
    measures: tuple[str, ...] = ()


def load(path: InputFile) -> Sweep:
    """The sweep in a file. ConfigError has all its problems."""
    file = study_file.open_document(path, KIND)
    inputs = study_file.read_inputs(file)
    configurations = study_file.read_configurations(file)
    measures = study_file.read_measures(file.root, "measures")
    names, variants = [source.name for source in inputs], [source.name for source in configurations]
    runs = _listed(file, names, variants) if file.root.has("runs") else _grid(file, names, variants)
    file.root.refuse_unknown()
    file.problems.raise_if_any(str(path))
    return Sweep(inputs, configurations, runs, measures)


def _grid(file: StudyFile, inputs: Collection[str], configurations: Collection[str]) -> tuple[SweepRun, ...]:
    seeds = study_file.read_seeds(file.root, "seeds")
    count = len(inputs) * len(configurations) * len(seeds)
    if count > MAX_RUNS:
        file.problems.add("", f"{count:,} runs; at most {MAX_RUNS:,} are allowed")
        return ()
    return tuple(
        SweepRun(given, configuration, seed) for given in inputs for configuration in configurations for seed in seeds
    )


def _listed(file: StudyFile, inputs: Collection[str], configurations: Collection[str]) -> tuple[SweepRun, ...]:
    root, problems = file.root, file.problems
    if root.has("seeds"):
        problems.forbidden("seeds", "each of the runs has its own")
        root.take("seeds")
    sections = root.sections("runs")
    if len(sections) > MAX_RUNS:
        problems.unreadable("runs", f"at most {MAX_RUNS:,} of them, got {len(sections):,}")
        return ()
    found: dict[SweepRun, None] = {}
    for section in sections:
        given = _chosen(section, "input", inputs)
        run = SweepRun(given, _chosen(section, "configuration", configurations), _seed(section))
        section.refuse_unknown()
        if run in found:
            problems.duplicate(section.path, str(run))
        found[run] = None
    return tuple(found)


def _seed(section: Section) -> int:
    found = section.integer("seed", bits=64)
    if not 0 <= found <= MAX_SEED:
        section.problems.invalid(section.at("seed"), found, "must not be negative")
    return found


def _chosen(section: Section, name: str, known: Collection[str]) -> str:
    """A name of the list above; without one, the only one."""
    if not section.has(name):
        section.take(name)
        if len(known) == 1:
            return next(iter(known))
        section.problems.required(section.at(name), "a name")
        return ""
    found = section.text(name)
    if found and found not in known:
        hint = did_you_mean(nearest(found, known)) or f"; there are {', '.join(list(known)[:10])}"
        section.problems.unreadable(section.at(name), f'there is no {name} "{found[:63]}"{hint}')
    return found
