"""Status of a rollout as a document: versions in use, trials with their counts, reloads, bad versions."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s import timestamps
from kubewasp.rollout import rollout_events as events
from kubewasp.rollout.trials import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kubewasp.rollout.ledger import BadVersion
    from kubewasp.rollout.planning import Running
    from kubewasp.rollout.rollout_events import RolloutEvent
    from kubewasp.rollout.trials import PluginTrial
    from kubewasp.scheduler.shadow import Comparison

    Json = dict[str, Any]

_MOST_EVENTS: Final = 50


@dataclass(slots=True)
class RolloutHistory:
    """Counts and last events of reloads. Implements `RolloutListener`; safe from any thread."""

    wall: Callable[[], float]
    reloads: int = 0
    failures: int = 0
    rollbacks: int = 0
    last_failure: str = ""  # empty again after a success
    last_swap: float = 0.0
    _events: deque[tuple[float, RolloutEvent]] = field(default_factory=lambda: deque(maxlen=_MOST_EVENTS))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def happened(self, event: RolloutEvent) -> None:
        with self._lock:
            self._events.append((self.wall(), event))
            if event.reason == events.RELOAD_FAILED:
                self.failures += 1
                self.last_failure = event.message
            elif event.reason == events.RELOADED and not event.plugin:
                self.reloads += 1
                self.last_failure = ""
            elif event.reason == events.ROLLED_BACK:
                self.rollbacks += 1

    def swapped(self, seconds: float) -> None:
        self.last_swap = seconds

    def compared(self, trial: PluginTrial, found: Comparison) -> None:
        pass

    def canary_decides(self, trial: PluginTrial) -> None:
        pass

    def recent(self) -> list[Json]:
        """The last events, the newest first."""
        with self._lock:
            found = list(self._events)
        return [
            {
                "time": timestamps.in_seconds(int(when)),
                "reason": event.reason,
                "plugin": event.plugin,
                "message": event.message,
            }
            for when, event in reversed(found)
        ]


def document(running: Running, history: RolloutHistory, bad: Iterable[tuple[str, BadVersion]]) -> Json:
    """The status. Any thread: the counts of a trial may be of different moments."""
    return {
        "plugins": [_plugin(running, plugin) for plugin in _names(running)],
        "reloads": {
            "succeeded": history.reloads,
            "failed": history.failures,
            "rollbacks": history.rollbacks,
            "lastFailure": history.last_failure,
            "lastSwapSeconds": round(history.last_swap, 6),
        },
        "badVersions": [
            {
                "plugin": plugin,
                "digest": item.key.digest,
                "reason": item.reason,
                "time": timestamps.in_seconds(int(item.time)),
            }
            for plugin, item in bad
        ],
        "events": history.recent(),
    }


def _names(running: Running) -> list[str]:
    names = [name for _, name in running.version.releases]
    return list(dict.fromkeys([*names, *(trial.plugin for trial in running.trials)]))


def _plugin(running: Running, plugin: str) -> Json:
    release, trial = running.version.release_of(plugin), running.trial_of(plugin)
    found: Json = {
        "plugin": plugin,
        "profiles": sorted(profile for profile, name in running.version.releases if name == plugin),
        "digest": "" if release is None else release.digest,
        "source": "" if release is None else release.source,
        "errors": 0 if release is None else release.meter.errors,
        "timeouts": 0 if release is None else release.meter.timeouts,
    }
    purity = None if release is None else release.guest.purity
    if purity is not None:
        found["purity"] = {"reads": list(purity.fields.names), "refutation": purity.refutation}
    return found if trial is None else found | {"trial": _trial(trial)}


def _trial(trial: PluginTrial) -> Json:
    tally = trial.tally
    found: Json = {
        "stage": trial.stage.value,
        "digest": trial.candidate.digest,
        "previous": "" if trial.previous is None else trial.previous.digest,
        "pods": tally.pods,
        "of": trial.window,
        "errors": tally.errors,
        "timeouts": tally.timeouts,
        "p50Seconds": tally.times.percentile(0.5),
        "p99Seconds": tally.times.percentile(0.99),
    }
    if trial.stage is Stage.SHADOW:
        found |= {
            "otherNodes": tally.other_nodes,
            "nodesJudged": tally.verdicts,
            "otherVerdicts": tally.other_verdicts,
            "scoreDistance": round(tally.mean_distance, 3),
            "wholeCycles": tally.whole_cycles,
            "stableP50Seconds": tally.stable_times.percentile(0.5),
            "stableP99Seconds": tally.stable_times.percentile(0.99),
            "examples": list(tally.examples),
        }
    return found
