"""A peer and kubewasp with the same guest file, measured by turns."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kubewasp.errors import KubewaspError
from kubewasp.k8s import sample_cluster
from tools.bench.labels import HERE
from tools.bench.model import Measurement, Skipped
from tools.bench.peers import runs
from tools.bench.peers.cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tools.bench.peers.runs import Run

# Enough cycles for a stable median; a run takes about a second on each side.
_CYCLES: Final = ((100, 1_000), (1_000, 400), (5_000, 120), (20_000, 40))


@dataclass(frozen=True, slots=True)
class Pair:
    """A peer with the name of its form; `program` and `guest` build or fetch, and may raise UnavailableError."""

    form: str
    program: Callable[[], Path]
    guest: Callable[[], Path]
    pod: Callable[[str], dict[str, Any]] = sample_cluster.pod
    policy: str = "nodenumber"

    def steps(self, sizes: Sequence[int], repetitions: int) -> int:
        return 1 + 2 * len(sizes) * repetitions

    def measure(
        self, step: Callable[[str], None], sizes: Sequence[int], repetitions: int
    ) -> Iterator[Measurement | Skipped]:
        """Calls `step` as often as `steps` returns, also for an unavailable peer."""
        left = self.steps(sizes, repetitions)

        def report(text: str) -> None:
            nonlocal left
            left -= 1
            step(f"{self.form}, {self.policy}: {text}")

        try:
            report("building")
            program, guest = self.program(), self.guest()
            with Cluster(max(sizes), self.pod) as cluster:
                for size in sizes:
                    yield from self._size(_Hosts(program, guest, cluster), size, repetitions, report)
        except KubewaspError as error:  # also a guest that does not load here, or fails
            yield Skipped("plugin", self.form, str(error))
            yield Skipped("plugin", self.form + HERE, f"measured beside {self.form}, which was skipped")
        while left:
            report("skipped")

    def _size(
        self, hosts: _Hosts, nodes: int, repetitions: int, report: Callable[[str], None]
    ) -> Iterator[Measurement | Skipped]:
        cycles = next((count for size, count in _CYCLES if nodes <= size), _CYCLES[-1][1])
        theirs, ours = [], []
        for number in range(1, repetitions + 1):
            report(f"{nodes:,} nodes, {number} of {repetitions}")
            theirs.append(runs.by_program(hosts.program, hosts.guest, hosts.cluster, nodes=nodes, cycles=cycles))
            report(f"its guest here, {nodes:,} nodes, {number} of {repetitions}")
            ours.append(runs.here(hosts.guest, hosts.cluster, nodes=nodes, cycles=cycles))
        if len({run.checksum for run in (*theirs, *ours)}) > 1:
            yield Skipped("plugin", f"{self.form} at {nodes:,} nodes", "its scores differ from those of kubewasp")
            return
        yield from self._measurements(self.form, nodes, theirs)
        yield from self._measurements(self.form + HERE, nodes, ours)

    def _measurements(self, form: str, nodes: int, found: Sequence[Run]) -> Iterator[Measurement]:
        case: dict[str, str | int] = {"policy": self.policy, "form": form, "nodes": nodes}

        def measurement(metric: str, unit: str, value: Callable[[Run], float]) -> Measurement:
            return Measurement("plugin", case, metric, unit, tuple(round(value(run), 3) for run in found))

        yield measurement("load_cold", "ms", lambda run: run.load_ms)
        yield measurement("first_cycle", "µs", lambda run: run.first_us)
        yield measurement("unchanged_cycle", "µs", lambda run: statistics.median(run.cycles_us))
        if all(run.guest_memory for run in found):
            yield measurement("guest_memory", "bytes", lambda run: run.guest_memory)


@dataclass(frozen=True, slots=True)
class _Hosts:
    """Inputs common to both hosts."""

    program: Path
    guest: Path
    cluster: Cluster
