"""The class that plugins derive from: one method for each extension point. Override those you need.

A method that is not overridden is never called and costs nothing. Methods that judge a pod may return None or True
(the pod passes), a text (it does not, for this reason) or a `Status`.
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

    One object serves many pods, also several at once. What belongs to one pod goes into `state`.
    """

    # What is sent only on request: "pods" (node.pods), "waiting_pods" (self.waiting_pods).
    wants: Collection[str] = ()
    # True promises that filter and score look at nothing but the Node object: a node is judged once for all pods.
    ignores_pod: bool = False
    # The configuration, as JSON gives it. Annotate it with a dataclass (`config: MyConfig`) to get one, checked.
    config: Any
    # Lines go to the scheduler's log. `logging` and `print` work as well.
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
        """The changes that may make a pod schedulable which this plugin rejected. Not overridden: all changes."""
        raise NotImplementedError

    def queueing_hint(self, pod: Pod, change: Change) -> bool:
        """Whether this change may really help this pod, which the plugin rejected. Not overridden: always."""
        raise NotImplementedError

    def pre_enqueue(self, pod: Pod) -> Verdict:
        """Whether the pod may be tried at all; a rejected one waits for an event."""
        raise NotImplementedError

    def sort_key(self, pod: Pod, queued_at: datetime) -> SortKey:
        """Orders the queue: the smallest key comes first. A number, a text, a datetime, or a tuple of such."""
        raise NotImplementedError

    # ------------------------------------------------------------------ scheduling cycle

    def signature(self, pod: Pod) -> Hashable | None:
        """Pods with equal signatures must get equal answers of filter and score while the Node object is the same.

        The scheduler then asks once for all of them. None: this pod shares its answers with no other. Make it of texts,
        numbers and tuples.
        """
        raise NotImplementedError

    def pre_filter(self, state: CycleState, pod: Pod) -> Verdict | Collection[str]:
        """Looks at the pod before the nodes. May return the names of the only nodes to look at, or `SKIP`."""
        raise NotImplementedError

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, node: NodeInfo) -> Verdict:
        """In a trial, `added` comes onto the node: bring the state up to date."""
        raise NotImplementedError

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, node: NodeInfo) -> Verdict:
        """In a trial, `removed` leaves the node: bring the state up to date."""
        raise NotImplementedError

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        """Whether the pod can run on this node."""
        raise NotImplementedError

    def post_filter(self, state: CycleState, pod: Pod, statuses: Mapping[str, Code]) -> Nominate | Status | str | None:
        """No node passed; `statuses` tells how each was rejected. May nominate one: `Nominate("node-1")`."""
        raise NotImplementedError

    def pre_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Verdict:
        """Looks at the nodes that passed, before they are scored. May return `SKIP`."""
        raise NotImplementedError

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """How good this node is: 0 to 100, or any number if there is `normalize_scores`."""
        raise NotImplementedError

    def normalize_scores(self, state: CycleState, pod: Pod, scores: dict[str, int]) -> Mapping[str, int] | None:
        """Brings the scores of all nodes, by name, into 0 to 100: change `scores`, or return others."""
        raise NotImplementedError

    # ------------------------------------------------------------------ binding

    def reserve(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        """The pod will go to this node."""
        raise NotImplementedError

    def unreserve(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        """The pod will not go to this node after all: undo `reserve`."""
        raise NotImplementedError

    def permit(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict | Wait:
        """The last word before binding. `Wait(30)` holds the pod back for 30 seconds at most."""
        raise NotImplementedError

    def pre_bind(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        """Just before the pod is bound."""
        raise NotImplementedError

    def bind(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        """Binds the pod; `SKIP` leaves it to the next plugin."""
        raise NotImplementedError

    def post_bind(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        """The pod was bound."""
        raise NotImplementedError

    # ------------------------------------------------------------------ what a plugin may ask

    def now(self) -> datetime:
        """The time by the scheduler's clock, in UTC; in a simulation it is the simulated time."""
        return self._scheduler.now()

    @property
    def nodes(self) -> Nodes:
        """All nodes of the cluster."""
        return self._scheduler.nodes

    @property
    def waiting_pods(self) -> Sequence[Pod]:
        """The pods that wait for permission, with their `node_name`. Needs `wants = ("waiting_pods",)`."""
        return self._scheduler.waiting_pods()

    def allow(self, pod: Pod | str) -> bool:
        """Stops holding that waiting pod (or uid) back; False if it is not waiting."""
        return self._scheduler.allow(pod if isinstance(pod, str) else pod.uid)

    def reject(self, pod: Pod | str, reason: str = "") -> bool:
        """That waiting pod (or uid) is not bound but goes back to the queue; False if it is not waiting."""
        return self._scheduler.reject(pod if isinstance(pod, str) else pod.uid, reason)

    def record_event(
        self,
        regarding: KubernetesObject,
        *,
        reason: str,
        note: str,
        action: str = "Scheduling",
        type: str = "Normal",  # noqa: A002 - the name that Kubernetes has for it
        related: KubernetesObject | None = None,
    ) -> None:
        """Records a Kubernetes event about an object. `type` is Normal or Warning."""
        self._scheduler.record_event(regarding, related, kind=type, reason=reason, action=action, note=note)


# The hooks of the ABI and the methods that implement them. `signature` is asked in prefilter.
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
WANTS = ("pods", "waiting_pods")


def overrides(plugin: type[Plugin], method: str) -> bool:
    """Whether the plugin has a method of its own."""
    return getattr(plugin, method) is not getattr(Plugin, method)
