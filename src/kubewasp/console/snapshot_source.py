"""Source of one moment: a cluster as it was when a snapshot was taken. Pending pods are decided on, but not placed."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from kubewasp.console.console_source import Activity, Capabilities, Mode, NotThereError, Run, Session
from kubewasp.console.picture import ACTIVE, GATED, UNSCHEDULABLE, Picture
from kubewasp.console.plugin_facts import plugin_facts, profile_facts
from kubewasp.console.queue_entries import queue_entries
from kubewasp.console.study import Study
from kubewasp.errors import KubewaspError
from kubewasp.scheduler.composition import set_up

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kubewasp.clock import Clock
    from kubewasp.console.console_source import PluginFacts, Timeline
    from kubewasp.console.picture import QueueEntry
    from kubewasp.console.run_comparison import RunComparison
    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.scheduler.composition import Setup
    from kubewasp.simulation.embedded_cluster import EmbeddedCluster
    from kubewasp.wasm.guest_log import GuestLogSink

_MOST_SHAPES: Final = 100


class SnapshotSource:
    """Implements `ConsoleSource` for a cluster that has not run."""

    def __init__(self, title: str, cluster: EmbeddedCluster, settings: SchedulerConfig, added: Collection[str]) -> None:
        def make_setup(_clock: Clock, logs: GuestLogSink) -> Setup:
            return set_up(settings, added=added, guest_logs=logs)

        scheduler = cluster.scheduler
        frameworks = list(scheduler.frameworks.values())
        nodes = {node.name: node for node in scheduler.table.nodes if node is not None}
        pods, objects = dict(cluster.pods), scheduler.store.copy()
        self._taken = Picture(cluster.clock.wall(), nodes, pods, queue_entries(scheduler), objects)
        self._study = Study(make_setup)
        self._plugins = plugin_facts(frameworks, settings)
        self._session = Session(Mode.SNAPSHOT, title, (Run("0", title),), Capabilities(), profile_facts(frameworks))

    @property
    def session(self) -> Session:
        return self._session

    def picture(self, run: str, at: int | None) -> Picture:
        if run not in ("", "0") or at:
            raise NotThereError("a snapshot has one run and no timeline")
        return self._picture

    @cached_property
    def _picture(self) -> Picture:
        """With the reasons of pending pods: one decision for pods of equal specs and labels."""
        taken, queue = self._taken, dict(self._taken.queue)
        known: dict[tuple[int, int], QueueEntry | None] = {}
        for key, entry in taken.queue.items():
            shape = id(entry.pod.spec), id(entry.pod.labels)
            if entry.part == GATED:
                continue
            if shape not in known and len(known) < _MOST_SHAPES:
                known[shape] = self._decided(entry)
            like = known.get(shape)
            if like is not None:
                queue[key] = replace(entry, part=like.part, message=like.message, plugins=like.plugins)
        return replace(taken, queue=queue, known_columns=taken.columns)

    def _decided(self, entry: QueueEntry) -> QueueEntry | None:
        try:
            found = self._study.decide(self._taken, entry.pod.key)
        except KubewaspError:
            return None
        if found.node:
            return replace(entry, part=ACTIVE, message="it fits now, and has not been tried")
        return replace(entry, part=UNSCHEDULABLE, message=found.message, plugins=tuple(sorted(found.grid.objections)))

    def timeline(self, run: str) -> Timeline | None:  # noqa: ARG002 - interface
        return None

    def study(self, run: str) -> Study:  # noqa: ARG002 - interface
        return self._study

    def activity(self, run: str) -> Activity:  # noqa: ARG002 - interface
        return Activity()

    def plugins(self, run: str) -> Sequence[PluginFacts]:  # noqa: ARG002 - interface
        return self._plugins

    def comparison(self) -> RunComparison | None:
        return None

    def generation(self) -> int:
        return 0
