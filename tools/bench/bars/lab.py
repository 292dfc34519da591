"""Bars of the policy lab: a long trace on 5,000 nodes, in pace and memory; a sweep in two processes and in one.

A trace of some ten thousand pods shows the pace; `PODS=1000000` runs a long one.
"""

from __future__ import annotations

import gc
import math
import os
import statistics
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from kubewasp.lab.experiments.candidates import CandidateSource
from kubewasp.lab.experiments.experiment_pool import ExperimentPool, Failed, PlannedRun, figures
from kubewasp.lab.studies.study_inputs import InputSource, TraceSource
from kubewasp.lab.traces.trace_generator import COLUMNS, GeneratedTrace
from kubewasp.lab.traces.trace_map import PRESETS
from kubewasp.lab.traces.trace_simulation import TraceOptions, TraceSimulation
from kubewasp.scheduler.configuration import configure
from kubewasp.simulation.simulator import read_input
from tools.bench.bars.bar import Bar
from tools.bench.bars.host import resident

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kubewasp.scheduler.attempt import Attempt

PODS: Final = int(os.environ.get("PODS", "60000"))
NODES: Final = 5_000
_RATE, _DURATION = 20.0, 240.0  # pods per second and seconds: 4,800 run at the same time
_WARM: Final = 0.4  # share of the pods that arrive before memory is measured
_PIECES: Final = 20
_EXPERIMENTS, _SWEPT = 16, 1_500


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    with tempfile.TemporaryDirectory() as folder:
        yield from _long_trace(Path(folder), step)
        yield _sweep(Path(folder), step)


def _long_trace(folder: Path, step: Callable[[str], None]) -> Iterator[Bar]:
    step(f"a trace of {PODS:,} pods on {NODES:,} nodes")
    pods = _written(folder / "pods.csv", COLUMNS, GeneratedTrace(PODS, _RATE, mean_duration=_DURATION).rows())
    nodes = _nodes(folder / "nodes.csv", NODES)
    settings, _ = configure(None, (), {})
    options = TraceOptions(pods, PRESETS["generic"], nodes)
    watch = _Watch(max(PODS // _PIECES, 1))
    trace = TraceSimulation(options, read_input([], start_time=0.0), settings, listeners=(watch,))
    watch.mark()
    counts = trace.run().counts
    if (counts.arrived, counts.ended) != (PODS, PODS):
        raise RuntimeError(f"{counts.arrived} pods have arrived, {counts.ended} have ended")
    paces = [watch.each / (later.cpu - mark.cpu) for mark, later in pairwise(watch.marks)]
    note = f"of CPU time, median of {len(paces)} parts; {min(paces):,.0f} to {max(paces):,.0f}"
    yield Bar(f"pods of a trace on {NODES:,} nodes", statistics.median(paces), "/s", at_least=2_000, note=note)
    warm = watch.marks[math.ceil(_WARM * (len(watch.marks) - 1)) :]
    grown = (statistics.median(mark.resident for mark in warm[-3:]) - warm[0].resident) / 2**20
    note = f"{warm[0].resident / 2**20:.0f} MiB after {watch.each * (len(watch.marks) - len(warm)):,} pods"
    yield Bar(f"growth of memory over {watch.each * (len(warm) - 1):,} pods", grown, "MiB", at_most=8, note=note)


class _Mark:
    """CPU time and memory at one moment."""

    def __init__(self) -> None:
        self.cpu = time.process_time()
        self.resident = resident()


class _Watch:
    """Marks at every so many attempts. Implements `AttemptListener`."""

    def __init__(self, each: int) -> None:
        self.each = each
        self.marks: list[_Mark] = []
        self._attempts = 0

    def mark(self) -> None:
        self.marks.append(_Mark())

    def attempted(self, attempt: Attempt) -> None:  # noqa: ARG002 - interface
        self._attempts += 1
        if self._attempts % self.each == 0:
            self.mark()


def _sweep(folder: Path, step: Callable[[str], None]) -> Bar:
    """Wall time of the same experiments in one process and in two, which are started before."""
    pods = _written(folder / "swept.csv", COLUMNS, GeneratedTrace(_SWEPT, _RATE, mean_duration=_DURATION).rows())
    trace = TraceSource(pods, _nodes(folder / "few.csv", NODES // 10), "generic", {"shuffle": True})
    inputs = {"trace": InputSource("trace", trace=trace).load().given}
    candidate = CandidateSource("default").candidate()
    runs = [PlannedRun(str(seed), "trace", candidate, seed) for seed in range(_EXPERIMENTS)]
    took = {}
    for processes in (1, 2):
        step(f"{_EXPERIMENTS} experiments, processes: {processes}")
        gc.collect()
        with ExperimentPool(inputs, figures, processes) as pool:
            began, done = 0.0, 0
            for result in pool.run(runs):
                if isinstance(result, Failed):
                    raise KubewaspError(result.error)
                done += 1
                if done == processes:  # without their start
                    began = time.perf_counter()
            took[processes] = (time.perf_counter() - began) / (done - processes)
    note = f"{1e3 * took[1]:.0f} ms per experiment with one, {1e3 * took[2]:.0f} ms with two"
    return Bar("sweep in two processes vs one", took[1] / took[2], "x", at_least=1.7, note=note)


def _nodes(path: Path, count: int) -> Path:
    rows = ((f"node-{number}", "32", "128Gi") for number in range(count))
    return _written(path, ("name", "cpu", "memory"), rows)


def _written(path: Path, columns: Sequence[str], rows: Iterator[tuple[str, ...]]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(columns) + "\n")
        file.writelines(",".join(row) + "\n" for row in rows)
    return path
