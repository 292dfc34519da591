"""Engine that runs experiments in the test process, and counts them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Self

from kubewasp.lab.experiments.experiment import LabInput
from kubewasp.lab.experiments.experiment_pool import Done, Failed, Figures, PlannedRun, figures
from kubewasp.lab.experiments.experiment_worker import answered


class InlineEngine:
    def __init__(self, inputs: Mapping[str, LabInput]) -> None:
        self.runs = 0
        self._inputs = inputs

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def run(self, runs: Iterable[PlannedRun], /) -> Iterator[Done[Figures] | Failed]:
        for planned in runs:
            self.runs += 1
            reply = answered(
                lambda planned=planned: figures(self._inputs[planned.given], planned.candidate, planned.seed)
            )
            yield Failed(planned.key, reply.error, reply.trace) if reply.error else Done(planned.key, reply.value)
