"""One soak: servers, scheduler, pods, attacks, and samples of all of it in a file."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import time
from dataclasses import asdict, dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING, Final

from kubewasp import __version__
from kubewasp.errors import KubewaspError
from tools.bench.machine import machine
from tools.soak.health_probe import HealthProbe, get
from tools.soak.hostile_clients import HostileClients
from tools.soak.pod_traffic import PodTraffic
from tools.soak.profiles import pod_groups, profiles
from tools.soak.samples import (
    GUEST_FAILURES,
    GUEST_MEMORY,
    RECYCLED,
    Outcome,
    Recording,
    Sample,
    as_line,
    read_process,
    totals,
)
from tools.testbed.client import ApiError
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import Kubewasp
from tools.testbed.nodes import FakeNodes
from tools.testbed.servers import ApiServer, Etcd

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


RECORDING: Final = "samples.jsonl"
_EVERY: Final = 5.0
_DRAIN_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 60.0
# More decisions than by default: their store is full after two minutes.
_FLAGS: Final = ("--v=2", "--decisions=0.5")


@dataclass(frozen=True, slots=True)
class Settings:
    """Size and length of a soak."""

    minutes: float
    nodes: int
    rate: float


class SoakError(KubewaspError):
    """A soak that could not be run: its servers failed, not the scheduler."""


def soak(settings: Settings, folder: Path, progress: Callable[[Sample], None]) -> Recording:
    """Runs a soak and records it in a file of the folder. Ctrl-C ends it early, with a complete recording."""
    try:
        return _soak(settings, folder, progress)
    except (OSError, HTTPException, ApiError, AssertionError, RuntimeError) as error:
        raise SoakError(f"the soak cannot go on: {error}; logs are in {folder / 'servers'}") from error


def _soak(settings: Settings, folder: Path, progress: Callable[[Sample], None]) -> Recording:
    servers = folder / "servers"
    shutil.rmtree(servers, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    with (
        (folder / RECORDING).open("w", encoding="utf-8", buffering=1) as lines,
        Etcd(servers / "etcd") as etcd,
        ApiServer(servers / "kube-apiserver", etcd) as api,
        FakeNodes(api.client(), prefix="soak") as nodes,
    ):
        head = {**asdict(settings), "version": __version__, "machine": _machine()}
        lines.write(as_line(head))
        nodes.create(settings.nodes)
        scheduler = Kubewasp(servers / "kubewasp", api, profiles=profiles(), flags=_FLAGS)
        with scheduler:
            run = _Run(scheduler, PodTraffic(Cluster(api.client(), "soak"), nodes, pod_groups(), settings.rate))

            def keep(sample: Sample) -> None:
                lines.write(as_line(sample))
                progress(sample)

            samples, outcome = run.all(60 * settings.minutes, keep)
        lines.write(as_line(outcome))
    return Recording(head, tuple(samples), outcome)


class _Run:
    """A soak with servers that are up."""

    def __init__(self, scheduler: Kubewasp, traffic: PodTraffic) -> None:
        self._scheduler = scheduler
        self._traffic = traffic
        self._probe = HealthProbe(scheduler.port)
        self._metrics = ""
        self._began = 0.0

    def all(self, seconds: float, on_sample: Callable[[Sample], None]) -> tuple[list[Sample], Outcome]:
        samples: list[Sample] = []
        self._began = time.monotonic()
        with HostileClients(self._scheduler.port) as clients:
            self._probe.start()
            self._traffic.start()
            with contextlib.suppress(KeyboardInterrupt):
                while self._scheduler.running and self._traffic.problem is None:
                    next_one = _EVERY * (1 + len(samples))
                    time.sleep(max(0.0, self._began + next_one - time.monotonic()))
                    sample = self._sample()
                    if sample is not None:
                        samples.append(sample)
                        on_sample(sample)
                    if time.monotonic() - self._began >= seconds:
                        break
            self._traffic.stop(_DRAIN_SECONDS if self._scheduler.running else 0.0)
            self._probe.stop()
        # Without attacks: under them, `/metrics` may be refused, and the last answer be old.
        self._metrics = get(self._scheduler.port, "/metrics") or self._metrics
        return samples, self._outcome(clients.counts)

    def _sample(self) -> Sample | None:
        """None if the process is gone."""
        try:
            process = read_process(self._scheduler.pid)
        except (OSError, KeyError):  # a zombie has no memory
            return None
        metrics = get(self._scheduler.port, "/metrics")
        self._metrics = metrics or self._metrics
        ledger, probes = self._traffic.ledger, self._probe.counts()
        return Sample(
            seconds=round(time.monotonic() - self._began, 1),
            process=process,
            created=ledger.created.total(),
            bound=ledger.bound,
            pending=len(ledger.pending),
            probes=probes.probes,
            failed_probes=probes.failed,
            slowest_probe=round(probes.slowest, 4),
            metrics_answered=metrics is not None,
            guest_memory=int(sum(totals(self._metrics, GUEST_MEMORY, "plugin").values())),
        )

    def _outcome(self, attacks: dict[str, int]) -> Outcome:
        scheduler, ledger = self._scheduler, self._traffic.ledger
        ended_early = None if scheduler.running else scheduler.wait_ended()
        exit_code = ended_early
        if ended_early is None:
            scheduler.signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                exit_code = scheduler.wait_ended(_STOP_SECONDS)
        starts = tracebacks = 0
        with scheduler.log.open(encoding="utf-8", errors="replace") as log:
            for line in log:
                starts += '"Started scheduling"' in line
                tracebacks += "Traceback (most recent call last)" in line
        return Outcome(
            bound=ledger.bound,
            unbound=tuple(ledger.pending),
            wrongly_bound=tuple(ledger.wrongly_bound),
            pods=dict(ledger.created),
            guest_failures={kind: int(count) for kind, count in totals(self._metrics, GUEST_FAILURES, "kind").items()},
            recycled=int(sum(totals(self._metrics, RECYCLED, "plugin").values())),
            attacks=attacks,
            probe_milliseconds=self._probe.milliseconds(),
            starts=starts,
            tracebacks=tracebacks,
            exit_code=exit_code,
            ended_early=ended_early,
        )


def _machine() -> str:
    found = machine()
    return f"{found['cores']} cores of {found['cpu']}"
