"""Fakes for unit tests of plugins, without WebAssembly and without a scheduler.

>>> nodes = [make_node("a", labels={"disk": "ssd"}), make_node("b")]
>>> run(MyPlugin, make_pod("web"), nodes).node                             # doctest: +SKIP
'a'
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from kubewasp_sdk import config as configuration
from kubewasp_sdk import hook_checks, resources, sort_keys
from kubewasp_sdk.node_info import NodeInfo, Nodes
from kubewasp_sdk.objects import Node, Pod
from kubewasp_sdk.plugin import Plugin, overrides
from kubewasp_sdk.scheduler import Scheduler
from kubewasp_sdk.state import CycleState
from kubewasp_sdk.status import SUCCESS, Code, Nominate, Status, Wait, as_status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kubewasp_sdk.recorded_events import Event

__all__ = ["FakeCluster", "Outcome", "make_node", "make_pod", "run"]

_numbers = itertools.count(1)
_ALLOCATABLE = {"cpu": "4", "memory": "16Gi", "pods": "110"}
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def make_pod(
    name: str = "pod",
    *,
    namespace: str = "default",
    uid: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    requests: Mapping[str, str | int] | None = None,
    image: str = "app:1",
    priority: int = 0,
    node: str = "",
    created_at: datetime | None = None,
    spec: Mapping[str, Any] | None = None,
) -> Pod:
    """A pod with one container. `spec` has further fields of the pod spec, or replaces some."""
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "uid": uid or f"{name}-{next(_numbers)}"}
    metadata |= {"labels": dict(labels or {}), "annotations": dict(annotations or {})}
    if created_at is not None:
        metadata["creationTimestamp"] = created_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    container = {"name": "main", "image": image, "resources": {"requests": dict(requests or {})}}
    whole: dict[str, Any] = {"containers": [container], "priority": priority, **(spec or {})}
    if node:
        whole["nodeName"] = node
    return Pod(json.dumps({"metadata": metadata, "spec": whole}))


def make_node(
    name: str = "node",
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    allocatable: Mapping[str, str | int] | None = None,
    taints: Iterable[str | Mapping[str, str]] = (),
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
    conditions: Mapping[str, str] | None = None,
    pods: Iterable[Pod] = (),
) -> NodeInfo:
    """A node with its pods. Taints may have the form `key=value:NoSchedule`."""
    node = NodeInfo(name)
    listed = [{"names": [image], "sizeBytes": size} for image, size in (images or {}).items()]
    states = [{"type": kind, "status": state} for kind, state in (conditions or {"Ready": "True"}).items()]
    quantities = _ALLOCATABLE | dict(allocatable or {})
    manifest = {
        "metadata": {"name": name, "uid": f"{name}-{next(_numbers)}", "annotations": dict(annotations or {})},
        "spec": {"taints": [_taint(taint) for taint in taints], "unschedulable": unschedulable},
        "status": {"allocatable": {key: str(value) for key, value in quantities.items()}, "conditions": states},
    }
    node.replace_object(json.dumps(manifest), json.dumps(dict(labels or {})), json.dumps(listed))
    for pod in pods:
        node.put_pod(pod.uid, pod)
    _count(node)
    return node


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a pod: its node, or the rejections by node."""

    status: Status
    node: str = ""
    rejected: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, int] = field(default_factory=dict)
    nominated: str = ""
    is_waiting: bool = False
    hints: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        return self.status.reason


@dataclass(slots=True)
class _Waiting:
    plugin: Plugin
    state: CycleState
    pod: Pod
    node: NodeInfo
    seconds: float
    until: datetime


