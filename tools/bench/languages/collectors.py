"""Collectors compared: a policy that makes a kilobyte of garbage per node, with each way to get rid of it.

Times are CPU time of the thread: a guest, its collector and the start of its instance run in it.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.cli.plugin_bench import sample_work
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.limits import Limits
from tools.bench import guests
from tools.bench.guests import Unavailable
from tools.bench.languages.example_guests import SOURCES
from tools.bench.model import Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NODES: Final = 1000
PODS: Final = 300
_WARM: Final = 20


@dataclass(frozen=True, slots=True)
class Case:
    """A guest, its configuration and its life: `pods_per_instance` 0 keeps the instance."""

    name: str
    language: str
    config: str = ""
    pods_per_instance: int = 0


# Go: GOGC in percent, and GOMEMLIMIT in MiB. The default limit of a guest's memory is 256 MiB; above three quarters of
# it, the host replaces the instance between two pods.
CASES: Final = (
    Case("Go, its collector as it is", "go"),
    Case("Go, collector at four times the heap (`GOGC=400`)", "go", "400 0"),
    Case("Go, collector only at a limit of 128 MiB (`GOGC=off`)", "go", "-1 128"),
    Case("Go, no collector (`GOGC=off`), replaced when full", "go", "-1 0"),
    Case("Go, an instance for 100 pods, no collector", "go", "-1 0", pods_per_instance=100),
    Case("Go, an instance per pod", "go", pods_per_instance=1),
    Case("Rust, memory freed", "rust"),
    Case("Rust, nothing freed, replaced when full", "rust", "leak"),
    Case("Rust, an instance for 100 pods, nothing freed", "rust", "leak", pods_per_instance=100),
    Case("Rust, an instance per pod", "rust", pods_per_instance=1),
    Case("C, scratch memory reused", "c"),
)


@dataclass(frozen=True, slots=True)
class Figures:
    """Cycles of one case, in microseconds, and the memory of the guest in bytes.

    `instances` were started during the cycles.
    """

    name: str
    median: float
    p99: float
    mean: float
    memory_peak: int
    instances: int


def measure(step: Callable[[str], None]) -> Iterator[Figures | Skipped]:
    for case in CASES:
        step(f"cycles of: {case.name}")
        try:
            wasm = guests.project(SOURCES / f"garbage-{case.language}", case.language)
        except Unavailable as error:
            yield Skipped("languages", case.name, str(error).splitlines()[0])
            continue
        yield _measured(case, wasm.read_bytes())


def _measured(case: Case, wasm: bytes) -> Figures:
    guest = Guest.load(wasm, config=case.config, limits=Limits(pods_per_instance=case.pods_per_instance))
    table, pods = sample_work(NODES, PODS)
    spent, sizes = [], []
    before = 0
    for number in range(_WARM + PODS):
        if number == _WARM:
            before = guest.stats.created
        began = time.thread_time()
        with guest.cycle(pods[number % len(pods)], table) as cycle:
            answer = cycle.score()
            sizes.append(cycle.runner.memory_bytes)
        spent.append((time.thread_time() - began) * 1e6)
        if cycle.failed:
            raise RuntimeError(f"{case.name}: {answer.reason(len(answer) - 1)}")
    later = spent[_WARM:]
    return Figures(
        case.name,
        median=statistics.median(later),
        p99=statistics.quantiles(later, n=100)[98],
        mean=statistics.fmean(later),
        memory_peak=max(sizes),
        instances=guest.stats.created - before,
    )
