"""Scripted plugin with all extension points, which records its calls."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.observer import NO_OBSERVER, SchedulerObserver
from kubewasp.framework.plugin import (
    EXTENSION_POINTS,
    BindingResult,
    BindPlugin,
    EnqueueExtensions,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueueSortPlugin,
    Registration,
    ReservePlugin,
    ScorePlugin,
    Verdicts,
)
from kubewasp.framework.runtime import Framework
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.pods import Pod
from kubewasp.state.node_table import NodeTable

Rows = Scores = NDArray[Any]
SKIP, WAIT = Status(Code.SKIP), Status(Code.WAIT)


def unschedulable(reason: str = "no") -> Status:
    return Status(Code.UNSCHEDULABLE, reason)


def unresolvable(reason: str = "never") -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reason)


def error(reason: str = "broken") -> Status:
    return Status(Code.ERROR, reason)


class Scripted(
    PreEnqueuePlugin,
    QueueSortPlugin,
    PreFilterPlugin,
    FilterPlugin,
    PostFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    ReservePlugin,
    PermitPlugin,
    PreBindPlugin,
    BindPlugin,
    PostBindPlugin,
    EnqueueExtensions,
):
    """Answers are given by hook. An answer that is a list is used up, one call at a time; its last item stays.

    `filter` and `score` are answered by node name: a status, or a score. `log` has (plugin, hook) in order, and may be
    shared between plugins.
    """

    def __init__(self, name: str = "Fake", log: list[Any] | None = None, **answers: Any) -> None:
        self.name = name
        self.log: list[Any] = [] if log is None else log
        self.answers = answers

    def _answer(self, hook: str, default: Any) -> Any:
        self.log.append((self.name, hook))
        found = self.answers.get(hook, default)
        if isinstance(found, list):
            found = found.pop(0) if len(found) > 1 else found[0]
        return found

    def pre_enqueue(self, pod: Pod) -> Status:
        found = self._answer("pre_enqueue", SUCCESS)
        return found(pod) if callable(found) else found

    def sort_key(self, pod: Pod, queued_at: float) -> Any:
        return -pod.priority, queued_at

    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult:
        found = self._answer("pre_filter", SUCCESS)
        if isinstance(found, Status):
            return PreFilterResult(found)
        return found if isinstance(found, PreFilterResult) else PreFilterResult(nodes=frozenset(found))

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, row: int, table: NodeTable) -> Status:
        return self._answer("add_pod", SUCCESS)

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, row: int, table: NodeTable) -> Status:
        return self._answer("remove_pod", SUCCESS)

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        found = self._answer("filter", {})
        if callable(found):
            found = found(pod, table)
        statuses = [found.get(table.node(row).name, SUCCESS) for row in rows.tolist()]
        known = [SUCCESS, *{status: None for status in statuses if not status.is_success}]
        return Verdicts(np.array([known.index(status) for status in statuses], np.int64), known)

    def post_filter(
        self, state: CycleState, pod: Pod, table: NodeTable, statuses: Mapping[str, Status]
    ) -> PostFilterResult:
        found = self._answer("post_filter", unschedulable(""))
        return PostFilterResult(found) if isinstance(found, Status) else found

    def pre_score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status:
        return self._answer("pre_score", SUCCESS)

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        found = self._answer("score", {})
        if isinstance(found, Status):
            return found
        return np.array([found.get(table.node(row).name, 0) for row in rows.tolist()], np.int64)

    def normalize(self, state: CycleState, pod: Pod, scores: Scores) -> Scores | Status:
        found = self.answers.get("normalize")
        if isinstance(found, Status):
            return found
        return scores if found is None else found(scores)

    def reserve(self, state: CycleState, pod: Pod, node: str) -> Status | BindingResult:
        return self._answer("reserve", SUCCESS)

    def unreserve(self, state: CycleState, pod: Pod, node: str) -> None:
        self._answer("unreserve", None)

    def permit(self, state: CycleState, pod: Pod, node: str) -> tuple[Status, float]:
        found = self._answer("permit", SUCCESS)
        return (found, 0.0) if isinstance(found, Status) else found

    def pre_bind(self, state: CycleState, pod: Pod, node: str) -> Status | BindingResult:
        return self._answer("pre_bind", SUCCESS)

    def bind(self, state: CycleState, pod: Pod, node: str) -> Status:
        return self._answer("bind", SUCCESS)

    def post_bind(self, state: CycleState, pod: Pod, node: str) -> None:
        self._answer("post_bind", None)

    def events(self) -> Sequence[Registration]:
        return self.answers.get("events", ())


def make_framework(
    *plugins: Plugin | tuple[Plugin, int],
    points: Iterable[str] = (),
    name: str = "",
    observer: SchedulerObserver = NO_OBSERVER,
) -> Framework:
    """A profile with those plugins, in order, at each of the points (all if none is named); pairs have a weight."""
    pairs = [item if isinstance(item, tuple) else (item, 1) for item in plugins]
    wanted = set(points) | {"queueSort"} if points else set(EXTENSION_POINTS)
    found = {
        point: [(plugin, weight) for plugin, weight in pairs if isinstance(plugin, interface)]
        for point, interface in EXTENSION_POINTS.items()
        if point in wanted
    }
    found["queueSort"] = found["queueSort"][:1] or [(Scripted("Sort"), 0)]
    return Framework(name or "default-scheduler", found, observer)
