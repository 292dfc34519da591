"""Queue entries of a scheduler, for a picture. On the scheduler's thread, or between its pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.console.picture import ACTIVE, BACKOFF, GATED, UNSCHEDULABLE, WAITING, QueueEntry
from kubewasp.scheduler import subqueues

if TYPE_CHECKING:
    from kubewasp.clock import Clock
    from kubewasp.scheduler.queued_pod import QueuedPod
    from kubewasp.scheduler.scheduler import Scheduler
    from kubewasp.scheduler.waiting import WaitingPod

_PARTS = {subqueues.ACTIVE: ACTIVE, subqueues.BACKOFF: BACKOFF, subqueues.UNSCHEDULABLE: UNSCHEDULABLE}


def queue_entries(scheduler: Scheduler) -> dict[str, QueueEntry]:
    """Entries of all pods in the queue and of those that wait on Permit, by `namespace/name`."""
    clock = scheduler.clock
    found = {waiting.assumed.key: waiting_entry(waiting, clock) for waiting in scheduler.waiting.all()}
    for order, queued in enumerate(scheduler.queue.in_order()):
        entry = queue_entry(queued, clock, order)
        if entry is not None and queued.pod.key not in found:
            found[queued.pod.key] = entry
    return found


def queue_entry(queued: QueuedPod, clock: Clock, order: int = 0) -> QueueEntry | None:
    """The entry of a pod in the queue; None while it is being scheduled or bound."""
    part = GATED if queued.gated_by else _PARTS.get(queued.place)
    if part is None:
        return None
    start = clock.wall() - clock.now()
    gated = f"gated by {queued.gated_by}: {queued.gate_reason}"
    return QueueEntry(
        queued.pod,
        part,
        start + queued.added_at,
        queued.attempts,
        start + queued.ready_at if part == BACKOFF else None,
        (queued.gated_by,) if queued.gated_by else tuple(sorted(queued.rejected_by)),
        gated if queued.gated_by else queued.message,
        is_error=queued.errors > 0 or (queued.gate_failed and bool(queued.gated_by)),
        order=order,
    )


def waiting_entry(waiting: WaitingPod, clock: Clock) -> QueueEntry:
    start = clock.wall() - clock.now()
    return QueueEntry(
        waiting.assumed,
        WAITING,
        start + waiting.queued.added_at,
        waiting.queued.attempts,
        start + waiting.deadline if waiting.timeouts else None,
        tuple(sorted(waiting.timeouts)),
        f"waits on Permit for {waiting.assumed.node}",
        waiting.assumed.node,
    )
