"""Played run: a simulation that has run, with its history, for one or several of which a console is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kubewasp.console.console_source import Activity, Series
from kubewasp.console.history_recorder import HistoryRecorder
from kubewasp.console.plugin_facts import plugin_facts, plugin_times, profile_facts
from kubewasp.console.study import Study
from kubewasp.lab.traces.trace_simulation import TraceSimulation
from kubewasp.scheduler.composition import set_up
from kubewasp.simulation.simulator import Simulation
from kubewasp.wasm.repeatable import Repeatable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.clock import Clock
    from kubewasp.console.console_source import PluginFacts, ProfileFacts, TimelineSeries
    from kubewasp.console.history import History
    from kubewasp.framework.runtime import Framework
    from kubewasp.lab.experiments.experiment import Candidate, LabInput
    from kubewasp.scheduler.attempt import AttemptListener
    from kubewasp.scheduler.composition import Setup
    from kubewasp.wasm.guest_log import GuestLogSink

_MOST_POINTS = 120
_RECENT = 100


@dataclass(frozen=True)
class PlayedRun:
    """A run by its name: history, work, plugins, and a study with the same configuration."""

    name: str
    history: History
    study: Study
    activity: Activity
    profiles: tuple[ProfileFacts, ...]
    plugins: Sequence[PluginFacts]


def play(
    given: LabInput, candidate: Candidate, seed: int = 0, *, listeners: Sequence[AttemptListener] = ()
) -> PlayedRun:
    """Runs an experiment, as `lab.experiments.experiment.run` does, and records its history."""
    objects = given.objects
    made: Simulation | TraceSimulation
    if given.trace is None:
        made = Simulation(objects, candidate.settings, candidate.added, listeners=listeners)
    else:
        made = TraceSimulation(given.trace, objects, candidate.settings, candidate.added, listeners=listeners)
    recorder = HistoryRecorder.of_cluster(made.cluster)
    made.run()
    frameworks = list(made.cluster.scheduler.frameworks.values())
    return played(recorder, candidate, seed, frameworks, real_entropy=objects.real_entropy)


def played(
    recorder: HistoryRecorder,
    candidate: Candidate,
    seed: int,
    frameworks: Sequence[Framework],
    *,
    real_entropy: bool = False,
) -> PlayedRun:
    """A run that has ended."""

    def make_setup(clock: Clock, logs: GuestLogSink) -> Setup:
        repeatable = None if real_entropy else Repeatable(seed, clock)
        return set_up(candidate.settings, added=candidate.added, guest_logs=logs, repeatable=repeatable)

    history = recorder.close()
    return PlayedRun(
        candidate.name,
        history,
        Study(make_setup),
        activity_of(recorder, frameworks),
        profile_facts(frameworks),
        plugin_facts(frameworks, candidate.settings),
    )


def activity_of(recorder: HistoryRecorder, frameworks: Sequence[Framework]) -> Activity:
    """Work of the whole run."""
    history, latencies = recorder.history, np.frombuffer(recorder.latencies, np.float32)
    p50, p99 = (float(found) for found in np.quantile(latencies, (0.5, 0.99))) if len(latencies) else (None, None)
    span = history.end - history.start
    scheduled = recorder.results["scheduled"]
    series = history.series()
    every = slice(None, None, max(1, -(-len(series.time) // _MOST_POINTS)))
    start = max(0, history.length - _RECENT)
    return Activity(
        scheduled,
        recorder.results["unschedulable"],
        recorder.results["error"],
        scheduled / span if span > 0 else None,
        p50,
        p99,
        plugin_times(frameworks),
        list(reversed(history.changes(start, _RECENT))),
        Series(
            list(series.time[every]), list(series.placed[every]), list(series.pending[every]), _rates(series, every)
        ),
    )


def _rates(series: TimelineSeries, every: slice) -> list[float | None]:
    """Growth of the placed pods per second between two points; pods that end make it smaller."""
    times, placed = series.time[every], series.placed[every]
    found: list[float | None] = [None] * len(times)
    for place in range(1, len(times)):
        span = times[place] - times[place - 1]
        if span > 0:
            found[place] = max(0.0, (placed[place] - placed[place - 1]) / span)
    return found
