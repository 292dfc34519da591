"""Results of a wave: asserted by each test, and shown in a table at the end of the session."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pytest

from tests.e2e.faults.wave import Wave
from tests.e2e.proxy import FaultProxy
from tools.testbed.kubewasp import Kubewasp
from tools.testbed.servers import ApiServer

SHOWN: Final = pytest.StashKey[list["Counts"]]()


@dataclass(slots=True)
class Counts:
    """The line of one test."""

    test: str
    wave: Wave
    api: ApiServer
    pods: int = 0
    bound: int = 0
    evicted: int = 0
    pending: int = 0
    bound_twice: int = 0
    moved: int = 0
    over_committed: int = 0
    faults: dict[str, int] = field(default_factory=dict)

    def judge(
        self,
        *,
        schedulers: Sequence[Kubewasp] = (),
        proxies: Iterable[FaultProxy] = (),
        room_is_kept: bool = True,
        more: Mapping[str, int] | None = None,
    ) -> None:
        """Counts what became of a settled wave, then asserts what must hold. `more` goes to the table."""
        wave, log = self.wave, self.wave.log
        bindings = self.api.bindings(wave.cluster.namespace)
        twice = [name for name, count in bindings.items() if count > 1]
        self.pods, self.bound, self.evicted = len(log.names), len(wave.cluster.placements()), len(log.gone)
        self.pending = self.pods - self.bound - self.evicted
        self.bound_twice, self.moved, self.over_committed = len(twice), len(log.moved), len(log.over_committed)
        faults: Counter[str] = Counter()
        for proxy in proxies:
            faults += proxy.injected
        for scheduler in schedulers:
            for what in ("watches", "lists"):
                faults[what] += scheduler.metric(f"kubewasp_reflector_{what}_total")
        self.faults = dict(faults) | dict(more or {})
        assert len(set(log.names.values())) == wave.size, "pods are lost"
        assert twice == []
        assert log.moved == []
        if room_is_kept:
            assert log.over_committed == {}
        for scheduler in schedulers:
            assert scheduler.running, scheduler.log_tail()
            assert scheduler.healthy
            assert "Traceback" not in scheduler.log_text, scheduler.log_tail()


def table(lines: list[Counts]) -> list[list[str]]:
    """Head and rows."""
    numbers = ("pods", "bound", "evicted", "pending", "bound_twice", "moved", "over_committed")
    head = ["", *(name.replace("_", " ") for name in numbers), "what went wrong, and what it took"]
    rows = [[line.test, *(str(getattr(line, name)) for name in numbers), _listed(line.faults)] for line in lines]
    return [head, *rows]


def _listed(faults: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in faults.items() if count)
