"""Bars of reloads and rollouts: the swap, a shadow of all pods, scheduling while a large guest is staged."""

from __future__ import annotations

import gc
import os
import statistics
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.framework.config.reading import default_config
from kubewasp.framework.config.rollout import RolloutSettings
from kubewasp.framework.observer import NO_OBSERVER
from kubewasp.k8s import sample_cluster
from kubewasp.rollout.controller import RolloutController
from kubewasp.rollout.ledger import Ledger
from kubewasp.rollout.planning import Running
from kubewasp.rollout.process_version import resolved
from kubewasp.rollout.staging import Stager
from kubewasp.scheduler.composition import tune_garbage_collector
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from kubewasp.wasm.compilation import in_background
from kubewasp.wasm.guest_log import LOGGER_SINK
from tests.guests import build
from tests.rollout.policies import wasm
from tools.bench.bars.bar import Bar
from tools.bench.bars.cycle import labelled_pod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubewasp.framework.config.model import SchedulerConfig, WasmPluginSettings

NODES, QUEUED, SWAPS = 5000, 1000, 40
SHADOW_NODES, SHADOW_PODS, ROUNDS = 1000, 30, 120
STAGINGS, BATCH, REST = 5, 20, 0.02
EXAMPLES = Path(__file__).parents[3] / "examples" / "plugins"


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    tune_garbage_collector()  # as in a scheduler's process
    step(f"{SWAPS} swaps on {NODES:,} nodes, {QUEUED:,} pods in the queue")
    yield _swap()
    step("shadow of all pods")
    yield _shadow(step)
    step("scheduling while a guest is staged")
    yield _staging(step)


class Rolled:
    """A cluster in memory whose scheduler reloads, with work of the other thread done at once."""

    def __init__(self, config: SchedulerConfig, nodes: int) -> None:
        self.stager = Stager(Ledger(None), NO_OBSERVER, LOGGER_SINK)
        version = resolved(config, self.stager.stage(config, ()), NO_OBSERVER)
        self.cluster = EmbeddedCluster(version.setup)
        self.swaps: list[float] = []
        self.controller = RolloutController(
            self.cluster.scheduler,
            Running(version),
            observer=NO_OBSERVER,
            ledger=Ledger(None),
            background=lambda job: job(),
            reload=lambda: None,
            listeners=[self],
        )
        for number in range(1, nodes + 1):
            node = sample_cluster.node(number)
            capacity = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "500"}
            status = node["status"] | {"capacity": capacity, "allocatable": capacity}
            self.cluster.apply(node | {"status": status})
        self._pods = 0

    def reload(self, config: SchedulerConfig) -> None:
        releases = self.stager.stage(config, self.controller.running.releases())
        basis, new = self.controller.plan(config, releases)
        self.controller.apply(basis, new, config, releases)

    def queue(self, pods: int) -> None:
        for _ in range(pods):
            self._pods += 1
            self.cluster.apply(labelled_pod(f"pod-{self._pods}", self._pods % 20))

    def attempts(self, clock: Callable[[], float] = time.perf_counter) -> list[float]:
        """Seconds of each attempt, until the queue is empty."""
        found: list[float] = []
        while True:
            began = clock()
            attempt = self.cluster.scheduler.schedule_one()
            if attempt is None:
                return found
            found.append(clock() - began)

    def batch(self) -> list[float]:
        """Attempts of some pods, which are deleted afterwards, and a short rest: some hundred pods per second."""
        self.queue(BATCH)
        found = self.attempts()
        for number in range(self._pods - BATCH + 1, self._pods + 1):
            self.cluster.delete("Pod", "default", f"pod-{number}")
        time.sleep(REST)
        return found

    def happened(self, event: object) -> None:
        pass

    def swapped(self, seconds: float) -> None:
        self.swaps.append(seconds)

    def compared(self, trial: object, found: object) -> None:
        pass

    def canary_decides(self, trial: object) -> None:
        pass


def _configured(guests: dict[str, str], rollout: RolloutSettings | None = None) -> SchedulerConfig:
    from dataclasses import replace

    config = default_config()
    for name, guest in guests.items():
        config = config.with_wasm_plugin(name, guest)
    if rollout is None:
        return config

    def with_rollout(settings: WasmPluginSettings) -> WasmPluginSettings:
        return replace(settings, rollout=rollout)

    profiles = tuple(
        replace(profile, wasm={name: with_rollout(given) for name, given in profile.wasm.items()})
        for profile in config.profiles
    )
    return replace(config, profiles=profiles)


