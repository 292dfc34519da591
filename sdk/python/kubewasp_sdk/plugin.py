"""Base class of plugins: one method per extension point.

Methods that are not overridden are never called and cost nothing. A verdict on a pod is None or True (it passes), a
text (the reason for its rejection), or a `Status`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from kubewasp_sdk import config as configuration
from kubewasp_sdk.scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence
    from datetime import datetime

    from kubewasp_sdk.events import Change, ClusterEvent
    from kubewasp_sdk.node_info import NodeInfo, Nodes
    from kubewasp_sdk.normalization import Normalization
    from kubewasp_sdk.objects import KubernetesObject, Pod
    from kubewasp_sdk.sort_keys import SortKey
    from kubewasp_sdk.state import CycleState
    from kubewasp_sdk.status import Code, Nominate, Status, Verdict, Wait


class Plugin:
    """A scheduling policy.

    >>> class Fast(Plugin):
    ...     def filter(self, state, pod, node):
    ...         if node.labels.get("disk") != "ssd":
    ...             return "no fast disk"

    One object serves many pods, several at a time. Data of a single pod belongs in `state`.
    """

    # Optional data to receive: "pods" (node.pods), "waiting_pods" (self.waiting_pods).
    wants: Collection[str] = ()
    # True if filter and score depend on the Node object only: results per node are then shared by all pods.
    ignores_pod: bool = False
    # True if pre_filter, filter, pre_score and score depend on the pod, the configuration and the node at hand with its
    # pods, and on nothing else. They are then called again for nodes that have changed since they were called for an
    # equal pod: mostly for the node of the previous pod. Pods are equal if all attributes are that the plugin has read.
    # Not pure: other nodes, the nodes of pre_score, waiting pods, the time, attributes of the plugin that other hooks
    # change. Name and uid of the pod, also in a log line, make every pod different. `kubewasp plugin test` compares.
    pure: bool = False
    # Normalization of the scores by the scheduler, in place of `normalize_scores`.
    normalization: Normalization | None = None
    # Decoded JSON. With a dataclass as annotation (`config: MyConfig`), a validated instance of it.
    config: Any
    # Logger of the plugin, forwarded to the scheduler's log. `logging` and `print` work as well.
    log: logging.Logger = logging.getLogger("plugin")

    _scheduler: Scheduler

    def __new__(cls, *_: Any, **__: Any) -> Plugin:
        plugin = super().__new__(cls)
        plugin._scheduler = Scheduler()
        return plugin

    def __init__(self, config: Any = None) -> None:
        self.config = configuration.decode(type(self), config)

    # ------------------------------------------------------------------ queue

    def events(self) -> Sequence[ClusterEvent]:
        """Changes that may make pods schedulable after a rejection by this plugin. Default: all changes."""
        raise NotImplementedError

    def queueing_hint(self, pod: Pod, change: Change) -> bool:
        """Whether a change may make a rejected pod schedulable. Default: always."""
        raise NotImplementedError

    def pre_enqueue(self, pod: Pod) -> Verdict:
        """Whether the pod may enter the queue; a rejected pod waits for an event."""
        raise NotImplementedError

    def sort_key(self, pod: Pod, queued_at: datetime) -> SortKey:
        """Position in the queue, smallest first: a number, text, datetime, or a tuple of these."""
        raise NotImplementedError

    # ------------------------------------------------------------------ scheduling cycle

    def signature(self, pod: Pod) -> Hashable | None:
        """A value of texts, numbers and tuples that is equal for pods with equal results of filter and score.

        The results may otherwise depend on the Node object only. The scheduler calls the hooks once for all pods with
        the same signature. None: no sharing for this pod.
        """
        raise NotImplementedError

    def pre_filter(self, state: CycleState, pod: Pod) -> Verdict | Collection[str]:
        """Runs once per pod, before `filter`. May return the names of the candidate nodes, or `SKIP`."""
        raise NotImplementedError

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, node: NodeInfo) -> Verdict:
        """Updates the state for a pod that is added to the node in a preemption trial."""
        raise NotImplementedError

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, node: NodeInfo) -> Verdict:
        """Updates the state for a pod that is removed from the node in a preemption trial."""
        raise NotImplementedError

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        """Whether the pod can run on this node."""
        raise NotImplementedError

    def post_filter(self, state: CycleState, pod: Pod, statuses: Mapping[str, Code]) -> Nominate | Status | str | None:
        """Runs if no node passed; `statuses` has the rejections. May return `Nominate("node-1")`."""
        raise NotImplementedError

    def pre_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Verdict:
        """Runs once per pod, before `score`, with the feasible nodes. May return `SKIP`."""
        raise NotImplementedError

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Score of the node: 0 to 100, or any integer if the plugin normalizes scores."""
        raise NotImplementedError

    def normalize_scores(self, state: CycleState, pod: Pod, scores: dict[str, int]) -> Mapping[str, int] | None:
        """Normalizes the scores, by node name, to 0 to 100: in place, or as a return value. Compare `normalization`."""
        raise NotImplementedError

    def normalize_values(self, state: CycleState, pod: Pod, values: list[int]) -> Sequence[int] | None:
        """The same without names, which is faster; instead of `normalize_scores`."""
        raise NotImplementedError

    # ------------------------------------------------------------------ binding

    def reserve(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        """Runs when the node is selected for the pod."""
        raise NotImplementedError

    def unreserve(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        """Reverts `reserve` when the pod is not bound after all."""
        raise NotImplementedError

    def permit(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict | Wait:
        """Approves, rejects or delays the binding. `Wait(30)` delays it by up to 30 seconds."""
        raise NotImplementedError

    def pre_bind(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        """Runs immediately before the binding."""
        raise NotImplementedError

    def bind(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        """Binds the pod, or returns `SKIP` for the next bind plugin."""
        raise NotImplementedError

    def post_bind(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        """Runs after the binding."""
        raise NotImplementedError

    # ------------------------------------------------------------------ services for plugins

    def now(self) -> datetime:
        """Time of the scheduler's clock, in UTC; the simulated time in a simulation."""
        return self._scheduler.now()

    @property
    def nodes(self) -> Nodes:
        """All nodes of the cluster."""
        return self._scheduler.nodes

    @property
    def waiting_pods(self) -> Sequence[Pod]:
        """Pods that wait at Permit, with their `node_name`. Requires `wants = ("waiting_pods",)`."""
        return self._scheduler.waiting_pods()

    def allow(self, pod: Pod | str) -> bool:
        """Allows a waiting pod (or uid); False if it is not waiting."""
        return self._scheduler.allow(pod if isinstance(pod, str) else pod.uid)

    def reject(self, pod: Pod | str, reason: str = "") -> bool:
        """Rejects a waiting pod (or uid), which returns to the queue; False if it is not waiting."""
        return self._scheduler.reject(pod if isinstance(pod, str) else pod.uid, reason)

    def annotate(self, key: str, value: str) -> None:
        """Annotates the pod with its binding, in one request; in `reserve` and `pre_bind` only.

        Another value of another plugin for the same key is an error. Nothing is annotated unless the pod is bound.
        """
        self._scheduler.annotate(key, value)

    def record_event(
        self,
        regarding: KubernetesObject,
        *,
        reason: str,
        note: str,
        action: str = "Scheduling",
        type: str = "Normal",  # noqa: A002 - the field name in Kubernetes
        related: KubernetesObject | None = None,
    ) -> None:
        """Records a Kubernetes event about an object. `type` is Normal or Warning."""
        self._scheduler.record_event(regarding, related, kind=type, reason=reason, action=action, note=note)


# Hooks of the ABI and their methods. `signature` is part of prefilter.
METHODS = {
    "preenqueue": "pre_enqueue",
    "queuesort": "sort_key",
    "queueinghint": "queueing_hint",
    "prefilter": "pre_filter",
    "addpod": "add_pod",
    "removepod": "remove_pod",
    "filter": "filter",
    "postfilter": "post_filter",
    "prescore": "pre_score",
    "score": "score",
    "normalizescore": "normalize_scores",
    "reserve": "reserve",
    "unreserve": "unreserve",
    "permit": "permit",
    "prebind": "pre_bind",
    "bind": "bind",
    "postbind": "post_bind",
}
# The other method of `normalizescore`.
NORMALIZE_VALUES = "normalize_values"
WANTS = ("pods", "waiting_pods")


def overrides(plugin: type[Plugin], method: str) -> bool:
    """Whether the plugin overrides a method."""
    return getattr(plugin, method) is not getattr(Plugin, method)
