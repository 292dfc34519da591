"""Bars of recordings: what they add to the turns of a scheduler in memory, and the time of their replay."""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.lab.replaying.recording import RecordingReader
from kubewasp.lab.replaying.recording_replay import Replay
from kubewasp.scheduler.composition import tune_garbage_collector
from tests.live.recording.churn import Churn, RecordedCluster
from tools.bench.bars.bar import Bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NODES, PODS, ROUNDS = 500, 400, 7


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    tune_garbage_collector()
    plain, recorded, replayed = list[float](), list[float](), list[float]()
    for turn in range(ROUNDS + 1):
        step(f"{PODS:,} pods on {NODES:,} nodes, recorded and not: round {turn} of {ROUNDS}")
        spent = _round()
        if turn:  # the first one imports
            for found, seconds in zip((plain, recorded, replayed), spent, strict=True):
                found.append(seconds / PODS * 1e6)
    # The lower quartile of the rounds: other load of the machine only adds.
    without, with_it, again = (statistics.quantiles(found, n=4)[0] for found in (plain, recorded, replayed))
    note = f"{without:.0f} µs per pod without, {with_it - without:.0f} µs for its recording"
    yield Bar("recording, of the CPU of turns in memory", 100 * (with_it / without - 1), "%", at_most=30, note=note)
    note = f"{again:.0f} µs per pod"
    yield Bar("replay, of the CPU of the recorded turns in memory", again / without, "x", at_most=2, note=note)


def _round() -> tuple[float, float, float]:
    """CPU seconds without and with a recording, and of its replay."""
    with tempfile.TemporaryDirectory() as folder:
        plain = _scheduled(Path(folder) / "plain", is_recorded=False)
        recorded = _scheduled(Path(folder) / "recorded", is_recorded=True)
        gc.collect()
        began = time.process_time()
        report = Replay(RecordingReader(Path(folder) / "recorded"), lambda config: (config, ())).run()
        replayed = time.process_time() - began
    if report.attempts != PODS or len(report.differences):
        raise RuntimeError(f"{report.attempts} decisions, {len(report.differences)} differences")
    return plain, recorded, replayed


def _scheduled(folder: Path, *, is_recorded: bool) -> float:
    cluster = RecordedCluster(folder, is_recorded=is_recorded, fails=False)
    churn = Churn(cluster, NODES, priorities=False)
    cluster.deliver(10 * NODES)
    gc.collect()
    began = time.process_time()
    for _ in range(PODS):
        churn.pod(is_plain=True)
        cluster.deliver(3)
        cluster.step()
    while len(cluster.attempts) < PODS:
        cluster.deliver(3)
        cluster.step()
    cluster.deliver(10 * PODS)
    cluster.writer.write_queued()
    spent = time.process_time() - began
    cluster.close()
    return spent
