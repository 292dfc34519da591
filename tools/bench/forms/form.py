"""Interface of the forms of a policy, and the forms inside the scheduler process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kubewasp.errors import KubewaspError
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.status import Code, Status
from tools.bench.policies.policy_list import BUILT_IN, IN_PROCESS, POINTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.framework.plugin import Plugin, Scores, Verdicts
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable
    from tools.bench.policies.clusters import Cluster

# Number of different pods, evaluated by turns.
PODS: Final = 100


class FormError(KubewaspError):
    """A form with unexpected answers, described in the text."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers for a pod on all nodes, one number per node, in the order of `Form.names`."""

    scores: Scores | None = None
    verdicts: Verdicts | None = None


class Form(ABC):
    """One policy on one cluster. `prepare` comes first, then `load`, then cycles and changes in any order."""

    def __init__(self, policy: str, cluster: Cluster) -> None:
        self.policy = policy
        self.cluster = cluster

    def prepare(self) -> None:  # noqa: B027 - most need nothing
        """Set-up before any plugin; not measured."""

    @abstractmethod
    def load(self, *, use_cache: bool = True) -> None:
        """Loads the plugin, ready for its first pod. Without the cache, a guest is compiled."""

    @abstractmethod
    def cycle(self, pod: int) -> Answers:
        """Evaluation of one pod over all nodes."""

    @abstractmethod
    def change(self, number: int) -> None:
        """Changes labels and requests of some nodes, see `Cluster.change`."""

    @abstractmethod
    def names(self) -> Sequence[str]:
        """The nodes in the order of the answers."""

    @abstractmethod
    def close(self) -> None:
        """Releases the plugin."""

    @property
    def guest_memory(self) -> int:
        """Memory of the guest, if there is one."""
        return 0

    @property
    def process(self) -> int | None:
        """The process of the plugin, if it is another one."""
        return None


class TableForm(Form):
    """A form that is a framework plugin, called over the rows of a node table."""

    plugin: Any  # with the extension points of the policy

    def __init__(self, policy: str, cluster: Cluster) -> None:
        super().__init__(policy, cluster)
        self.points = POINTS[policy]
        self.pods: Sequence[Pod] = cluster.pods(PODS)
        self.table: NodeTable = cluster.table()
        self.rows = self.table.order()  # common to all plugins

    @abstractmethod
    def make(self, *, use_cache: bool) -> Plugin:
        """The plugin."""

    def load(self, *, use_cache: bool = True) -> None:
        self.plugin = self.make(use_cache=use_cache)

    def cycle(self, pod: int) -> Answers:
        state = CycleState()
        answers = self.ask(state, self.pods[pod % PODS])
        state.close()
        return answers

    def ask(self, state: CycleState, pod: Pod) -> Answers:
        """Calls the extension points of the policy in the scheduler's order."""
        plugin, table, rows, points = self.plugin, self.table, self.rows, self.points
        verdicts = scores = None
        if "filter" in points:
            verdicts = plugin.filter(state, pod, table, rows)
            if verdicts is not None and any(not _is_verdict(status) for status in verdicts.statuses):
                raise FormError(f"{self.policy}: {verdicts.statuses}")
        if "preScore" in points:
            status = plugin.pre_score(state, pod, table, rows)
            if not status.is_success:
                raise FormError(f"{self.policy}: {status.reason}")
        if "score" in points:
            scores = plugin.score(state, pod, table, rows)
            if not isinstance(scores, Status):
                scores = plugin.normalize(state, pod, scores)
            if isinstance(scores, Status):
                raise FormError(f"{self.policy}: {scores.reason}")
        return Answers(scores, verdicts)

    def change(self, number: int) -> None:
        self.cluster.change(number, self.table.put_node, self.table.add_pod)
        self.rows = self.table.order()

    def names(self) -> Sequence[str]:
        return [self.table.node(row).name for row in self.rows.tolist()]

    def close(self) -> None:
        self.plugin = None


class BuiltIn(TableForm):
    """Over the columns of the node table, as the built-in plugins are written."""

    def make(self, *, use_cache: bool) -> Plugin:  # noqa: ARG002 - nothing is compiled
        return BUILT_IN[self.policy]()


class InProcess(TableForm):
    """A Python plugin in the process of the scheduler, node by node."""

    def make(self, *, use_cache: bool) -> Plugin:  # noqa: ARG002
        return IN_PROCESS[self.policy]()


def _is_verdict(status: Status) -> bool:
    return status.code in (Code.SUCCESS, Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)


def told(form: Form, answers: Answers) -> dict[str, tuple[int, int, str]]:
    """Score, verdict code and reason of each node, for comparison of forms."""
    names = form.names()
    scores = [0] * len(names) if answers.scores is None else answers.scores.tolist()
    if answers.verdicts is None:
        return {name: (score, 0, "") for name, score in zip(names, scores, strict=True)}
    statuses = [answers.verdicts.statuses[number] for number in answers.verdicts.numbers.tolist()]
    return {
        name: (score, int(status.code), status.reason)
        for name, score, status in zip(names, scores, statuses, strict=True)
    }
