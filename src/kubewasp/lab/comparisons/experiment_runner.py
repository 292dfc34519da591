"""Runner of a list of experiments: in this process, or in several local ones. Results keep the order of the list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from kubewasp.errors import KubewaspError
from kubewasp.lab.comparisons.candidate_comparison import FailedRun
from kubewasp.lab.experiments.experiment_pool import Done, ExperimentPool, PlannedRun

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubewasp.lab.experiments.experiment import Candidate, LabInput

T = TypeVar("T")
_INPUT: Final = "input"


def _ignored(_count: int) -> None: ...


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """Implements `candidate_comparison.Runner`.

    Args:
        processes: Processes; with one, experiments run here.
        began: Called with the number of runs to do.
        ended: Called with the number of runs that have ended, one each time.
    """

    processes: int = 1
    began: Callable[[int], None] = _ignored
    ended: Callable[[int], None] = _ignored

    def run(
        self, given: LabInput, runs: Sequence[tuple[Candidate, int]], work: Callable[..., T]
    ) -> list[T | FailedRun]:
        self.began(len(runs))
        if self.processes > 1 and len(runs) > 1:
            return self._in_processes(given, runs, work)
        return [self._here(given, candidate, seed, work) for candidate, seed in runs]

    def _here(self, given: LabInput, candidate: Candidate, seed: int, work: Callable[..., T]) -> T | FailedRun:
        try:
            return work(given, candidate, seed)
        except KubewaspError as error:
            return FailedRun(str(error))
        finally:
            self.ended(1)

    def _in_processes(
        self, given: LabInput, runs: Sequence[tuple[Candidate, int]], work: Callable[..., T]
    ) -> list[T | FailedRun]:
        found: dict[str, T | FailedRun] = {}
        planned = [PlannedRun(str(place), _INPUT, candidate, seed) for place, (candidate, seed) in enumerate(runs)]
        with ExperimentPool({_INPUT: given}, work, min(self.processes, len(runs))) as pool:
            for result in pool.run(planned):
                found[result.key] = result.value if isinstance(result, Done) else FailedRun(result.error)
                self.ended(1)
        return [found[run.key] for run in planned]
