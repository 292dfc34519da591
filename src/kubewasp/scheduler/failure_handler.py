"""Failed attempts: the pod returns to the queue, with its message and its nomination."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from kubewasp.framework.messages import MAX_MESSAGE, fit_error
from kubewasp.k8s.texts import shortened
from kubewasp.scheduler.attempt import Attempt

if TYPE_CHECKING:
    from kubewasp.framework.observer import SchedulerObserver
    from kubewasp.framework.status import Status
    from kubewasp.scheduler.cycle import Choice
    from kubewasp.scheduler.preemption import Nominator
    from kubewasp.scheduler.queue import SchedulingQueue
    from kubewasp.scheduler.queued_pod import QueuedPod


class FailureHandler:
    """Returns pods to the queue."""

    def __init__(self, queue: SchedulingQueue, nominator: Nominator, observer: SchedulerObserver) -> None:
        self._queue = queue
        self._nominator = nominator
        self._observer = observer

    def no_node(self, queued: QueuedPod, choice: Choice) -> Attempt:
        """Handles a pod without a feasible node."""
        observe_attempt(self._observer, queued, "error" if choice.is_error else "unschedulable")
        message = shortened(choice.message, MAX_MESSAGE)
        queued.message = message
        choice.state.close()
        if choice.is_error:
            self._requeue(queued, frozenset(), nominated_node="")
        else:
            self._requeue(queued, choice.rejected_by, nominated_node=choice.nominated_node)
        return Attempt(
            queued.pod,
            message=message,
            is_error=choice.is_error,
            nominated_node=choice.nominated_node or "",
            victims=tuple(choice.victims),
            objections=choice.objections,
        )

    def not_placed(self, queued: QueuedPod, status: Status) -> Attempt:
        """Handles a pod whose placement failed or was rejected."""
        observe_attempt(self._observer, queued, "unschedulable" if status.is_rejected else "error")
        if status.is_rejected:
            message = fit_error(1, dict.fromkeys(status.reasons, 1))
            rejected_by = frozenset((status.plugin,)) - {""}
        else:
            message, rejected_by = shortened(status.reason, MAX_MESSAGE), frozenset()
        queued.message = message
        self._requeue(queued, rejected_by, nominated_node="")
        return Attempt(queued.pod, message=message, is_error=not status.is_rejected)

    def _requeue(self, queued: QueuedPod, rejected_by: frozenset[str], nominated_node: str | None) -> None:
        before = queued.pod
        if nominated_node is not None:
            if nominated_node != before.nominated_node:
                queued.pod = replace(before, nominated_node=nominated_node)
            self._nominator.nominate(queued.pod, nominated_node)
        self._queue.give_back(queued, rejected_by)
        if before.nominated_node and queued.pod is not before:
            self._queue.nomination_ended(before)


def observe_attempt(observer: SchedulerObserver, queued: QueuedPod, result: str) -> None:
    """Observes an attempt. Durations are by the machine's clock, waiting times by the scheduler's."""
    observer.attempt(result, queued.pod.spec.scheduler_name, time.perf_counter() - queued.began)
