"""Status reporter: outcome of attempts as pod conditions, nominations and events."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kubewasp.apiserver.errors import ApiError
from kubewasp.k8s import timestamps
from kubewasp.k8s.codec import decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.k8s.pods import Pod
    from kubewasp.live.event_recorder import EventRecorder
    from kubewasp.live.inbox import Inbox
    from kubewasp.live.outbox import Outbox, StatusPatches
    from kubewasp.scheduler.attempt import Attempt
    from kubewasp.scheduler.scheduler import Scheduler

logger = logging.getLogger(__name__)

# Backoff of failed status writes, in seconds.
_FIRST_PAUSE: Final = 5.0
_MAX_PAUSE: Final = 300.0


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Scheduling part of a pod's status."""

    status: str
    reason: str
    message: str
    generation: int
    nominated_node: str


class StatusReporter:
    """Reporter of attempts. Implements `AttemptListener`; writes only differences from the pod's status."""

    def __init__(
        self, scheduler: Scheduler, inbox: Inbox, outbox: Outbox, patches: StatusPatches, events: EventRecorder
    ) -> None:
        self._scheduler = scheduler
        self._inbox = inbox
        self._outbox = outbox
        self._patches = patches
        self._events = events
        self._verdicts: dict[str, _Verdict] = {}  # written, possibly not observed yet; of the scheduler's thread

    def attempted(self, attempt: Attempt) -> None:
        pod = attempt.pod
        if attempt.is_waiting or attempt.is_binding:
            if attempt.is_waiting or self._scheduler.binding.is_held_up(pod.uid):
                self._expected(pod, attempt.node)
        elif attempt.node:
            self._verdicts.pop(pod.uid, None)
            note = f"Successfully assigned {pod.key} to {attempt.node}"
            self._events.pod_event("Normal", "Scheduled", "Binding", pod, note)
        elif pod.is_terminating:
            self._events.pod_event("Warning", "FailedScheduling", "Scheduling", pod, attempt.message)
        elif self._scheduler.queue.get(pod.uid) is not None:  # else deleted, or bound by another scheduler
            self._failed(pod, "SchedulerError" if attempt.is_error else "Unschedulable", attempt.message)

    def forget(self, pod: Pod) -> None:
        """Forgets a deleted pod."""
        self._verdicts.pop(pod.uid, None)

    def _failed(self, pod: Pod, reason: str, message: str) -> None:
        self._events.pod_event("Warning", "FailedScheduling", "Scheduling", pod, message)
        manifest = decode("Pod", pod.encoded)
        generation = (manifest.get("metadata") or {}).get("generation") or 0
        verdict = _Verdict("False", reason, message, generation, pod.nominated_node)
        before = self._verdicts.get(pod.uid) or _verdict_in(manifest.get("status") or {})
        if verdict == before:
            return
        condition: dict[str, Any] = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        if generation:
            condition["observedGeneration"] = generation
        if before.status != verdict.status:
            condition["lastTransitionTime"] = timestamps.in_seconds(int(self._scheduler.clock.wall()))
        status: dict[str, Any] = {"conditions": [condition]}
        if before.nominated_node != verdict.nominated_node:
            status["nominatedNodeName"] = verdict.nominated_node or None
        self._write(pod, status, verdict, _FIRST_PAUSE)

    def _expected(self, pod: Pod, node: str) -> None:
        """Nominates a waiting pod to its node: the room counts as taken, also for a new leader."""
        before = self._verdicts.get(pod.uid) or _verdict_in(decode("Pod", pod.encoded).get("status") or {})
        if before.nominated_node != node:
            self._write(pod, {"nominatedNodeName": node}, replace(before, nominated_node=node), _FIRST_PAUSE)

    def _write(self, pod: Pod, status: Mapping[str, Any], verdict: _Verdict, pause: float) -> None:
        self._verdicts[pod.uid] = verdict
        self._outbox.put(self._send(pod, status, verdict, pause))

    async def _send(self, pod: Pod, status: Mapping[str, Any], verdict: _Verdict, pause: float) -> None:
        try:
            await self._patches.send(pod, status)
        except ApiError as error:
            logger.warning("Pod status not written", extra={"pod": pod.key, "err": str(error)})
            self._inbox.post(partial(self._not_written, pod, verdict))
            again = partial(self._write_again, pod, status, verdict, min(2 * pause, _MAX_PAUSE))
            self._outbox.loop.call_later(pause, self._inbox.post, again)

    def _not_written(self, pod: Pod, verdict: _Verdict) -> None:
        if self._verdicts.get(pod.uid) is verdict:
            del self._verdicts[pod.uid]

    def _write_again(self, pod: Pod, status: Mapping[str, Any], verdict: _Verdict, pause: float) -> None:
        """Retries a status write, unless a later attempt has a newer status."""
        if pod.uid not in self._verdicts and self._scheduler.is_left_waiting(pod.uid):
            self._write(pod, status, verdict, pause)


def _verdict_in(status: Mapping[str, Any]) -> _Verdict:
    found: Mapping[str, Any] = next(
        (item for item in status.get("conditions") or () if item.get("type") == "PodScheduled"), {}
    )
    return _Verdict(
        found.get("status") or "",
        found.get("reason") or "",
        found.get("message") or "",
        found.get("observedGeneration") or 0,
        status.get("nominatedNodeName") or "",
    )
