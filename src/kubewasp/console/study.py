"""Study: decisions on the pods of a picture, by a read-only scheduler of its own.

It follows pictures by their differences: frozen objects are compared by identity. Nothing is written, and no other
scheduler, its plugins or its guests are touched.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from kubewasp.console.console_source import NotThereError
from kubewasp.console.decision_grid import DecisionGrid
from kubewasp.console.profile_variants import AS_IS, changed_profile, with_profile
from kubewasp.errors import KubewaspError
from kubewasp.explain.dry_run import as_pending, dry_attempt
from kubewasp.explain.plugin_logs import PluginLogs
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.decision_record import DecisionRecord
from kubewasp.framework.handle import ReadOnlyClient
from kubewasp.k8s.codec import decode, encode
from kubewasp.k8s.pods import PodParser
from kubewasp.scheduler.composition import Environment
from kubewasp.state.object_kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kubewasp.clock import Clock
    from kubewasp.console.picture import Picture
    from kubewasp.console.profile_variants import StudiedPlugin, WhatIf
    from kubewasp.explain.dry_run import DryAttempt
    from kubewasp.explain.plugin_logs import PluginLine
    from kubewasp.framework.plugin import Candidate
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.composition import Setup
    from kubewasp.scheduler.scheduler import Scheduler
    from kubewasp.state.object_store import Key
    from kubewasp.wasm.guest_log import GuestLogSink, HookLog

    # The plugins of the study, with a clock and a sink for the lines of guests.
    MakeSetup = Callable[[Clock, GuestLogSink], Setup]

Item = TypeVar("Item")
_HINTED: Final = 200  # nodes of a decision that plugins are asked for hints on
_KEPT: Final = 4  # decisions
_TURN_SECONDS: Final = 20.0
_AT_ONCE: Final = 200  # objects between two rests


class BusyError(KubewaspError):
    """Too many decisions are waiting for their turn."""


@dataclass(frozen=True, slots=True)
class StudiedDecision:
    """A decision: the result, and all nodes with all plugins in `grid`."""

    pod: Pod
    time: float
    result: str
    node: str
    nominated_node: str
    message: str
    sample: str
    notes: Sequence[str]
    plugins: Sequence[StudiedPlugin]
    grid: DecisionGrid
    candidates: Sequence[Candidate]
    victims: Sequence[Pod]
    logs: Sequence[PluginLine]


class Study:
    """Makes decisions, one at a time. Safe from any thread; guests are loaded at the first decision."""

    def __init__(self, make_setup: MakeSetup, *, rest: Callable[[], None] = lambda: None) -> None:
        """`rest` is called now and then while a picture is followed: a running scheduler may need the time."""
        self._make_setup = make_setup
        self._rest = rest
        self._lock = threading.Lock()
        self._clock = _StudyClock()
        self._sink = _Sink()
        self._scheduler: Scheduler | None = None
        self._parser = PodParser()
        self._followed: Picture | None = None
        self._kept: OrderedDict[tuple[object, ...], tuple[Picture, StudiedDecision]] = OrderedDict()

    def decide(self, picture: Picture, key: str, what_if: WhatIf = AS_IS) -> StudiedDecision:
        """The decision on a pod (`namespace/name`) in that cluster. Raises NotThereError, StudyError and BusyError."""
        pod = picture.pods.get(key)
        if pod is None:
            raise NotThereError(f"there is no pod {key}")
        if not self._lock.acquire(timeout=_TURN_SECONDS):
            raise BusyError("other decisions are being made; try again")
        try:
            known = self._kept.get((id(picture), key, what_if.key))
            if known is not None and known[0] is picture:
                return known[1]
            found = self._decided(picture, pod, what_if)
            self._kept[id(picture), key, what_if.key] = picture, found
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            return found
        finally:
            self._lock.release()

    def prepare(self, picture: Picture) -> None:
        """Loads the plugins and takes the cluster in, so that the first decision is quick."""
        with self._lock:
            self._follow(self._ready(), picture)

    def reset(self) -> None:
        """Forgets the plugins: the next decision loads them again, for instance after a reload."""
        with self._lock:
            self._scheduler = self._followed = None
            self._kept.clear()

    # ------------------------------------------------------------------ a decision

    def _decided(self, picture: Picture, pod: Pod, what_if: WhatIf) -> StudiedDecision:
        scheduler = self._ready()
        self._clock.set(picture.time)
        self._follow(scheduler, picture)
        pending, notes = self._as_pending(scheduler, pod)
        profile = pending.spec.scheduler_name
        stable = scheduler.profiles.stable
        plugins, changed = changed_profile(stable, profile, what_if)
        logs = self._sink.logs = PluginLogs()
        if pod.node:
            scheduler.table.remove_pod(pod)
        scheduler.profiles.replace(stable if changed is None else with_profile(scheduler, changed), None)
        try:
            gate = scheduler.frameworks[profile].run_pre_enqueue(pending)
            tried, grid = self._tried(scheduler, picture, pending)
        finally:
            scheduler.profiles.replace(stable, None)
            if pod.node:
                scheduler.table.add_pod(pod)
        choice = tried.choice
        gated = "" if gate.is_success else f"gated by {gate.plugin}: {gate.reason}"
        return StudiedDecision(
            pod,
            picture.time,
            _result(picture, pod, tried, is_gated=bool(gated)),
            tried.node,
            choice.nominated_node or "",
            gated or tried.message,
            "" if tried.record.sample is None else str(tried.record.sample),
            notes,
            plugins,
            grid,
            choice.candidates,
            choice.victims,
            [line for line in logs.lines() if line.pod in (pod.key, "")],
        )

    def _tried(self, scheduler: Scheduler, picture: Picture, pod: Pod) -> tuple[DryAttempt, DecisionGrid]:
        """The attempt, with hints on the nodes that are nearest to being feasible."""
        rotation = scheduler.builder.rotation
        rotation.start = picture.rotation % max(len(scheduler.table), 1)
        tried = dry_attempt(scheduler, pod, DecisionRecord(hinted_rows=frozenset()))
        grid = DecisionGrid.of(tried.record, scheduler.table, tried.node)
        hinted = grid.rejected_rows(_HINTED)
        if hinted:
            self._sink.logs = PluginLogs()  # these calls are not those of the attempt
            grid.add_hints(_hints(scheduler, pod, hinted), hinted)
        return tried, grid

    def _as_pending(self, scheduler: Scheduler, pod: Pod) -> tuple[Pod, Sequence[str]]:
        """The pod without its node."""
        if not pod.node and not pod.is_terminating and pod.spec.scheduler_name in scheduler.frameworks:
            return pod, ()
        manifest = decode("Pod", pod.encoded)
        pending, notes = as_pending(manifest, "", scheduler.frameworks)
        return self._parser.parse(pending, encode("Pod", pending)), notes

    # ------------------------------------------------------------------ the cluster

    def _ready(self) -> Scheduler:
        if self._scheduler is None:
            setup = self._make_setup(self._clock, self._sink)
            self._scheduler = setup.scheduler(Environment(clock=self._clock, client=ReadOnlyClient()))
        return self._scheduler

    def _follow(self, scheduler: Scheduler, picture: Picture) -> None:
        """Takes the differences between the last picture and this one in."""
        before, table = self._followed, scheduler.table
        if before is picture:
            return
        self._followed = None  # until this succeeds
        try:
            _follow_objects(scheduler, {} if before is None else before.objects, picture.objects)
            old_nodes = {} if before is None else before.nodes
            old_pods = {} if before is None else before.pods
            for key, pod in self._rested(old_pods.items()):
                if pod.node and picture.pods.get(key) is not pod:
                    table.remove_pod(pod)
            for name in [name for name in old_nodes if name not in picture.nodes]:
                table.remove_node(name)
            changed = [node for name, node in picture.nodes.items() if old_nodes.get(name) is not node]
            for node in self._rested(changed):
                table.put_node(node)
            if changed or len(old_nodes) != len(picture.nodes):
                _arrange(scheduler, picture.nodes)
            for key, pod in self._rested(picture.pods.items()):
                if pod.node and old_pods.get(key) is not pod:
                    table.add_pod(pod)
            _follow_nominations(scheduler, picture)
        except BaseException:
            self._scheduler = None  # in an unknown state
            raise
        self._followed = picture

    def _rested(self, items: Iterable[Item]) -> Iterator[Item]:
        for number, item in enumerate(items):
            if not number % _AT_ONCE:
                self._rest()
            yield item


def _follow_objects(
    scheduler: Scheduler, before: Mapping[str, Mapping[Key, object]], after: Mapping[str, Mapping[Key, object]]
) -> None:
    for kind in KINDS:
        old, new = before.get(kind, {}), after.get(kind, {})
        if old is new:
            continue
        for key in [key for key in old if key not in new]:
            scheduler.store.delete(kind, *key)
        for key, parsed in new.items():
            if old.get(key) is not parsed:
                scheduler.store.put_parsed(KINDS[kind], key, parsed)


def _arrange(scheduler: Scheduler, nodes: Mapping[str, Node]) -> None:
    """Puts the nodes of the table into the order of the picture, which decides ties."""
    table = scheduler.table
    zones: dict[tuple[str, str], list[int]] = {}
    for name, node in nodes.items():
        row = table.row(name)
        if row is not None:
            zones.setdefault(node.zone_key, []).append(row)
    table.visits.arrange(list(zones.values()))


def _follow_nominations(scheduler: Scheduler, picture: Picture) -> None:
    nominator = scheduler.nominator
    wanted = {entry.pod.uid: entry.pod for entry in picture.queue.values() if entry.pod.nominated_node}
    for node, pod in list(nominator):
        if wanted.get(pod.uid) is not pod or node != pod.nominated_node:
            nominator.withdraw(pod.uid)
    for uid, pod in wanted.items():
        if nominator.node_of(uid) != pod.nominated_node:
            nominator.nominate(pod, pod.nominated_node)


def _hints(scheduler: Scheduler, pod: Pod, rows: Sequence[int]) -> DecisionRecord:
    """A record with the hints on some rows: filters alone, without preemption and scores."""
    cycle, state = scheduler.profiles.cycle_for(pod), CycleState()
    record = DecisionRecord(hinted_rows=frozenset(rows))
    try:
        narrowed = cycle.framework.run_pre_filter(state, pod, scheduler.table, record)
        if narrowed.status.is_success:
            cycle.filter_rows(state, pod, np.array(rows, np.int64), record)
    finally:
        state.close()
    return record


def _result(picture: Picture, pod: Pod, tried: DryAttempt, *, is_gated: bool) -> str:
    if is_gated:
        return "gated"
    if tried.is_error:
        return "error"
    entry = picture.queue.get(pod.key)
    if entry is not None and entry.node and entry.node == tried.node:
        return "waiting"
    return "scheduled" if tried.node else "unschedulable"


# ---------------------------------------------------------------------- surroundings


class _StudyClock:
    """The time of the picture."""

    def __init__(self) -> None:
        self._time = 0.0

    def set(self, when: float) -> None:
        self._time = when

    def now(self) -> float:
        return self._time

    def wall(self) -> float:
        return self._time


class _Sink:
    """Sink of the lines of guests: those of the decision being made."""

    def __init__(self) -> None:
        self.logs = PluginLogs()

    def write(self, call: HookLog) -> None:
        self.logs.write(call)
