"""business-hours: a taint that comes and goes with the clock.

Nodes with a label take all pods during business hours, and outside of them only batch pods; or as configured.
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

    label: str = "kubewasp.dev/business-hours"  # nodes with this label keep business hours, whatever its value is
    hours: str = "08:00-18:00"
    days: tuple[Weekday, ...] = ("Mon", "Tue", "Wed", "Thu", "Fri")
    utc_offset: str = "+00:00"
    summer_time: SummerTime = "none"
    during: Admits = "all"  # which pods these nodes take during business hours
    outside: Admits = "batch"  # and outside of them
    batch_classes: tuple[str, ...] = ("batch",)  # the priority classes of batch pods


class BusinessHours(Plugin):
    config: Config

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        try:
            self.hours = Hours.parse(config.hours, config.days, config.utc_offset, config.summer_time)
        except ValueError as error:
            raise ConfigError(f"config.{error}") from None
        # No node has it, but pods can tolerate it as if it did: agents that run everywhere should.
        self.taint = Taint(config.label, "", "NoSchedule")

    def events(self) -> Sequence[ClusterEvent]:
        """What may help a rejected pod. So may the clock: every five minutes, pods are tried again without an event."""
        return [
            ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL),
            ClusterEvent("Pod", Action.UPDATE_POD_TOLERATION),
        ]

    def signature(self, pod: Pod) -> str:
        """Pods with the same objection against them get the same answers. Time is in it: answers change with it."""
        return self.objection(pod)

    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """The pod and the clock are looked at once, not once for every node."""
        state["objection"] = self.objection(pod)
        return None if state["objection"] else SKIP

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if self.config.label in node.labels:
            return Status.unresolvable(state["objection"])
        return None

    def objection(self, pod: Pod) -> str:
        """Why nodes with business hours do not take the pod now; empty if they do."""
        is_open = self.hours.include(self.now())
        admits = self.config.during if is_open else self.config.outside
        kind = "batch" if pod.priority_class in self.config.batch_classes else "others"
        if admits in ("all", kind) or pod.tolerates(self.taint):
            return ""
        return f"node(s) take {ADMITTED[admits]} {'during' if is_open else 'outside of'} business hours ({self.hours})"
