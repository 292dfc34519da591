"""deadline-sort: the pods with the earliest deadline are scheduled first.

The deadline is an annotation of the pod: `kubewasp.dev/deadline: "2026-01-05T18:00:00Z"`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from kubewasp_sdk import Action, Change, ClusterEvent, Plugin, Pod, Status, Verdict


@dataclass(frozen=True)
class Config:
    """The plugin's configuration: guestConfig, as JSON."""

    annotation: str = "kubewasp.dev/deadline"
    late: Literal["first", "last"] = "first"  # position of pods past their deadline

    def __post_init__(self) -> None:
        if not self.annotation:
            raise ValueError("annotation must not be empty")


class DeadlineSort(Plugin):
    """Sorts by deadline, then by priority, then by arrival. Pods without a deadline come after those with one."""

    config: Config

    def pre_enqueue(self, pod: Pod) -> Verdict:
        """Keeps a pod with an invalid deadline out of the queue until the annotation is corrected."""
        try:
            self.deadline(pod)
        except ValueError as error:
            return Status.unresolvable(str(error))
        return None

    def events(self) -> Sequence[ClusterEvent]:
        """Changes of the pod itself: the only ones that correct a deadline."""
        return [ClusterEvent("Pod", Action.UPDATE)]

    def queueing_hint(self, pod: Pod, change: Change) -> bool:
        return change.new is not None and change.new.uid == pod.uid

    def sort_key(self, pod: Pod, queued_at: datetime) -> tuple[bool, float, int, datetime]:
        """Called each time the pod enters the queue."""
        deadline = self.deadline(pod)
        is_last = self.config.late == "last" and deadline is not None and deadline < self.now()
        due = math.inf if deadline is None else deadline.timestamp()
        return is_last, due, -pod.priority, queued_at

    def deadline(self, pod: Pod) -> datetime | None:
        """The pod's deadline, or None. ValueError if it is invalid."""
        text = pod.annotations.get(self.config.annotation)
        if text is None:
            return None
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            found = None
        if found is None or found.tzinfo is None:
            expected = "expected a time with its zone, such as 2026-01-05T18:00:00Z"
            raise ValueError(f'annotation {self.config.annotation}: {expected}, got "{text}"')
        return found
