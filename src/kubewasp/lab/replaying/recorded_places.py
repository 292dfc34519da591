"""Recorded places of pods: brings pods of a replayed scheduler into the state that the recording has them in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.lab.replaying.replay_differences import Decision
from kubewasp.lab.replaying.replayed_surroundings import Follower
from kubewasp.scheduler.cycle import Choice
from kubewasp.scheduler.subqueues import ACTIVE, BACKOFF, UNSCHEDULABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.framework.runtime import Framework
    from kubewasp.k8s.pods import Pod
    from kubewasp.live.mirror import Mirror
    from kubewasp.scheduler.scheduler import Scheduler

_PLACES: Final = (ACTIVE, BACKOFF, UNSCHEDULABLE)


class RecordedPlaces:
    """Pods that follow a recording. `standing` are outcomes of pods that wait or are being bound, by uid.

    `following` are uids of pods whose outcome is not one of their profile: a follower placed them.
    """

    def __init__(self, scheduler: Scheduler, mirror: Mirror) -> None:
        self.standing: dict[str, Mapping[str, Any]] = {}
        self.following: set[str] = set()
        self._scheduler = scheduler
        self._mirror = mirror
        self._follower = Follower()

    def framework(self, pod: Pod) -> Framework:
        """The framework of a pod that follows."""
        return self._follower.framework(pod.spec.scheduler_name)

    def follow(self, outcome: Mapping[str, Any], *, is_forced: bool = False) -> None:
        """Brings a pod into its recorded state; into its part of the queue, if a choice was forced or it follows."""
        uid, then = str(outcome["uid"]), Decision.of(outcome)
        is_followed = is_forced or uid in self.following
        if then.is_waiting or then.is_binding:
            self.standing[uid] = outcome
        else:
            self.standing.pop(uid, None)
        if not self._is_there(uid, then):
            self._move(uid, then, outcome)
        if not then.is_waiting:
            self._follower.waiting.discard(uid)
            if not then.is_binding:
                self.following.discard(uid)
        if is_followed and not then.node:
            self._queue_as(uid, outcome.get("place"))

    def _is_there(self, uid: str, then: Decision) -> bool:
        scheduler = self._scheduler
        is_waiting, is_binding = uid in scheduler.waiting, uid in scheduler.binding
        if is_waiting or is_binding:
            return (scheduler.assumed.node_of(uid), is_waiting, is_binding) == then.state
        if not then.node:
            return uid not in scheduler.assumed
        if then.is_waiting or then.is_binding:
            return False
        return uid in scheduler.assumed or scheduler.queue.get(uid) is None

    def _move(self, uid: str, then: Decision, outcome: Mapping[str, Any]) -> None:
        scheduler = self._scheduler
        waiting = scheduler.waiting.get(uid)
        if waiting is not None and then.is_binding and scheduler.assumed.node_of(uid) == then.node:
            for plugin in list(waiting.timeouts):
                scheduler.waiting.allow(uid, plugin)
            scheduler.settle()
            return
        if waiting is not None:
            scheduler.waiting.reject(uid, _status(then, outcome))
            scheduler.settle()
        elif uid in scheduler.binding:
            scheduler.bound(uid, _status(then, outcome))
        if then.node:
            self._place(uid, then, str(outcome["pod"]))
        elif uid in self.following and scheduler.queue.get(uid) is None:
            for pod in [pod for pod in scheduler.assumed if pod.uid == uid]:
                scheduler.assumed.forget(pod)

    def _place(self, uid: str, then: Decision, key: str) -> None:
        scheduler = self._scheduler
        queued = scheduler.queue.take(uid)
        self.following.add(uid)
        if queued is None:  # of no profile: it takes its room, and nothing else
            pod = self._mirror.pods.get(key)
            if pod is not None and pod.uid == uid and not pod.node and uid not in scheduler.assumed:
                scheduler.assumed.assume(pod, then.node)
            return
        if then.is_waiting:
            self._follower.waiting.add(uid)
        else:
            self._follower.waiting.discard(uid)
        scheduler.place(queued, self.framework(queued.pod), Choice(CycleState(), node=then.node))
        if not then.is_waiting and not then.is_binding:
            scheduler.bound(uid, SUCCESS)

    def _queue_as(self, uid: str, place: tuple[str, float] | None) -> None:
        """Puts a pod into its recorded part of the queue."""
        queue = self._scheduler.queue
        queued = queue.get(uid)
        if queued is None or place is None or queued.place not in _PLACES or place[0] not in _PLACES:
            return
        if queued.place != place[0]:
            queue.delete(uid)
            queued.place, queued.ready_at = str(place[0]), float(place[1])
            queue.restore(queued)


def _status(then: Decision, outcome: Mapping[str, Any]) -> Status:
    """The status that ends a placement as the recording did."""
    plugin = next(iter(outcome.get("rejected_by", ())), "")
    return Status(Code.ERROR if then.is_error else Code.UNSCHEDULABLE, "recorded otherwise", str(plugin))
