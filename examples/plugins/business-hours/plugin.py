"""business-hours: a taint that depends on the time of day.

By default, labelled nodes accept all pods during business hours and only batch pods outside of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kubewasp_sdk import SKIP, Action, ClusterEvent, ConfigError, CycleState, NodeInfo, Plugin, Pod, Status, Taint

from hours import Hours, SummerTime, Weekday

Admits = Literal["all", "batch", "others", "none"]
ADMITTED = {"all": "all pods", "batch": "batch pods only", "others": "no batch pods", "none": "no pods"}


@dataclass(frozen=True)
class Config:
    """The plugin's configuration: guestConfig, as JSON."""

    label: str = "kubewasp.dev/business-hours"  # nodes with this label, of any value, have business hours
    hours: str = "08:00-18:00"
    days: tuple[Weekday, ...] = ("Mon", "Tue", "Wed", "Thu", "Fri")
    utc_offset: str = "+00:00"
    summer_time: SummerTime = "none"
    during: Admits = "all"  # accepted pods during business hours
    outside: Admits = "batch"  # accepted pods outside of them
    batch_classes: tuple[str, ...] = ("batch",)  # priority classes of batch pods


class BusinessHours(Plugin):
    config: Config

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        try:
            self.hours = Hours.parse(config.hours, config.days, config.utc_offset, config.summer_time)
        except ValueError as error:
            raise ConfigError(f"config.{error}") from None
        # Not set on any node. Pods that tolerate it, such as agents on every node, are exempt.
        self.taint = Taint(config.label, "", "NoSchedule")

    def events(self) -> Sequence[ClusterEvent]:
        """Events that may help a rejected pod. The queue also retries pods every five minutes, without an event."""
        return [
            ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL),
            ClusterEvent("Pod", Action.UPDATE_POD_TOLERATION),
        ]

    def signature(self, pod: Pod) -> str:
        """Pods with the same objection share results. The objection depends on the time of day."""
        return self.objection(pod)

    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Evaluates pod and time once per cycle, not once per node."""
        state["objection"] = self.objection(pod)
        return None if state["objection"] else SKIP

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if self.config.label in node.labels:
            return Status.unresolvable(state["objection"])
        return None

    def objection(self, pod: Pod) -> str:
        """Reason to reject the pod on nodes with business hours; empty if it is accepted."""
        is_open = self.hours.include(self.now())
        admits = self.config.during if is_open else self.config.outside
        kind = "batch" if pod.priority_class in self.config.batch_classes else "others"
        if admits in ("all", kind) or pod.tolerates(self.taint):
            return ""
        return f"node(s) take {ADMITTED[admits]} {'during' if is_open else 'outside of'} business hours ({self.hours})"