class FakeCluster:
    """Nodes with their pods, waiting pods, and a clock.

    Results are in `bound` (placements), `unbound` (reasons of pods that failed after Reserve), `waiting` (pods at
    Permit), `annotations` (of pods with a node) and `events` (recorded events). Reasons are those of the scheduler; the
    plugin is named after its class.
    """

    def __init__(self, *nodes: NodeInfo, now: datetime = NOON) -> None:
        self.nodes = Nodes()
        for node in nodes:
            self.nodes.put(node)
        self.time = now
        self.bound: dict[str, str] = {}
        self.unbound: dict[str, str] = {}
        self.annotations: dict[str, dict[str, str]] = {}
        self.events: list[Event] = []
        self._waiting: dict[str, _Waiting] = {}

    @property
    def waiting(self) -> list[str]:
        """Names of the pods that wait at Permit."""
        return [item.pod.name for item in self._waiting.values()]

    def start(self, plugin: type[Plugin] | Plugin, config: Any = None) -> Plugin:
        """A plugin connected to this cluster. A class is instantiated with the configuration.

        A TypeError names hooks that the scheduler would never call: misspelt ones, or with other parameters.
        """
        hook_checks.check(plugin if isinstance(plugin, type) else type(plugin))
        if isinstance(plugin, type):
            plugin = plugin(configuration.decode(plugin, config))
        plugin._scheduler = Scheduler(self.nodes)  # noqa: SLF001 - in place of the scheduler
        for node in self.nodes:
            node.set_sends_pods("pods" in plugin.wants)
        self._tell(plugin)
        return plugin

    def advance(self, seconds: float) -> None:
        """Advances the clock. Waiting pods past their timeout are rejected."""
        self.time += timedelta(seconds=seconds)
        for uid, item in list(self._waiting.items()):
            if item.until <= self.time:
                waited, plugin = _duration(item.seconds), type(item.plugin).__name__
                self._reject(uid, f"rejected due to timeout after waiting {waited} at plugin {plugin}")

    def queue(self, plugin: Plugin, pods: Iterable[Pod]) -> list[Pod]:
        """Pods in the order of `sort_key`, queued one after the other."""
        queued = [(pod, self.time + timedelta(milliseconds=place)) for place, pod in enumerate(pods)]
        return [pod for pod, at in sorted(queued, key=lambda item: sort_keys.encoded(plugin.sort_key(*item)))]

    def schedule(self, plugin: Plugin, pod: Pod) -> Outcome:
        """A whole scheduling cycle of a pod, with this plugin alone."""
        self._tell(plugin)
        outcome = self._schedule(plugin, pod)
        self._do_what_was_asked(plugin)
        return outcome

    # ------------------------------------------------------------------ the cycle

    def _schedule(self, plugin: Plugin, pod: Pod) -> Outcome:
        state, has = CycleState(), _Overrides(plugin)
        if has("pre_enqueue"):
            status = as_status(plugin.pre_enqueue(pod), "pre_enqueue")
            if not status.is_success:
                return Outcome(status)
        wanted: Collection[str] | None = None
        skips_filter = False
        if has("pre_filter"):
            answer = plugin.pre_filter(state, pod)
            if answer is not None and not isinstance(answer, str | Status | bool):
                wanted = {getattr(item, "name", item) for item in answer}
            else:
                status = as_status(answer, "pre_filter")
                skips_filter = status.code == Code.SKIP
                if not status.is_success and not skips_filter:
                    return Outcome(status, rejected=dict.fromkeys((node.name for node in self.nodes), status.reason))
        feasible, statuses = self._filter(plugin, state, pod, wanted, asks=has("filter") and not skips_filter)
        rejected = {name: status.reason for name, status in statuses.items()}
        hints = {name: status.hint for name, status in statuses.items() if status.hint}
        if not feasible:
            nominated = ""
            if has("post_filter"):
                help_ = plugin.post_filter(state, pod, {name: status.code for name, status in statuses.items()})
                nominated = help_.node if isinstance(help_, Nominate) else ""
            return Outcome(Status.unschedulable("no node passed"), rejected=rejected, nominated=nominated, hints=hints)
        scores = self._score(plugin, state, pod, feasible)
        best = max(feasible, key=lambda node: scores.get(node.name, 0))
        status, waits = self._bind(plugin, state, pod, best)
        node = best.name if status.is_success or waits else ""
        annotations = self.annotations.get(pod.name, {}) if node else {}
        return Outcome(status, node, rejected, scores, is_waiting=waits, hints=hints, annotations=annotations)

    def _filter(
        self, plugin: Plugin, state: CycleState, pod: Pod, wanted: Collection[str] | None, *, asks: bool
    ) -> tuple[list[NodeInfo], dict[str, Status]]:
        feasible, statuses = [], {}
        for node in self.nodes:
            status = SUCCESS
            if wanted is not None and node.name not in wanted:
                name = type(plugin).__name__
                status = Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{name}] simultaneously")
            elif asks:
                status = as_status(plugin.filter(state, pod, node), "filter")
            if status.is_success:
                feasible.append(node)
            else:
                statuses[node.name] = status
        return feasible, statuses

    def _score(self, plugin: Plugin, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> dict[str, int]:
        has = _Overrides(plugin)
        if has("pre_score"):
            status = as_status(plugin.pre_score(state, pod, nodes), "pre_score")
            if status.code == Code.SKIP:
                return {}
            if not status.is_success:
                raise AssertionError(f"pre_score: {status.reason}")
        if not has("score"):
            return {}
        scores = {node.name: plugin.score(state, pod, node) for node in nodes}
        if has("normalize_scores"):
            changed = plugin.normalize_scores(state, pod, scores)
            scores = scores if changed is None else dict(changed)
        elif has("normalize_values"):
            values = list(scores.values())
            changed_values = plugin.normalize_values(state, pod, values)
            scores = dict(zip(scores, values if changed_values is None else changed_values, strict=True))
        elif plugin.normalization is not None:
            scores = dict(zip(scores, plugin.normalization.of(list(scores.values())), strict=True))
        for name, score in scores.items():
            if type(score) is not int or not 0 <= score <= 100:
                raise AssertionError(f"the score of {name} is {score!r}; expected an int from 0 to 100")
        return scores

    def _bind(self, plugin: Plugin, state: CycleState, pod: Pod, node: NodeInfo) -> tuple[Status, bool]:
        has = _Overrides(plugin)
        self.annotations.pop(pod.name, None)
        self._put(pod, node)  # as in the scheduler: Reserve sees the pod on its node
        if has("reserve"):
            status = self._annotating(plugin, "reserve", state, pod, node)
            if not status.is_success:
                return self._give_up(plugin, state, pod, node, status), False
        self._put(pod, node)
        if has("permit"):
            answer = plugin.permit(state, pod, node)
            if isinstance(answer, Wait):
                until = self.time + timedelta(seconds=answer.seconds)
                self._waiting[pod.uid] = _Waiting(plugin, state, pod, node, answer.seconds, until)
                return Status(Code.WAIT, answer.reason), True
            status = as_status(answer, "permit")
            if not status.is_success:
                return self._give_up(plugin, state, pod, node, status), False
        return self._finish(plugin, state, pod, node), False

    def _finish(self, plugin: Plugin, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        has = _Overrides(plugin)
        for hook in ("pre_bind", "bind"):
            if has(hook):
                if hook == "pre_bind":
                    status = self._annotating(plugin, hook, state, pod, node)
                else:
                    status = as_status(plugin.bind(state, pod, node), hook)
                if not status.is_success and status.code != Code.SKIP:
                    return self._give_up(plugin, state, pod, node, status)
        self._put(pod, node)
        self.bound[pod.name] = node.name
        if has("post_bind"):
            plugin.post_bind(state, pod, node)
        return SUCCESS

    def _annotating(self, plugin: Plugin, hook: str, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        """Calls a hook that may annotate the pod; annotations of a success are kept."""
        scheduler = plugin._scheduler  # noqa: SLF001 - in place of the scheduler
        scheduler.may_annotate = True
        try:
            status = as_status(getattr(plugin, hook)(state, pod, node), hook)
        finally:
            scheduler.may_annotate, annotations = False, scheduler.take_annotations()
        if status.is_success and annotations:
            self.annotations[pod.name] = {**self.annotations.get(pod.name, {}), **annotations}
        return status

    def _put(self, pod: Pod, node: NodeInfo) -> None:
        """Puts the pod on its node, with its annotations: other pods' hooks see them."""
        annotations = self.annotations.get(pod.name)
        node.put_pod(pod.uid, _annotated(pod, annotations) if annotations else pod)
        _count(node)

    def _give_up(self, plugin: Plugin, state: CycleState, pod: Pod, node: NodeInfo, status: Status) -> Status:
        node.drop_pod(pod.uid)
        _count(node)
        self.annotations.pop(pod.name, None)
        if _Overrides(plugin)("unreserve"):
            plugin.unreserve(state, pod, node)
        self.unbound[pod.name] = status.reason
        return status

    # ------------------------------------------------------------------ between hooks

    def _tell(self, plugin: Plugin) -> None:
        scheduler = plugin._scheduler  # noqa: SLF001 - as above
        scheduler.seconds = self.time.timestamp()
        waiting = {uid: _placed(item.pod, item.node) for uid, item in self._waiting.items()}
        scheduler.waiting = waiting if "waiting_pods" in plugin.wants else None

    def _do_what_was_asked(self, plugin: Plugin) -> None:
        scheduler = plugin._scheduler  # noqa: SLF001 - as above
        self.events += scheduler.events
        allowed, rejected = scheduler.allowed, scheduler.rejected
        scheduler.events, scheduler.allowed, scheduler.rejected = [], [], []
        for uid in allowed:
            item = self._waiting.pop(uid, None)
            if item is not None:
                self._finish(item.plugin, item.state, item.pod, item.node)
        for uid, reason in rejected:
            self._reject(uid, reason)

    def _reject(self, uid: str, reason: str) -> None:
        item = self._waiting.pop(uid, None)
        if item is not None:
            self._tell(item.plugin)
            self._give_up(item.plugin, item.state, item.pod, item.node, Status.unschedulable(reason))
            self._do_what_was_asked(item.plugin)


class _Overrides:
    """Hooks of a plugin."""

    def __init__(self, plugin: Plugin) -> None:
        self._class = type(plugin)

    def __call__(self, method: str) -> bool:
        return overrides(self._class, method)


def run(
    plugin: type[Plugin] | Plugin, pod: Pod, nodes: Iterable[NodeInfo], *, config: Any = None, now: datetime = NOON
) -> Outcome:
    """Schedules one pod on these nodes with this plugin alone."""
    cluster = FakeCluster(*nodes, now=now)
    return cluster.schedule(cluster.start(plugin, config), pod)


def _count(node: NodeInfo) -> None:
    """Resource totals of a node, from its object and pods."""
    pods = node.all_pods()
    allocatable = resources.from_quantities(Node(node.object_text)["status"]["allocatable"])
    requested, non_zero = resources.Resources(), resources.Resources()
    for pod in pods:
        for total, asked in ((requested, pod.requests), (non_zero, pod.non_zero_requests)):
            for name, amount in asked.items():
                total[name] += amount
    most = allocatable.pop("pods", 0)
    node.replace_numbers(json.dumps([non_zero.cpu, non_zero.memory, len(pods), most, allocatable, requested]))


def _duration(seconds: float) -> str:
    """A timeout of `Wait` in the notation of Go: `1m30s`, `500ms`."""
    milliseconds = int(seconds * 1000)
    if 0 < milliseconds < 1000:
        return f"{milliseconds}ms"
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    shown = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{shown}{rest / 1000:.10g}s"


def _placed(pod: Pod, node: NodeInfo) -> Pod:
    return Pod(json.dumps(pod.raw | {"spec": {**pod.spec, "nodeName": node.name}}))


def _annotated(pod: Pod, annotations: Mapping[str, str]) -> Pod:
    metadata = pod.raw["metadata"]
    added = {**(metadata.get("annotations") or {}), **annotations}
    return Pod(json.dumps(pod.raw | {"metadata": {**metadata, "annotations": added}}))


def _taint(taint: str | Mapping[str, str]) -> Mapping[str, str]:
    if not isinstance(taint, str):
        return taint
    name, _, effect = taint.rpartition(":")
    key, _, value = name.partition("=")
    return {"key": key, "value": value, "effect": effect}
