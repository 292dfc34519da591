"""Samples of a soak: figures of the process from /proc and counts so far, as lines of JSON."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORMAT: Final = 1
GUEST_FAILURES: Final = "kubewasp_guest_failures_total"
GUEST_MEMORY: Final = "kubewasp_guest_memory_bytes"
RECYCLED: Final = "kubewasp_guest_instances_recycled_total"


@dataclass(frozen=True, slots=True)
class ProcessFigures:
    """A process at one moment: resident bytes, threads, open descriptors, CPU seconds so far, start time in ticks."""

    memory: int
    threads: int
    descriptors: int
    cpu: float
    started: int


def parse_process(status: str, stat: str, descriptors: int, ticks: int) -> ProcessFigures:
    """Figures from the texts of /proc/PID/status and /proc/PID/stat; `ticks` is the unit of time, per second."""
    lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    numbers = stat.rpartition(")")[2].split()  # the name before may have any character
    return ProcessFigures(
        memory=1024 * int(lines["VmRSS"].split()[0]),
        threads=int(lines["Threads"]),
        descriptors=descriptors,
        cpu=(int(numbers[11]) + int(numbers[12])) / ticks,
        started=int(numbers[19]),
    )


def read_process(pid: int) -> ProcessFigures:
    folder = Path(f"/proc/{pid}")
    descriptors = sum(1 for _ in (folder / "fd").iterdir())
    status, stat = (folder / "status").read_text(), (folder / "stat").read_text()
    return parse_process(status, stat, descriptors, os.sysconf("SC_CLK_TCK"))


def totals(metrics: str, name: str, label: str) -> dict[str, float]:
    """Samples of a metric in Prometheus' text format, added up by the value of a label."""
    found: dict[str, float] = {}
    line = re.compile(rf"^{re.escape(name)}{{(.*)}} (\S+)$", re.MULTILINE)
    for labels, value in line.findall(metrics):
        chosen = re.search(rf'(?:^|,){re.escape(label)}="((?:[^"\\]|\\.)*)"', labels)
        if chosen:
            found[chosen[1]] = found.get(chosen[1], 0.0) + float(value)
    return found


@dataclass(frozen=True, slots=True)
class Sample:
    """One moment of a soak. Counts are those since the start, `slowest_probe` is that since the last sample."""

    seconds: float
    process: ProcessFigures
    created: int
    bound: int
    pending: int  # schedulable pods without a node
    probes: int
    failed_probes: int
    slowest_probe: float
    metrics_answered: bool
    guest_memory: int  # bytes of all instances, part of the process's memory


@dataclass(frozen=True, slots=True)
class Outcome:
    """End of a soak.

    `unbound` are schedulable pods that never got a node, `wrongly_bound` unschedulable ones that got one, `exit_code`
    is that of the scheduler after SIGTERM; None if it had to be killed. `ended_early` is its exit code if it ended
    before. `recycled` are instances of leaking guests that were replaced.
    """

    bound: int = 0
    unbound: tuple[str, ...] = ()
    wrongly_bound: tuple[str, ...] = ()
    pods: Mapping[str, int] = field(default_factory=dict)
    guest_failures: Mapping[str, int] = field(default_factory=dict)
    recycled: int = 0
    attacks: Mapping[str, int] = field(default_factory=dict)
    probe_milliseconds: Mapping[str, float] = field(default_factory=dict)
    starts: int = 0
    tracebacks: int = 0
    exit_code: int | None = None
    ended_early: int | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """All of a soak: its settings, samples and end; a line of JSON each."""

    settings: Mapping[str, Any]
    samples: tuple[Sample, ...]
    outcome: Outcome | None

    @classmethod
    def read(cls, lines: Iterable[str]) -> Self:
        """Raises ValueError for something else. A recording without an end is one of a soak that was killed."""
        settings: Mapping[str, Any] | None = None
        samples: list[Sample] = []
        outcome = None
        for line in lines:
            try:
                kind, content = _read_line(line)
                if kind == "settings" and content["format"] == FORMAT:
                    settings = content
                elif kind == "sample":
                    process = ProcessFigures(**content.pop("process"))
                    samples.append(Sample(process=process, **content))
                elif kind == "outcome":
                    outcome = Outcome(**{one.name: _frozen(content[one.name]) for one in fields(Outcome)})
            except (TypeError, KeyError, AttributeError) as error:
                raise ValueError(f"not a recording of this version: {error}") from None
        if settings is None:
            raise ValueError("not a recording of this version")
        return cls(settings, tuple(samples), outcome)


def as_line(found: Mapping[str, Any] | Sample | Outcome) -> str:
    if isinstance(found, Sample):
        kind, content = "sample", asdict(found)
    elif isinstance(found, Outcome):
        kind, content = "outcome", asdict(found)
    else:
        kind, content = "settings", {"format": FORMAT, **found}
    return json.dumps({kind: content}, separators=(",", ":")) + "\n"


def _read_line(line: str) -> tuple[str, Any]:
    found = json.loads(line)
    (kind,) = found
    return kind, found[kind]


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
