"""Witness plugin: an event at every extension point, and decisions by labels and annotations.

../witness-go does the same.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from kubewasp_sdk import SKIP, Action, Change, ClusterEvent, Code, CycleState, NodeInfo, Plugin, Pod, Status, Verdict


class Witness(Plugin):
    """Has every hook but those of trials."""

    def saw(self, hook: str, pod: Pod, note: str = "") -> None:
        self.record_event(pod, reason=hook, note=note, action="Witnessing")

    def events(self) -> Sequence[ClusterEvent]:
        return [ClusterEvent("Pod", Action.UPDATE)]

    def queueing_hint(self, pod: Pod, change: Change) -> bool:
        return change.new is not None and change.new.uid == pod.uid

    def pre_enqueue(self, pod: Pod) -> Verdict:
        self.saw("PreEnqueue", pod)
        return pod.annotations.get("PreEnqueue")

    def sort_key(self, pod: Pod, queued_at: datetime) -> tuple[str, datetime]:
        return pod.labels.get("order", ""), queued_at

    def pre_filter(self, state: CycleState, pod: Pod) -> Verdict | Collection[str]:
        self.saw("PreFilter", pod)
        return [pod.annotations["only"]] if "only" in pod.annotations else pod.annotations.get("PreFilter")

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        return f"closed for {node.labels['closed']}" if "closed" in node.labels else None

    def post_filter(self, state: CycleState, pod: Pod, statuses: Mapping[str, Code]) -> str:
        self.saw("PostFilter", pod)
        return "nothing to be done"

    def pre_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Verdict:
        self.saw("PreScore", pod)
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return int(node.labels.get("points", "0"))

    def normalize_scores(self, state: CycleState, pod: Pod, scores: dict[str, int]) -> Mapping[str, int]:
        self.saw("NormalizeScore", pod)
        best = max(scores.values()) or 1
        return {name: 100 * points // best for name, points in scores.items()}

    def reserve(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        self.saw("Reserve", pod, node.name)
        self.annotate("witness.example/reserved", node.name)
        return pod.annotations.get("Reserve")

    def unreserve(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        self.saw("Unreserve", pod, node.name)

    def permit(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        self.saw("Permit", pod, node.name)
        return pod.annotations.get("Permit")

    def pre_bind(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        self.saw("PreBind", pod, node.name)
        self.annotate("witness.example/Bound", f"{pod.name} → {node.name}")
        reason = pod.annotations.get("PreBind")
        return Status.error(reason) if reason else None

    def bind(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        self.saw("Bind", pod, node.name)
        return SKIP

    def post_bind(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        self.saw("PostBind", pod, node.name)
