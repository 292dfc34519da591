"""Extension points of the scheduling framework: the interfaces of built-in, in-process and wasm plugins.

Filter and Score answer for all nodes at once: they take rows of the node table and return one array. `NodeByNode` is a
base class for plugins that are easier to write for a single node. Documented as `kubewasp.plugin_api`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from kubewasp.framework.status import SUCCESS, Code, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Never

    from kubewasp.framework.cluster_events import Action
    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable

    VerdictNumbers = NDArray[np.bool_ | np.int8 | np.int32 | np.int64]
    # The type of the two objects is that of the registered resource, such as `Node | None`.
    QueueingHint = Callable[[Pod, Never, Never], bool]
    EventHint = Callable[[Pod, str, Action, object | None, object | None], bool]

Rows = NDArray[np.int64]
Scores = NDArray[np.int64]
MIN_SCORE, MAX_SCORE = 0, 100


class Plugin(ABC):
    """Base of all plugins. `name` appears in the configuration, in events and in metrics."""

    name: str

    def asks_each_node(self, state: CycleState) -> bool:
        """Whether Filter and Score of the plugin run its code once per node for this pod.

        Without `percentageOfNodesToScore`, the search for nodes then ends with kube-scheduler's adaptive sample.
        """
        return False

    def close(self) -> None:  # noqa: B027 - optional
        """Ends the plugin: a reload has replaced or removed it, and the last pod that it began with is through."""


# ---------------------------------------------------------------------- queue


class PreEnqueuePlugin(Plugin):
    """PreEnqueue: runs before a pod enters the active queue. A rejected pod is gated."""

    @abstractmethod
    def pre_enqueue(self, pod: Pod) -> Status: ...

    def is_shut(self, pod: Pod) -> bool:
        """True if a rejected pod would certainly be rejected again: saves calls of other plugins."""
        return False


class SortKey(Protocol):
    """A value with an order among values of its type, such as a number, a text or a tuple of them."""

    def __lt__(self, other: Self, /) -> bool: ...


class QueueSortPlugin(Plugin):
    """QueueSort: the order of the active queue. Exactly one is enabled."""

    @abstractmethod
    def sort_key(self, pod: Pod, queued_at: float) -> SortKey:
        """The smallest key is scheduled first. Computed each time the pod is queued, not for each comparison."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A cluster event that may make a pod schedulable that this plugin rejected.

    The hint takes the pod, the old and the new object (one of them may be None) and returns whether to try the pod
    again; without a hint, always. An event hint takes the resource and the action too. `by_spec` declares that the hint
    reads nothing of the pod but its spec: it is called once for all waiting pods of one spec.

    >>> Registration("Node", Action.UPDATE_NODE_LABEL, self._label_changed)            # doctest: +SKIP
    """

    resource: str
    actions: Action
    hint: QueueingHint | None = None
    event_hint: EventHint | None = None
    by_spec: bool = False


class EnqueueExtensions(Plugin):
    """EnqueueExtensions: the events that are worth another try of a pod rejected by this plugin."""

    @abstractmethod
    def events(self) -> Sequence[Registration]: ...


# ---------------------------------------------------------------------- scheduling cycle


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """Result of PreFilter. `nodes` restricts the nodes that are filtered; None means all."""

    status: Status = SUCCESS
    nodes: frozenset[str] | None = None


class PreFilterPlugin(Plugin):
    """PreFilter: runs once for the pod, before the nodes. Skip: the pod needs no Filter of this plugin."""

    @abstractmethod
    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult: ...

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, row: int, table: NodeTable) -> Status:
        """Updates the state for another pod that is added to a node, in a trial."""
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, row: int, table: NodeTable) -> Status:
        """Updates the state for another pod that is removed from a node, in a trial."""
        return SUCCESS


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Result of Filter: one number per row. 0 is feasible, any other an index into `statuses`."""

    numbers: VerdictNumbers
    statuses: Sequence[Status] = field(default=(SUCCESS,))


class FilterPlugin(Plugin):
    """Filter: the nodes that can take the pod.

    `counts_only` declares that the verdict on a node depends only on its taints, on `spec.unschedulable` and on the
    allocatable and requested amounts of the resources that the pod requests, and on no other node.
    """

    counts_only: ClassVar[bool] = False

    @abstractmethod
    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        """The verdict on each row; None if all are feasible."""


