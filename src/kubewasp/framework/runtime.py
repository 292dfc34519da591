"""Framework runtime: runs the plugins of one profile at each extension point.

HOT PATH (guard: make counts). More than 400 lines: one method per extension point.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kubewasp.framework.binding_annotations import NO_ANNOTATIONS, AnnotationError, merged
from kubewasp.framework.cluster_events import Action
from kubewasp.framework.decision_record import DecisionRecord, FilterRecord, ScoreRecord
from kubewasp.framework.filtering import FilterOutcome, Objection, PreFilterOutcome
from kubewasp.framework.hints import HintRecorder
from kubewasp.framework.messages import invalid_score
from kubewasp.framework.observer import NO_OBSERVER, PluginUse, SchedulerObserver, always_success, itself, observed
from kubewasp.framework.plugin import (
    MAX_SCORE,
    MIN_SCORE,
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
    PreScorePlugin,
    QueueSortPlugin,
    Registration,
    ReservePlugin,
    ScorePlugin,
    may_ask_each_node,
    rejection,
)
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.framework.unexpected import UnexpectedErrors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable


class Framework:
    """The plugins of one profile, in the order of each extension point. A method runs an extension point."""

    def __init__(
        self,
        name: str,
        points: Mapping[str, Sequence[tuple[Plugin, int]]],
        observer: SchedulerObserver = NO_OBSERVER,
        *,
        before: Framework | None = None,
    ) -> None:
        """`before` is the framework that this one replaces: it continues its accounts."""
        self.name = name
        self.observer = observer
        self.points = points
        self._unexpected = UnexpectedErrors(observer)
        self.pre_enqueue: list[PreEnqueuePlugin] = _of(points, "preEnqueue")
        self.gates = {plugin.name: plugin for plugin in self.pre_enqueue}
        self.queue_sort: QueueSortPlugin = _of(points, "queueSort")[0]
        self.pre_filter: list[PreFilterPlugin] = _of(points, "preFilter")
        self.filter: list[FilterPlugin] = _of(points, "filter")
        self.post_filter: list[PostFilterPlugin] = _of(points, "postFilter")
        self.pre_score: list[PreScorePlugin] = _of(points, "preScore")
        self.score: list[tuple[ScorePlugin, int]] = [
            (cast("ScorePlugin", plugin), weight or 1) for plugin, weight in points.get("score", ())
        ]
        self.reserve: list[ReservePlugin] = _of(points, "reserve")
        self.permit: list[PermitPlugin] = _of(points, "permit")
        self.pre_bind: list[PreBindPlugin] = _of(points, "preBind")
        self.bind: list[BindPlugin] = _of(points, "bind")
        self.post_bind: list[PostBindPlugin] = _of(points, "postBind")
        self.plugins = {plugin.name: plugin for enabled in points.values() for plugin, _ in enabled}
        # Plugins with their accounts, at the points where they judge pods and nodes.
        known = {} if before is None else {(use.point, use.plugin): use for use in before.uses()}

        def use_of(point: str, plugin: Plugin) -> PluginUse:
            return known.get((point, plugin.name)) or PluginUse(point, plugin.name)

        self._pre_filters = [(plugin, use_of("PreFilter", plugin)) for plugin in self.pre_filter]
        self._filters = [(plugin, use_of("Filter", plugin)) for plugin in self.filter]
        self._pre_scorers = [(plugin, use_of("PreScore", plugin)) for plugin in self.pre_score]
        self._scorers = [(plugin, weight, use_of("Score", plugin)) for plugin, weight in self.score]
        # Plugins that may have to be called per node. Built-in plugins never have to.
        self._filters_by_node = [plugin for plugin in self.filter if may_ask_each_node(type(plugin))]
        self._scores_by_node = [plugin for plugin, _ in self.score if may_ask_each_node(type(plugin))]
        self.may_ask_each_node = bool(self._filters_by_node or self._scores_by_node)

    def has_same_plugins(self, points: Mapping[str, Sequence[tuple[Plugin, int]]]) -> bool:
        """Whether these are the same plugin objects, in the same order, with the same weights."""
        return _identities(self.points) == _identities(points)

    def asking_each_node(self, state: CycleState) -> tuple[list[str], list[str]]:
        """Names of the plugins that filter, and of those that score, by a call per node; after PreFilter."""
        filtering = [
            plugin.name
            for plugin in self._filters_by_node
            if plugin.name not in state.skip_filter and plugin.asks_each_node(state)
        ]
        return filtering, [plugin.name for plugin in self._scores_by_node if plugin.asks_each_node(state)]

    def judges_by_counts(self, state: CycleState) -> bool:
        """Whether all plugins that filter for the pod judge by counts alone, see `FilterPlugin.counts_only`."""
        return all(
            getattr(plugin, "counts_only", False)
            for plugin in (*self.pre_filter, *self.filter)
            if plugin.name not in state.skip_filter
        )

    def uses(self) -> Iterator[PluginUse]:
        """Accounts of all plugins. Safe from any thread."""
        for pairs in (self._pre_filters, self._filters, self._pre_scorers):
            yield from (use for _, use in pairs)
        yield from (use for _, _, use in self._scorers)

    @property
    def seconds(self) -> dict[str, float]:
        """Time spent per plugin."""
        found: dict[str, float] = {}
        for use in self.uses():
            if use.seconds:
                found[use.plugin] = found.get(use.plugin, 0.0) + use.seconds
        return found

    def registrations(self) -> Iterator[tuple[str, Registration]]:
        """Event registrations by plugin; a plugin without `EnqueueExtensions` is registered for all events."""
        for name, plugin in self.plugins.items():
            events = plugin.events() if isinstance(plugin, EnqueueExtensions) else (_ANY_EVENT,)
            for registration in events:
                yield name, registration

    # ------------------------------------------------------------------ before the nodes

    @observed("PreEnqueue", itself)
    def run_pre_enqueue(self, pod: Pod, gated_by: str = "") -> Status:
        """Whether the pod may be queued. The plugin that gated it last runs first."""
        is_sampled = self.observer.samples()
        first = self.gates.get(gated_by)
        for plugin in self.pre_enqueue if first is None else dict.fromkeys((first, *self.pre_enqueue)):
            began = time.perf_counter()
            try:
                status = plugin.pre_enqueue(pod)
            except Exception as error:  # noqa: BLE001 - the pod stays gated, and is asked about again
                text = self._unexpected.report("PreEnqueue", error, plugin=plugin.name, pod=pod.key)
                status = Status(Code.ERROR, f"unexpected error: {text}")
            if is_sampled:
                self._sampled("PreEnqueue", plugin, status, began)
            if not status.is_success:
                return status.of(plugin.name)
        return SUCCESS

    @observed("PreFilter", lambda outcome: outcome.status)
    def run_pre_filter(
        self, state: CycleState, pod: Pod, table: NodeTable, record: DecisionRecord | None = None
    ) -> PreFilterOutcome:
        nodes: frozenset[str] | None = None
        narrowing: list[str] = []
        rejected = SUCCESS
        for plugin, use in self._pre_filters:
            began = time.perf_counter()
            result = plugin.pre_filter(state, pod, table)
            status = result.status
            seconds = use.add(began, status.code != Code.SKIP)
            if state.is_sampled:
                self.observer.plugin(plugin.name, "PreFilter", status.label, seconds)
            if record is not None:
                record.pre_filter.append((plugin.name, status))
                if status.is_rejected:
                    HintRecorder(record, state, pod, table).of_pod(plugin, status)
            if status.code == Code.SKIP:
                state.skip_filter.add(plugin.name)
                continue
            if status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PreFilterOutcome(status.of(plugin.name))
            if status.code == Code.UNSCHEDULABLE:
                rejected = status.of(plugin.name)
                continue
            if not status.is_success:
                return PreFilterOutcome(_error(f'running PreFilter plugin "{plugin.name}": {status.reason}', plugin))
            if result.nodes is not None:
                narrowing.append(plugin.name)
                if record is not None:
                    record.narrowed[plugin.name] = result.nodes
                nodes = result.nodes if nodes is None else nodes & result.nodes
                if not nodes:
                    return PreFilterOutcome(_nowhere(sorted(narrowing)), nodes, tuple(sorted(narrowing)))
        return PreFilterOutcome(rejected, nodes, tuple(sorted(narrowing)))

    # ------------------------------------------------------------------ the nodes

    def run_filters(
        self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows, record: DecisionRecord | None = None
    ) -> FilterOutcome:
        """The first plugin that rejects a node decides; later plugins run on the nodes left."""
        left = rows
        objections: list[Objection] = []
        for plugin, use in self._filters:
            if plugin.name in state.skip_filter:
                continue
            asked = rows if record is not None else left
            began = time.perf_counter()
            verdicts = plugin.filter(state, pod, table, asked)
            seconds = use.add(began, len(asked))
            if state.is_sampled:
                self.observer.plugin(plugin.name, "Filter", SUCCESS.label, seconds)
            if record is not None:
                record.filters.append(FilterRecord(plugin.name, rows, verdicts))
                if verdicts is not None:
                    HintRecorder(record, state, pod, table).of_nodes(plugin, rows, verdicts)
            if verdicts is None:
                continue
            numbers = verdicts.numbers if record is None else verdicts.numbers[np.isin(rows, left)]
            failing = numbers != 0
            if not np.count_nonzero(failing):
                continue
            objection = Objection(plugin.name, left[failing], numbers[failing], verdicts)
            error = objection.error()
            if error is not None:
                text = f'running "{plugin.name}" filter plugin: {error.reason}'
                return FilterOutcome(rows[:0], objections, _error(text, plugin))
            objections.append(objection)
            left = left[~failing]
            if not len(left) and record is None:
                break
        return FilterOutcome(left, objections)

    @observed("PreFilterExtensionAddPod", itself)
    def run_add_pod(self, state: CycleState, pod: Pod, added: Pod, row: int, table: NodeTable) -> Status:
        for plugin in self.pre_filter:
            if plugin.name not in state.skip_filter:
                began = time.perf_counter()
                status = plugin.add_pod(state, pod, added, row, table)
                if state.is_sampled:
                    self._sampled("PreFilterExtensionAddPod", plugin, status, began)
                if not status.is_success:
                    return _error(f'running AddPod on PreFilter plugin "{plugin.name}": {status.reason}', plugin)
        return SUCCESS

    @observed("PreFilterExtensionRemovePod", itself)
    def run_remove_pod(self, state: CycleState, pod: Pod, removed: Pod, row: int, table: NodeTable) -> Status:
        for plugin in self.pre_filter:
            if plugin.name not in state.skip_filter:
                began = time.perf_counter()
                status = plugin.remove_pod(state, pod, removed, row, table)
                if state.is_sampled:
                    self._sampled("PreFilterExtensionRemovePod", plugin, status, began)
                if not status.is_success:
                    return _error(f'running RemovePod on PreFilter plugin "{plugin.name}": {status.reason}', plugin)
        return SUCCESS

    @observed("PostFilter", lambda outcome: outcome.status)
    def run_post_filter(
        self, state: CycleState, pod: Pod, table: NodeTable, statuses: Mapping[str, Status]
    ) -> PostFilterResult:
        """Ends with the first plugin that makes the pod schedulable; the reasons of the others are joined."""
        reasons: list[str] = []
        nominated: str | None = None
        for plugin in self.post_filter:
            began = time.perf_counter()
            result = plugin.post_filter(state, pod, table, statuses)
            if state.is_sampled:
                self._sampled("PostFilter", plugin, result.status, began)
            if plugin.preempts or result.victims:
                self.observer.preemption(len(result.victims))
            if result.status.is_success:
                return result
            if result.status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PostFilterResult(result.status.of(plugin.name), result.nominated_node)
            if not result.status.is_rejected:
                return PostFilterResult(_error(result.status.reason, plugin))
            if result.nominated_node is not None:
                nominated = result.nominated_node
            reasons.extend(result.status.reasons)
        return PostFilterResult(Status(Code.UNSCHEDULABLE, tuple(reasons)), nominated)

    # ------------------------------------------------------------------ scores

    def run_scores(
        self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows, record: DecisionRecord | None = None
    ) -> Scores | Status:
        """Weighted sum of all plugins' scores, one number per row."""
        status = self._pre_scored(state, pod, table, rows)
        return self._scored(state, pod, table, rows, record) if status.is_success else status

    @observed("PreScore", itself)
    def _pre_scored(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status:
        for plugin, use in self._pre_scorers:
            began = time.perf_counter()
            status = plugin.pre_score(state, pod, table, rows)
            seconds = use.add(began, status.code != Code.SKIP)
            if state.is_sampled:
                self.observer.plugin(plugin.name, "PreScore", status.label, seconds)
            if status.code == Code.SKIP:
                state.skip_score.add(plugin.name)
            elif not status.is_success:
                return _error(f'running PreScore plugin "{plugin.name}": {status.reason}', plugin)
        return SUCCESS

    @observed("Score", lambda outcome: outcome if isinstance(outcome, Status) else SUCCESS)
    def _scored(
        self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows, record: DecisionRecord | None
    ) -> Scores | Status:
        totals = np.zeros(len(rows), np.int64)
        for scorer, weight, use in self._scorers:
            if scorer.name in state.skip_score:
                continue
            began = time.perf_counter()
            raw = scorer.score(state, pod, table, rows)
            seconds = use.add(began, len(rows))
            if state.is_sampled:
                self.observer.plugin(scorer.name, "Score", _status(raw).label, seconds)
            if isinstance(raw, Status):
                return _error(f'running Score plugins: plugin "{scorer.name}" failed with: {raw.reason}', scorer)
            began = time.perf_counter()
            scores = scorer.normalize(state, pod, raw.copy() if record is not None else raw)
            seconds = use.add(began, 0)
            if state.is_sampled:
                self.observer.plugin(scorer.name, "ScoreExtensionNormalize", _status(scores).label, seconds)
            if isinstance(scores, Status):
                text = f'plugin "{scorer.name}" failed with: {scores.reason}'
                return _error(f"running Normalize on Score plugins: {text}", scorer)
            wrong = out_of_range(scores)
            if wrong is not None:
                text = invalid_score(scorer.name, wrong, MIN_SCORE, MAX_SCORE)
                return _error(f"applying score defaultWeights on Score plugins: {text}", scorer)
            totals += scores if weight == 1 else scores * weight
            if state.kept_scores is not None and scorer.name in state.kept_scores:
                state.kept_scores[scorer.name] = scores if weight == 1 else scores * weight
            if record is not None:
                record.scores.append(ScoreRecord(scorer.name, weight, raw, scores))
        if record is not None:
            record.scored_rows, record.totals = rows, totals
        return totals

    # ------------------------------------------------------------------ binding

    @observed("Reserve", itself)
    def run_reserve(self, state: CycleState, pod: Pod, node: str) -> Status:
        """A failure of one plugin unreserves all."""
        for plugin in self.reserve:
            began = time.perf_counter()
            outcome = plugin.reserve(state, pod, node)
            status = outcome if outcome.__class__ is Status else _annotated(outcome, plugin, state, pod)
            if state.is_sampled:
                self._sampled("Reserve", plugin, status, began)
            if not status.is_success:
                self.run_unreserve(state, pod, node)
                return _told(status, plugin, f'running Reserve plugin "{plugin.name}": {status.reason}')
        return SUCCESS

    @observed("Unreserve", always_success)
    def run_unreserve(self, state: CycleState, pod: Pod, node: str) -> None:
        state.annotations = NO_ANNOTATIONS
        for plugin in reversed(self.reserve):
            began = time.perf_counter()
            try:
                plugin.unreserve(state, pod, node)
            except Exception as error:  # noqa: BLE001 - the other plugins must undo their reservations
                self._unexpected.report("Unreserve", error, plugin=plugin.name, pod=pod.key)
            if state.is_sampled:
                self._sampled("Unreserve", plugin, SUCCESS, began)

    @observed("Permit", lambda outcome: outcome[0])
    def run_permit(self, state: CycleState, pod: Pod, node: str) -> tuple[Status, dict[str, float]]:
        """Success, a failure, or Wait with the timeouts by plugin, in seconds."""
        waits: dict[str, float] = {}
        for plugin in self.permit:
            began = time.perf_counter()
            status, timeout = plugin.permit(state, pod, node)
            if state.is_sampled:
                self._sampled("Permit", plugin, status, began)
            if status.code == Code.WAIT:
                waits[plugin.name] = min(timeout, MAX_PERMIT_SECONDS)
            elif not status.is_success:
                told = _told(status, plugin, f'running Permit plugin "{plugin.name}": {status.reason}')
                return told, {}
        return (Status(Code.WAIT) if waits else SUCCESS), waits

    @observed("PreBind", itself)
    def run_pre_bind(self, state: CycleState, pod: Pod, node: str, done: set[str] | None = None) -> Status:
        """`Wait` means: call again. Plugins in `done` are skipped; successful ones are added to it."""
        for plugin in self.pre_bind:
            if done is not None and plugin.name in done:
                continue
            began = time.perf_counter()
            outcome = plugin.pre_bind(state, pod, node)
            status = outcome if outcome.__class__ is Status else _annotated(outcome, plugin, state, pod)
            if state.is_sampled:
                self._sampled("PreBind", plugin, status, began)
            if status.code == Code.WAIT:
                return status.of(plugin.name)
            if not status.is_success and status.code != Code.SKIP:
                return _told(status, plugin, f'running PreBind plugin "{plugin.name}": {status.reason}')
            if done is not None:
                done.add(plugin.name)
        return SUCCESS

    @observed("Bind", itself)
    def run_bind(self, state: CycleState, pod: Pod, node: str) -> Status:
        for plugin in self.bind:
            began = time.perf_counter()
            status = plugin.bind(state, pod, node)
            if state.is_sampled:
                self._sampled("Bind", plugin, status, began)
            if status.code == Code.SKIP:
                continue
            if status.code == Code.WAIT:  # the result comes from the client
                return status.of(plugin.name)
            if not status.is_success:
                return _told(status, plugin, f'running Bind plugin "{plugin.name}": {status.reason}')
            return SUCCESS
        return Status(Code.ERROR, "no bind plugin took the pod")

    @observed("PostBind", always_success)
    def run_post_bind(self, state: CycleState, pod: Pod, node: str) -> None:
        for plugin in self.post_bind:
            began = time.perf_counter()
            try:
                plugin.post_bind(state, pod, node)
            except Exception as error:  # noqa: BLE001 - the pod is bound
                self._unexpected.report("PostBind", error, plugin=plugin.name, pod=pod.key)
            if state.is_sampled:
                self._sampled("PostBind", plugin, SUCCESS, began)

    def _sampled(self, point: str, plugin: Plugin, status: Status, began: float) -> None:
        """Observes one plugin, in a sampled cycle."""
        self.observer.plugin(plugin.name, point, status.label, time.perf_counter() - began)


MAX_PERMIT_SECONDS = 15 * 60.0
_ANY_EVENT = Registration("*", Action.ALL)


def _identities(points: Mapping[str, Sequence[tuple[Plugin, int]]]) -> dict[str, list[tuple[int, int]]]:
    return {point: [(id(plugin), weight) for plugin, weight in enabled] for point, enabled in points.items() if enabled}


def _of(points: Mapping[str, Sequence[tuple[Plugin, int]]], point: str) -> list[Any]:
    """The plugins enabled at a point; the profile's expansion has checked that they implement it."""
    return [plugin for plugin, _ in points.get(point, ())]


def _annotated(result: Status | BindingResult, plugin: Plugin, state: CycleState, pod: Pod) -> Status:
    """The status of Reserve or PreBind; adds annotations of a success to the state."""
    if isinstance(result, Status):
        return result
    if result.status.is_success and result.annotations:
        try:
            state.annotations = merged(state.annotations, result.annotations, plugin.name, pod)
        except AnnotationError as error:
            return Status(Code.ERROR, str(error))
    return result.status


def _error(text: str, plugin: Plugin) -> Status:
    return Status(Code.ERROR, text, plugin.name)


def _status(outcome: Scores | Status) -> Status:
    return outcome if isinstance(outcome, Status) else SUCCESS


def _told(status: Status, plugin: Plugin, error: str) -> Status:
    return status.of(plugin.name) if status.is_rejected else Status(Code.ERROR, error, plugin.name)


def _nowhere(plugins: Sequence[str]) -> Status:
    if len(plugins) == 1:
        return rejection(f"node(s) didn't satisfy plugin {plugins[0]}", resolvable=False)
    return rejection(f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}] simultaneously", resolvable=False)


def out_of_range(scores: Scores) -> int | None:
    """The first score outside of 0 to 100."""
    # One pass: as an unsigned number, a negative one is very large.
    if not len(scores) or scores.view(np.uint64).max() <= MAX_SCORE:
        return None
    return int(scores[(scores < MIN_SCORE) | (scores > MAX_SCORE)][0])
