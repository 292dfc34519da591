"""Metrics of reloads and rollouts.  HOT PATH (guard: make bars) while a shadow compares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.rollout import rollout_events as events

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kubewasp.rollout.planning import Running
    from kubewasp.rollout.rollout_events import RolloutEvent
    from kubewasp.rollout.trials import PluginTrial
    from kubewasp.scheduler.shadow import Comparison
    from kubewasp.server.instruments import Labels
    from kubewasp.server.metrics import Metrics


class RolloutMetrics:
    """Metrics of one process. Implements `RolloutListener`."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._reloads = metrics.counter("kubewasp_reloads_total")
        self._swap_seconds = metrics.histogram("kubewasp_swap_duration_seconds")[()]
        self._rollbacks = metrics.counter("kubewasp_rollbacks_total")
        self._shadow_pods = metrics.counter("kubewasp_shadow_pods_total")
        self._shadow_verdicts = metrics.counter("kubewasp_shadow_verdicts_total")
        self._distance = metrics.histogram("kubewasp_shadow_score_distance")
        self._shadow_seconds = metrics.histogram("kubewasp_shadow_duration_seconds")
        self._canary_pods = metrics.counter("kubewasp_canary_pods_total")

    def watch(self, running: Callable[[], Running]) -> None:
        """Adds the versions in use, read at each scrape."""
        self._metrics.gauge("kubewasp_plugin_version_info", lambda: versions(running()))

    def happened(self, event: RolloutEvent) -> None:
        if event.reason == events.RELOADED and not event.plugin:
            self._reloads["success",] += 1
        elif event.reason == events.RELOAD_FAILED:
            self._reloads["failure",] += 1
        elif event.reason == events.ROLLED_BACK:
            self._rollbacks[event.plugin, event.stage] += 1

    def swapped(self, seconds: float) -> None:
        self._swap_seconds.add(seconds)

    def compared(self, trial: PluginTrial, found: Comparison) -> None:
        plugin = trial.plugin
        result = "error" if found.error else "other node" if found.is_other_node else "same node"
        self._shadow_pods[plugin, result] += 1
        self._shadow_verdicts[plugin, "same"] += found.nodes - found.verdicts
        self._shadow_verdicts[plugin, "other"] += found.verdicts
        self._distance[plugin,].add(found.distance)
        self._shadow_seconds[plugin, "candidate"].add(found.seconds)
        self._shadow_seconds[plugin, "stable"].add(found.stable_seconds)

    def canary_decides(self, trial: PluginTrial) -> None:
        self._canary_pods[trial.plugin,] += 1


def versions(running: Running) -> Mapping[Labels, float]:
    """Digests of all versions, in use, on trial and kept for a way back."""
    found: dict[Labels, float] = {}
    unproven = {trial.plugin for trial in running.probations}
    for plugin, digest in running.version.digests.items():
        found[plugin, digest, "probation" if plugin in unproven else "stable"] = 1.0
    if running.staged is not None:
        found[running.staged.plugin, running.staged.candidate.digest, running.staged.stage.value] = 1.0
    for trial in running.probations:
        if trial.previous is not None:
            found[trial.plugin, trial.previous.digest, "previous"] = 1.0
    return found