class RejectionHints(Plugin):
    """Hints for explanations: what a rejected node or pod would need, in a few words each.

    Called only for recorded attempts, after the rejection, with its state and table. A hint names what the reason does
    not: an amount, a label, another pod. Plugins without it may put a hint into the status.
    """

    def pod_hints(self, state: CycleState, pod: Pod, table: NodeTable) -> Sequence[str]:
        """Hints for a pod that PreFilter has rejected."""
        return ()

    def node_hints(self, state: CycleState, pod: Pod, table: NodeTable, row: int) -> Sequence[str]:
        """Hints for a node that Filter has rejected."""
        return ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that fits the pod once its victims are gone, the most important victim first.

    `violations` is the number of victims protected by a PodDisruptionBudget.
    """

    node: str
    victims: tuple[Pod, ...]
    violations: int


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """Result of PostFilter. `nominated_node` None keeps the nomination, an empty text clears it.

    `candidates` are all nodes that were considered; they are shown in explanations.
    """

    status: Status
    nominated_node: str | None = None
    victims: Sequence[Pod] = ()
    candidates: Sequence[Candidate] = ()


class PostFilterPlugin(Plugin):
    """PostFilter: runs if no node is feasible, for example to preempt pods."""

    preempts: ClassVar[bool] = False  # whether each run counts as a preemption attempt

    @abstractmethod
    def post_filter(
        self, state: CycleState, pod: Pod, table: NodeTable, statuses: Mapping[str, Status]
    ) -> PostFilterResult: ...


class PreScorePlugin(Plugin):
    """PreScore: runs once for the feasible nodes. Skip: the pod needs no Score of this plugin."""

    @abstractmethod
    def pre_score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status: ...


class ScorePlugin(Plugin):
    """Score: ranks the feasible nodes."""

    @abstractmethod
    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        """A score for each row, or the status of a failure."""

    def normalize(self, state: CycleState, pod: Pod, scores: Scores) -> Scores | Status:
        """NormalizeScore: the scores of all feasible nodes in the range 0 to 100."""
        return scores


# ---------------------------------------------------------------------- binding


@dataclass(frozen=True, slots=True)
class BindingResult:
    """Result of Reserve or PreBind with annotations, which go with the binding if the status is Success.

    The API server adds them to the pod in the same request that binds it. Two plugins must not give different values
    to one key.
    """

    status: Status = SUCCESS
    annotations: Mapping[str, str] = field(default_factory=dict)


class ReservePlugin(Plugin):
    """Reserve: claims resources of the chosen node; `unreserve` releases them and must not fail."""

    @abstractmethod
    def reserve(self, state: CycleState, pod: Pod, node: str) -> Status | BindingResult: ...

    @abstractmethod
    def unreserve(self, state: CycleState, pod: Pod, node: str) -> None: ...


class PermitPlugin(Plugin):
    """Permit: approves, rejects or delays the binding of a pod."""

    @abstractmethod
    def permit(self, state: CycleState, pod: Pod, node: str) -> tuple[Status, float]:
        """The status and, for Wait, the timeout in seconds."""


class PreBindPlugin(Plugin):
    """PreBind: work that precedes the binding, such as provisioning volumes."""

    @abstractmethod
    def pre_bind(self, state: CycleState, pod: Pod, node: str) -> Status | BindingResult: ...


class BindPlugin(Plugin):
    """Bind: binds the pod to its node. The first plugin that does not skip decides.

    It writes `state.annotations` as well, by key, best in the same request.
    """

    @abstractmethod
    def bind(self, state: CycleState, pod: Pod, node: str) -> Status: ...


class PostBindPlugin(Plugin):
    """PostBind: runs after the pod is bound."""

    @abstractmethod
    def post_bind(self, state: CycleState, pod: Pod, node: str) -> None: ...


EXTENSION_POINTS: Mapping[str, type[Plugin]] = {
    "preEnqueue": PreEnqueuePlugin,
    "queueSort": QueueSortPlugin,
    "preFilter": PreFilterPlugin,
    "filter": FilterPlugin,
    "postFilter": PostFilterPlugin,
    "preScore": PreScorePlugin,
    "score": ScorePlugin,
    "reserve": ReservePlugin,
    "permit": PermitPlugin,
    "preBind": PreBindPlugin,
    "bind": BindPlugin,
    "postBind": PostBindPlugin,
}


# ---------------------------------------------------------------------- convenience


class NodeByNode(FilterPlugin, ScorePlugin):
    """Base for plugins that evaluate one node at a time: override `filter_node`, `score_node`, or both.

    `pods` are the pods on the node.
    """

    def asks_each_node(self, state: CycleState) -> bool:
        return True

    def filter_node(self, state: CycleState, pod: Pod, node: Node, pods: Sequence[Pod]) -> Status:
        return SUCCESS

    def score_node(self, state: CycleState, pod: Pod, node: Node, pods: Sequence[Pod]) -> int:
        return 0

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        statuses: list[Status] = [SUCCESS]
        numbers = np.zeros(len(rows), np.int32)
        known: dict[Status, int] = {}
        for index, row in enumerate(rows.tolist()):
            status = self.filter_node(state, pod, table.node(row), tuple(table.pods_on[row].values()))
            if not status.is_success:
                if status not in known:
                    known[status] = len(statuses)
                    statuses.append(status)
                numbers[index] = known[status]
        return Verdicts(numbers, statuses) if known else None

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        scores = (
            self.score_node(state, pod, table.node(row), tuple(table.pods_on[row].values())) for row in rows.tolist()
        )
        return np.fromiter(scores, np.int64, len(rows))


def may_ask_each_node(kind: type[Plugin]) -> bool:
    """Whether plugins of that class may have to be called per node."""
    return kind.asks_each_node is not Plugin.asks_each_node


def rejection(reason: str, *, resolvable: bool) -> Status:
    """An Unschedulable status; UnschedulableAndUnresolvable if no preemption can help."""
    return Status(Code.UNSCHEDULABLE if resolvable else Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reason)