def _swap() -> Bar:
    with tempfile.TemporaryDirectory() as folder:
        guest = Path(folder) / "policy.wasm"
        guest.write_bytes(wasm("v0"))
        config = _configured({"policy": str(guest)})
        rolled = Rolled(config, NODES)
        rolled.queue(100)
        rolled.attempts()
        rolled.queue(QUEUED)
        gc.collect()
        for number in range(SWAPS):
            guest.write_bytes(wasm(f"v{number + 1}"))
            rolled.reload(config)
    middle, worst = statistics.median(rolled.swaps), max(rolled.swaps)
    note = f"slowest {worst * 1e3:.2f} ms, {QUEUED:,} pods in the queue"
    return Bar("swap of a plugin between two pods, 5,000 nodes", middle * 1e3, "ms", at_most=5, note=note)


def _shadow(step: Callable[[str], None]) -> Bar:
    """Rounds by turns: one plugin, the same plugin twice, and the plugin with a shadow of all pods."""
    guest = str(build.wat("pod_node_name"))
    settings = RolloutSettings(shadow=100.0)
    rolled = {
        "one": Rolled(_configured({"policy": guest}), SHADOW_NODES),
        "two": Rolled(_configured({"policy": guest, "second": guest}), SHADOW_NODES),
        "shadow": Rolled(_configured({"policy": guest}, settings), SHADOW_NODES),
    }
    other = _configured({"policy": guest}, settings).with_wasm_plugin("policy", guest, "another configuration")
    rolled["shadow"].reload(other)
    if rolled["shadow"].controller.running.staged is None:
        raise RuntimeError("no shadow")
    spent: dict[str, list[float]] = {name: [] for name in rolled}
    for turn in range(ROUNDS + 1):
        if turn % 40 == 0:
            step(f"shadow of all pods: round {turn} of {ROUNDS}")
        for name, one in rolled.items():
            one.queue(SHADOW_PODS)
            seconds = statistics.median(one.attempts(time.thread_time))  # all of it runs on this thread
            if turn:  # the first evaluates every node once
                spent[name].append(seconds)
    # The lower quartile of the rounds: other load of the machine only adds.
    usual = {name: statistics.quantiles(seconds, n=4)[0] for name, seconds in spent.items()}
    note = ", ".join(f"{name} {seconds * 1e6:.0f} µs" for name, seconds in usual.items())
    more = 100 * (usual["shadow"] / usual["two"] - 1)
    return Bar("shadow of 100 % of pods against a second plugin", more, "% more", at_most=5, note=note)


def _staging(step: Callable[[str], None]) -> Bar:
    """Attempts while another thread stages a Python guest of 18 MB that is not in the cache, and without."""
    large = build.project_guest(EXAMPLES / "nodenumber-python")
    rolled = Rolled(default_config(), SHADOW_NODES)
    rolled.queue(500)
    rolled.attempts()
    p99: list[tuple[float, float]] = []
    for turn in range(STAGINGS):
        step(f"staging {turn + 1} of {STAGINGS}: {large.stat().st_size / 1e6:.0f} MB")
        with _cold_cache():
            done = threading.Event()
            failed: list[BaseException] = []

            def stage(ended: threading.Event = done, problems: list[BaseException] = failed) -> None:
                try:
                    config = _configured({"large": str(large)})
                    with in_background():
                        staged = Stager(Ledger(None), NO_OBSERVER, LOGGER_SINK).stage(config, ())
                    for release in staged.values():
                        release.guest.close()
                except BaseException as error:  # noqa: BLE001 - raised below
                    problems.append(error)
                finally:
                    ended.set()

            alone: list[float] = []
            beside: list[float] = []
            thread = threading.Thread(target=stage)
            began = time.perf_counter()
            thread.start()
            while not done.is_set():
                beside += rolled.batch()
            thread.join()
            if failed:
                raise failed[0]
            until = time.perf_counter() + (time.perf_counter() - began)
            while time.perf_counter() < until:
                alone += rolled.batch()
            p99.append((statistics.quantiles(beside, n=100)[98], statistics.quantiles(alone, n=100)[98]))
    note = "alone and beside: " + ", ".join(f"{one * 1e6:.0f} and {two * 1e6:.0f} µs" for two, one in p99)
    ratio = statistics.median(two / one for two, one in p99)
    return Bar("p99 of an attempt while a guest of 18 MB is staged", ratio, "x", at_most=1.5, note=note)


@contextmanager
def _cold_cache() -> Iterator[None]:
    before = os.environ.get("KUBEWASP_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KUBEWASP_CACHE_DIR"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["KUBEWASP_CACHE_DIR"]
            else:
                os.environ["KUBEWASP_CACHE_DIR"] = before
