"""Pods that wait on Permit, and the decisions on them.

Plugins allow or reject waiting pods from any thread. A decision counts immediately; the scheduler's thread processes it
after the current hook.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.duration import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.runtime import Framework
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.queued_pod import QueuedPod


@dataclass(eq=False, slots=True)
class WaitingPod:
    """A pod that waits on Permit; `timeouts` are seconds by delaying plugin."""

    queued: QueuedPod
    framework: Framework
    assumed: Pod
    state: CycleState
    started: float
    timeouts: dict[str, float] = field(default_factory=dict)

    def first_timeout(self) -> tuple[float, str]:
        """The shortest timeout, and its plugin."""
        return min((seconds, plugin) for plugin, seconds in self.timeouts.items())

    @property
    def deadline(self) -> float:
        return self.started + self.first_timeout()[0]


class Decision(NamedTuple):
    """A waiting pod with its permission or rejection."""

    waiting: WaitingPod
    status: Status


class WaitingPods:
    """Registry of the waiting pods. `wake` is called after a decision, on the thread that made it."""

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._waiting: dict[str, WaitingPod] = {}
        self._decided: dict[str, Decision] = {}

    # ------------------------------------------------------------------ any thread

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, uid: str) -> bool:
        return uid in self._waiting

    def __iter__(self) -> Iterator[str]:
        """The uids."""
        with self._lock:
            return iter(list(self._waiting))

    def get(self, uid: str) -> WaitingPod | None:
        return self._waiting.get(uid)

    def all(self) -> list[WaitingPod]:
        with self._lock:
            return list(self._waiting.values())

    def allow(self, uid: str, plugin: str) -> bool:
        """Permission by one plugin; the last one allows the pod. False if the pod does not wait."""
        with self._lock:
            waiting = self._waiting.get(uid)
            if waiting is None:
                return False
            left = {name: seconds for name, seconds in waiting.timeouts.items() if name != plugin}
            if left:
                waiting.timeouts = left
                return True
            self._decide(uid, SUCCESS)
        self._wake()
        return True

    def reject(self, uid: str, status: Status) -> bool:
        """Rejects the pod. False if it does not wait."""
        with self._lock:
            if uid not in self._waiting:
                return False
            self._decide(uid, status)
        self._wake()
        return True

    def _decide(self, uid: str, status: Status) -> None:
        # In this order: a pod is in one of the two at every moment.
        self._decided[uid] = Decision(self._waiting[uid], status)
        del self._waiting[uid]

    # ------------------------------------------------------------------ scheduler's thread

    def add(self, waiting: WaitingPod) -> None:
        with self._lock:
            self._waiting[waiting.assumed.uid] = waiting

    def expire(self, now: float) -> bool:
        """Rejects the first expired pod, if any. Its rollback may decide on others."""
        with self._lock:
            for uid, waiting in self._waiting.items():
                if waiting.deadline <= now:
                    seconds, plugin = waiting.first_timeout()
                    self._decide(uid, Status(Code.UNSCHEDULABLE, timeout_text(seconds, plugin), plugin))
                    return True
        return False

    def next_decision(self) -> Decision | None:
        """The oldest unprocessed decision."""
        if not self._decided:
            return None
        with self._lock:
            return self._decided.pop(next(iter(self._decided)))

    def remove(self, uid: str) -> WaitingPod | None:
        """Removes a deleted pod, decided on or not."""
        if uid not in self._waiting and uid not in self._decided:
            return None
        with self._lock:
            waiting = self._waiting.pop(uid, None)
            decided = self._decided.pop(uid, None)
        return waiting if decided is None else decided.waiting

    def next_deadline(self) -> float | None:
        return min((waiting.deadline for waiting in self.all()), default=None)


def timeout_text(seconds: float, plugin: str) -> str:
    """The reason of an expired pod, in kube-scheduler's words."""
    return f"rejected due to timeout after waiting {format_duration(seconds)} at plugin {plugin}"
