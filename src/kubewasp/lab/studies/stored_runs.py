"""Experiments with a store: those that are done are read, the others are done by an engine and kept at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from kubewasp.lab.experiments.experiment_pool import Done, Failed, Figures, PlannedRun
from kubewasp.lab.studies.run_store import RunRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kubewasp.lab.experiments.experiment import Candidate
    from kubewasp.lab.studies.run_store import RunIdentity, RunStore


class Engine(Protocol):
    """Where experiments run. `ExperimentPool` is one."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def run(self, runs: Iterable[PlannedRun], /) -> Iterator[Done[Figures] | Failed]: ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """An experiment whose result is wanted, on an input of the engine by name."""

    identity: RunIdentity
    given: str
    candidate: Candidate

    def planned(self) -> PlannedRun:
        return PlannedRun(self.identity.key, self.given, self.candidate, self.identity.seed)


def results(wanted: Iterable[Wanted], store: RunStore, engine: Engine) -> Iterator[RunRecord | Failed]:
    """Results in any order, each identity once. The engine must be open."""
    missing: dict[str, Wanted] = {}
    seen: set[str] = set()
    for item in wanted:
        key = item.identity.key
        if key in seen:
            continue
        seen.add(key)
        record = store.get(item.identity)
        if record is None:
            missing[key] = item
        else:
            yield record
    for result in engine.run(item.planned() for item in missing.values()):
        if isinstance(result, Failed):
            yield result
            continue
        record = RunRecord(missing[result.key].identity, result.value.measures, result.value.seconds)
        store.put(record)
        yield record
