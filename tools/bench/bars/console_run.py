"""A scheduler in memory with a console, in a process of its own: pods are scheduled with and without open pages.

`python -m tools.bench.bars.console_run` prints a JSON document.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx

from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.console.actions import action_routes
from kubewasp.console.attempt_statistics import AttemptStatistics
from kubewasp.console.authorities import OpenAuthority
from kubewasp.console.console_pace import Pace
from kubewasp.console.live_console import LiveConsole, Serving, live_pages
from kubewasp.console.live_source import LiveSource
from kubewasp.scheduler.composition import tune_garbage_collector
from kubewasp.server.http_server import Address
from tests.console.live_cluster import LiveCluster
from tests.server.test_rollout_endpoints import Control

if TYPE_CHECKING:
    from collections.abc import Sequence

NODES, PODS, PAGES = 5000, 50_000, 10
ROUNDS, SECONDS, SETTLED = 9, 20.0, 4.0
_DECISIONS: Final = 9


@dataclass
class Found:
    """Pods per second and p99 of attempts by round, without and with pages; seconds of answers; bytes of memory."""

    plain: list[float] = field(default_factory=list)
    watched: list[float] = field(default_factory=list)
    plain_p99: list[float] = field(default_factory=list)
    watched_p99: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)  # CPU time of console and server, of the time with pages
    answers: list[float] = field(default_factory=list)
    refused: int = 0
    first_view: float = 0.0
    first_decision: float = 0.0
    decisions: list[float] = field(default_factory=list)
    memory_before: int = 0
    memory_viewed: int = 0
    memory_after: int = 0


class Work:
    """Schedules pods on a thread, as in a live process; each new pod replaces an old one."""

    def __init__(self, cluster: LiveCluster) -> None:
        self.attempts: list[float] = []
        self._cluster = cluster
        self._is_running = threading.Event()
        self._is_idle = threading.Event()
        self._is_over = False
        self._made: list[str] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def start(self) -> None:
        self.attempts = []
        self._is_idle.clear()
        self._is_running.set()

    def pause(self) -> None:
        self._is_running.clear()
        self._is_idle.wait()

    def end(self) -> None:
        self._is_over = True
        self._is_running.set()
        self._thread.join()

    def _run(self) -> None:
        cluster = self._cluster.cluster
        while True:
            if not self._is_running.is_set():
                self._is_idle.set()
                self._is_running.wait()
            if self._is_over:
                return
            self._made.append(self._cluster.churn.pod(is_plain=True))
            cluster.deliver(3)
            began = time.perf_counter()
            cluster.step()
            self.attempts.append(time.perf_counter() - began)
            cluster.deliver(3)
            if len(self._made) > 500 and ("Pod", self._made[0]) in cluster.objects:
                cluster.delete("Pod", self._made.pop(0))


def _filled() -> LiveCluster:
    cluster = LiveCluster(Path(tempfile.mkdtemp(prefix="kubewasp-console-")), nodes=NODES)
    container = {"name": "c", "image": "app:1", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    for number in range(PODS):
        name = f"bound-{number}"
        spec = {"schedulerName": "default-scheduler", "priority": 0, "containers": [container]}
        metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": {"app": f"a{number % 97}"}}
        cluster.cluster.put("Pod", {"metadata": metadata, "spec": {**spec, "nodeName": f"n{number % NODES}"}})
        if number % 1000 == 0:
            cluster.tell()
    cluster.tell()
    return cluster


async def _measure(found: Found) -> None:
    cluster = _filled()
    statistics = AttemptStatistics(SYSTEM_CLOCK)
    cluster.scheduler.subscribe(statistics)
    pace = Pace(statistics.is_busy)
    source = LiveSource(cluster, statistics, cluster.metrics, pace, SYSTEM_CLOCK, title="bench")
    pages = live_pages(source, pace, action_routes(Control()))
    console = LiveConsole(Serving(Address(port=0), OpenAuthority()), pages, source, pace, SYSTEM_CLOCK)
    await console.start()
    tune_garbage_collector()
    gc.collect()
    gc.freeze()
    work = Work(cluster)
    try:
        found.memory_before = _memory()
        await _quiet(console, found)
        for turn in range(ROUNDS):
            for is_watched in (False, True) if turn % 2 else (True, False):
                await _round(console, work, pace, found, is_watched=is_watched)
        found.memory_after = _memory()
    finally:
        work.end()
        await console.stop()


async def _quiet(console: LiveConsole, found: Found) -> None:
    """First views, and decisions, while nothing is scheduled."""
    async with httpx.AsyncClient(base_url=console.server.url, timeout=60) as client:
        found.first_view = await _timed(client, "/session", "/overview", "/map")
        found.memory_viewed = _memory()
        await asyncio.sleep(2)
        found.first_decision = await _timed(client, "/pods/default/bound-0/decision")
        for number in range(1, _DECISIONS + 1):
            await asyncio.sleep(2)  # between two clicks
            found.decisions.append(await _timed(client, f"/pods/default/bound-{number}/decision"))


async def _timed(client: httpx.AsyncClient, *views: str) -> float:
    began = time.perf_counter()
    for view in views:
        (await client.get(f"/api/v1{view}")).raise_for_status()
    return time.perf_counter() - began


async def _round(console: LiveConsole, work: Work, pace: Pace, found: Found, *, is_watched: bool) -> None:
    seconds, pages = SECONDS + SETTLED, None
    if is_watched:
        command = [sys.executable, "-m", "tools.bench.bars.console_pages"]
        arguments = [str(console.server.address.port), str(PAGES), str(seconds)]
        pages = await asyncio.create_subprocess_exec(*command, *arguments, stdout=asyncio.subprocess.PIPE)
        await asyncio.sleep(1)  # its imports
    work.start()
    await asyncio.sleep(SETTLED)
    work.attempts.clear()
    began, used = time.perf_counter(), pace.used() + time.thread_time()
    await asyncio.sleep(SECONDS - 1)
    attempts, took = work.attempts.copy(), time.perf_counter() - began
    if is_watched:
        found.shares.append((pace.used() + time.thread_time() - used) / took)
    work.pause()
    rates, latencies = (found.watched, found.watched_p99) if is_watched else (found.plain, found.plain_p99)
    rates.append(len(attempts) / took)
    latencies.append(_quantile(attempts, 0.99))
    if pages is not None:
        output, _ = await pages.communicate()
        seen: dict[str, list[float]] = json.loads(output)
        found.answers += seen.pop("answers", [])
        found.refused += sum(map(len, seen.values()))


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def _memory() -> int:
    """Resident bytes of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


def main() -> None:
    found = Found()
    asyncio.run(_measure(found))
    document: dict[str, Any] = asdict(found)
    sys.stdout.write(json.dumps(document))


if __name__ == "__main__":
    main()
