"""Experiments in several local processes: results as they are ready, failures as values.

A worker is a new interpreter, not a fork: the threads of wasmtime do not survive one. It gets each input once, parsed.
A worker that ends, as one does that is killed for its memory, fails its experiment; another takes its place.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import TYPE_CHECKING, Final, Generic, Protocol, Self, TypeVar

from kubewasp.lab.experiments import experiment
from kubewasp.lab.experiments.experiment_worker import Assignment, Reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kubewasp.lab.experiments.experiment import Candidate, LabInput
    from kubewasp.lab.experiments.pod_history import PodFate
    from kubewasp.lab.traces.samples import Sample

T = TypeVar("T")
Result_co = TypeVar("Result_co", covariant=True)
# Not `-m`: classes of the main module have another name there.
_WORKER: Final = "from kubewasp.lab.experiments.experiment_worker import main; main()"
_END_SECONDS: Final = 30.0


class Work(Protocol[Result_co]):
    """What is done for an experiment: a function that other processes can import, or a `partial` of one."""

    def __call__(self, given: LabInput, candidate: Candidate, seed: int, /) -> Result_co: ...


@dataclass(frozen=True, slots=True)
class Figures:
    """Outcome of an experiment in plain values: measures by name, and those of fates and samples that are kept."""

    measures: Mapping[str, float]
    seconds: float
    fates: Mapping[str, PodFate] = field(default_factory=dict)
    samples: Sequence[Sample] = ()


def figures(
    given: LabInput, candidate: Candidate, seed: int, *, keeps_fates: bool = False, keeps_samples: bool = False
) -> Figures:
    """Runs an experiment for its figures."""
    outcome = experiment.run(given, candidate, seed, keeps_fates=keeps_fates)
    samples = outcome.trace.samples if keeps_samples and outcome.trace is not None else ()
    return Figures(dict(outcome.measures), outcome.report.seconds, outcome.fates, tuple(samples))


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """An experiment to do, on an input by name. `key` comes back with its result."""

    key: str
    given: str
    candidate: Candidate
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """An experiment that has run."""

    key: str
    value: T


@dataclass(frozen=True, slots=True)
class Failed:
    """An experiment that has not. `trace` is the stack trace of an error that is none of the user's."""

    key: str
    error: str
    trace: str = ""


def available_processes() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ExperimentPool(Generic[T]):
    """Workers, started when there are experiments for them. Leaving the context ends them, also in mid-experiment.

    Args:
        inputs: Inputs by name.
        work: What is done for each experiment, such as `figures`.
        processes: The most workers.
    """

    def __init__(self, inputs: Mapping[str, LabInput], work: Work[T], processes: int) -> None:
        self._inputs = inputs
        self._pickled: dict[str, bytes] = {}
        self._work = pickle.dumps(work)
        self._processes = max(processes, 1)
        self._idle: list[_Process] = []
        self._busy: dict[Connection, tuple[_Process, str]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self._idle, *(process for process, _ in self._busy.values())):
            process.end()
        self._idle.clear()
        self._busy.clear()

    def run(self, runs: Iterable[PlannedRun]) -> Iterator[Done[T] | Failed]:
        """Results in the order of completion. A run is taken from `runs` when a worker is free for it."""
        waiting = iter(runs)
        has_more = True
        while True:
            while has_more and len(self._busy) < self._processes:
                planned = next(waiting, None)
                if planned is None:
                    has_more = False
                elif (failed := self._assign(planned)) is not None:
                    yield failed
            if not self._busy:
                return
            for ready in wait(list(self._busy)):
                yield self._result(ready)  # type: ignore[arg-type]

    def _assign(self, planned: PlannedRun) -> Failed | None:
        process = self._idle.pop() if self._idle else _Process(self._work)
        content = None if planned.given in process.inputs else self._content(planned.given)
        try:
            process.send(pickle.dumps(Assignment(planned.given, content, planned.candidate, planned.seed)))
        except OSError:
            return Failed(planned.key, process.ended())
        process.inputs.add(planned.given)
        self._busy[process.connection] = process, planned.key
        return None

    def _content(self, name: str) -> bytes:
        """An input, pickled once for all workers."""
        if name not in self._pickled:
            self._pickled[name] = pickle.dumps(self._inputs[name])
        return self._pickled[name]

    def _result(self, ready: Connection) -> Done[T] | Failed:
        process, key = self._busy[ready]
        try:
            reply: Reply = pickle.loads(ready.recv_bytes())  # noqa: S301 - from a worker of ours
        except (EOFError, OSError):
            del self._busy[ready]
            return Failed(key, process.ended())
        del self._busy[ready]
        self._idle.append(process)
        return Failed(key, reply.error, reply.trace) if reply.error else Done(key, reply.value)


class _Process:
    """A worker. An interrupt of the terminal does not reach it: its process group is its own."""

    def __init__(self, work: bytes) -> None:
        self.inputs: set[str] = set()
        self.connection, other = Pipe()
        with other:
            descriptor = other.fileno()
            command = [sys.executable, "-c", _WORKER, str(descriptor)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(descriptor,), process_group=0
            )
        self._work: bytes | None = work

    def send(self, task: bytes) -> None:
        if self._work is not None:
            self.connection.send_bytes(self._work)
            self._work = None
        self.connection.send_bytes(task)

    def end(self) -> None:
        self.connection.close()
        self._process.kill()
        self._process.wait()

    def ended(self) -> str:
        """Why the process has ended, after the end of its connection."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self.end()
        return _reason(self._process.returncode)


def _reason(code: int) -> str:
    if code >= 0:
        return f"the worker process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = ": out of memory?" if -code == signal.SIGKILL else ""
    return f"the worker process was ended by {name}{hint}"
