"""All extension points of the scheduling framework, as the interfaces that every plugin implements.

Built-in plugins, in-process Python plugins and wasm plugins are all made of these. Filter and Score answer for all
nodes at once: they take the rows of the node table they are asked about and return one array. A plugin that is easier
to write node by node derives from `NodeByNode`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kubewasp.framework.status import SUCCESS, Code, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from kubewasp.framework.cluster_events import Action
    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable

    Rows = NDArray[np.int32]
    Scores = NDArray[np.int64]

MIN_SCORE, MAX_SCORE = 0, 100


class Plugin(ABC):
    """A plugin has a name, under which it is configured and shown."""

    name: str


# ---------------------------------------------------------------------- queue


class PreEnqueuePlugin(Plugin):
    """Asked before a pod enters the active queue; a pod that is rejected waits, gated."""

    @abstractmethod
    def pre_enqueue(self, pod: Pod) -> Status: ...

    def is_shut(self, pod: Pod) -> bool:
        """Whether a pod that was rejected would be so again, as far as that is known at once; saves asking others."""
        return False


class QueueSortPlugin(Plugin):
    """Orders the active queue; exactly one is enabled."""

    @abstractmethod
    def sort_key(self, pod: Pod, queued_at: float) -> Any:
        """The smaller key is scheduled first. Computed once each time the pod is queued."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A cluster event that may make a pod schedulable which this plugin rejected.

    The hint looks at the pod and at what changed (old and new object, either may be None) and says whether to try
    again; without one, always. An event hint is told the kind of object and the action too.
    """

    resource: str
    actions: Action
    hint: Callable[[Pod, Any, Any], bool] | None = None
    event_hint: Callable[[Pod, str, Action, Any, Any], bool] | None = None


class EnqueueExtensions(Plugin):
    """Tells which events are worth another try of a pod that this plugin rejected."""

    @abstractmethod
    def events(self) -> Sequence[Registration]: ...


# ---------------------------------------------------------------------- scheduling cycle


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """`nodes` narrows down which nodes are looked at; None means all."""

    status: Status = SUCCESS
    nodes: frozenset[str] | None = None


class PreFilterPlugin(Plugin):
    """Looks at the pod and the cluster once, before the nodes. Skip: the pod needs no Filter of this plugin."""

    @abstractmethod
    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult: ...

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, row: int, table: NodeTable) -> Status:
        """Another pod comes onto a node, in a trial: the plugin brings its state up to date."""
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, row: int, table: NodeTable) -> Status:
        """Another pod leaves a node, in a trial."""
        return SUCCESS


@dataclass(frozen=True, slots=True)
class Verdicts:
    """One number a row: 0 passes, any other is the place in `statuses` of why it does not."""

    numbers: NDArray[Any]
    statuses: Sequence[Status] = field(default=(SUCCESS,))


class FilterPlugin(Plugin):
    """Says which nodes can take the pod.

    With `counts_only`, what it says of a node follows from the node's taints, from whether it is cordoned, and from how
    much of what the pod asks for is there and taken: nodes that are the same in this are the same to the plugin, and no
    node matters to another.
    """

    counts_only: ClassVar[bool] = False

    @abstractmethod
    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        """The verdict on each of those rows; None where all pass."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node on which a pod fits once the victims are gone; the most important victim stands first.

    `violations` counts the victims that a disruption budget protects.
    """

    node: str
    victims: tuple[Pod, ...]
    violations: int


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """What helps a pod that fits nowhere. `nominated_node` None leaves the nomination, an empty text clears it.

    `candidates` are the nodes that were thought of, to be shown.
    """

    status: Status
    nominated_node: str | None = None
    victims: Sequence[Pod] = ()
    candidates: Sequence[Candidate] = ()


class PostFilterPlugin(Plugin):
    """Called when no node passed; may make room."""

    preempts: ClassVar[bool] = False  # whether each run counts as a preemption attempt

    @abstractmethod
    def post_filter(
        self, state: CycleState, pod: Pod, table: NodeTable, statuses: Mapping[str, Status]
    ) -> PostFilterResult: ...


class PreScorePlugin(Plugin):
    """Looks at the pod and the feasible nodes once. Skip means that this pod needs no Score of this plugin."""

    @abstractmethod
    def pre_score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status: ...


class ScorePlugin(Plugin):
    """Ranks the feasible nodes."""

    @abstractmethod
    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        """A score for each of those rows, or a status that says why there is none."""

    def normalize(self, state: CycleState, pod: Pod, scores: Scores) -> Scores | Status:
        """The scores of all feasible nodes, brought into the range 0 to 100."""
        return scores


# ---------------------------------------------------------------------- binding


class ReservePlugin(Plugin):
    """Takes what the pod needs on its node; `unreserve` gives it back and must not fail."""

    @abstractmethod
    def reserve(self, state: CycleState, pod: Pod, node: str) -> Status: ...

    @abstractmethod
    def unreserve(self, state: CycleState, pod: Pod, node: str) -> None: ...


class PermitPlugin(Plugin):
    """May hold the pod back before it is bound."""

    @abstractmethod
    def permit(self, state: CycleState, pod: Pod, node: str) -> tuple[Status, float]:
        """The status and, where it is Wait, for how many seconds at most."""


class PreBindPlugin(Plugin):
    """Prepares what the pod needs before it is bound."""

    @abstractmethod
    def pre_bind(self, state: CycleState, pod: Pod, node: str) -> Status: ...


class BindPlugin(Plugin):
    """Binds the pod to its node; the first that does not skip decides."""

    @abstractmethod
    def bind(self, state: CycleState, pod: Pod, node: str) -> Status: ...


class PostBindPlugin(Plugin):
    """Hears that the pod was bound."""

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
    """For plugins written node by node: override `filter_node`, `score_node`, or both. The loop is ours."""

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


def normalized(scores: Scores, *, reverse: bool = False) -> Scores:
    """Scores as a share of the largest, 0 to 100; `reverse` makes the smallest the best."""
    largest = int(scores.max(initial=0))
    if largest == 0:
        return np.full_like(scores, MAX_SCORE) if reverse else scores
    shares = MAX_SCORE * scores // largest
    return MAX_SCORE - shares if reverse else shares


def rejection(reason: str, *, resolvable: bool) -> Status:
    """Unschedulable, where removing pods may help, else UnschedulableAndUnresolvable."""
    return Status(Code.UNSCHEDULABLE if resolvable else Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reason)
