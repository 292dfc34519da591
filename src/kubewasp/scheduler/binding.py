"""Binding cycle: PreBind, Bind, PostBind; rollback of failed placements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kubewasp.framework.binding_annotations import values
from kubewasp.framework.cluster_events import Action
from kubewasp.framework.status import Code, Status
from kubewasp.framework.unexpected import UnexpectedErrors
from kubewasp.scheduler.attempt import Attempt
from kubewasp.scheduler.failure_handler import observe_attempt
from kubewasp.scheduler.queued_pod import ClusterChange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.clock import Clock
    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.observer import SchedulerObserver
    from kubewasp.framework.runtime import Framework
    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.assumed_pods import AssumedPods
    from kubewasp.scheduler.failure_handler import FailureHandler
    from kubewasp.scheduler.queue import SchedulingQueue
    from kubewasp.scheduler.queued_pod import QueuedPod
    from kubewasp.scheduler.waiting import WaitingPod

# Retry interval of PreBind plugins after `Wait`, in seconds.
PRE_BIND_RETRY: Final = 1.0
_REMOVED: Final = Status(Code.UNSCHEDULABLE, "removed")


@dataclass(eq=False, slots=True)
class Binding:
    """A pod in its binding cycle: `prepared` are the completed PreBind plugins, `bound_by` is the Bind plugin."""

    queued: QueuedPod
    framework: Framework
    assumed: Pod
    state: CycleState
    prepared: set[str] = field(default_factory=set)
    retry_at: float | None = None
    bound_by: str = ""


class BindingCycle:
    """Binding cycles of pods. Binds in progress are kept by uid until their result arrives."""

    def __init__(
        self,
        queue: SchedulingQueue,
        assumed: AssumedPods,
        failures: FailureHandler,
        clock: Clock,
        observer: SchedulerObserver,
    ) -> None:
        self._queue = queue
        self._assumed = assumed
        self._failures = failures
        self._clock = clock
        self._observer = observer
        self._unexpected = UnexpectedErrors(observer)
        self._under_way: dict[str, Binding] = {}
        self._held_up: dict[str, Binding] = {}  # subset waiting in PreBind

    def __len__(self) -> int:
        return len(self._under_way)

    def __contains__(self, uid: str) -> bool:
        return uid in self._under_way

    def __iter__(self) -> Iterator[Binding]:
        return iter(self._under_way.values())

    def frameworks(self) -> Iterator[Framework]:
        """The frameworks of the pods in their binding cycle."""
        return (binding.framework for binding in self._under_way.values())

    def is_held_up(self, uid: str) -> bool:
        """Whether a PreBind plugin waits for something in the cluster, such as a volume."""
        return uid in self._held_up

    def next_retry(self) -> float | None:
        return min((item.retry_at for item in self._held_up.values() if item.retry_at is not None), default=None)

    # ------------------------------------------------------------------ the way to a node

    def decided(self, waiting: WaitingPod, status: Status) -> Attempt:
        """Binds an allowed pod, or undoes the placement of a rejected one."""
        self._observer.permit_wait(status.label, self._clock.now() - waiting.started)
        queued, framework, assumed, state = waiting.queued, waiting.framework, waiting.assumed, waiting.state
        if status.is_success:
            return self.bind(queued, framework, assumed, state)
        return self.undo(queued, framework, assumed, state, status)

    def bind(self, queued: QueuedPod, framework: Framework, assumed: Pod, state: CycleState) -> Attempt:
        self._queue.done(assumed.uid)
        return self._advance(Binding(queued, framework, assumed, state))

    def retry(self) -> Iterator[Attempt]:
        """Repeats PreBind calls that are due; yields the completed attempts."""
        now = self._clock.now()
        due = [item for item in self._held_up.values() if item.retry_at is not None and item.retry_at <= now]
        for binding in due:
            uid = binding.assumed.uid
            if self._held_up.get(uid) is binding:  # else undone meanwhile
                del self._under_way[uid]
                attempt = self._advance(binding)
                if not attempt.is_binding:
                    yield attempt

    def finish(self, uid: str, status: Status) -> Attempt | None:
        """Completes a bind with its result; None for an unknown bind."""
        binding = self._under_way.pop(uid, None)
        if binding is None:
            return None
        if not status.is_success:
            status = Status(Code.ERROR, f'running Bind plugin "{binding.bound_by}": {status.reason}')
        return self._end(binding, status)

    def _advance(self, binding: Binding) -> Attempt:
        """Runs PreBind and Bind plugins, up to the first that waits for the cluster."""
        known = binding.state.annotations
        status = self._run(binding, "PreBind")
        if binding.state.annotations is not known:
            binding.assumed = self._assumed.annotate(binding.assumed, values(binding.state.annotations))
        assumed = binding.assumed
        if status.code == Code.WAIT:
            binding.retry_at = self._clock.now() + PRE_BIND_RETRY
            self._held_up[assumed.uid] = binding
        else:
            self._held_up.pop(assumed.uid, None)
        if status.is_success:
            binding.retry_at = None
            status = self._run(binding, "Bind")
            binding.bound_by = status.plugin
        if status.code == Code.WAIT:
            self._under_way[assumed.uid] = binding
            annotations = tuple(binding.state.annotations.values())
            return Attempt(binding.queued.pod, node=assumed.node, is_binding=True, annotations=annotations)
        return self._end(binding, status)

    def _run(self, binding: Binding, point: str) -> Status:
        """PreBind or Bind; an exception is an error of the pod's."""
        framework, assumed, state = binding.framework, binding.assumed, binding.state
        try:
            if point == "PreBind":
                return framework.run_pre_bind(state, assumed, assumed.node, binding.prepared)
            return framework.run_bind(state, assumed, assumed.node)
        except Exception as error:  # noqa: BLE001 - one pod's
            text = self._unexpected.report(point, error, pod=assumed.key)
            return Status(Code.ERROR, f"unexpected error: {text}")

    def _end(self, binding: Binding, status: Status) -> Attempt:
        queued, framework, assumed, state = binding.queued, binding.framework, binding.assumed, binding.state
        if not status.is_success:
            return self.undo(queued, framework, assumed, state, status)
        observe_attempt(self._observer, queued, "scheduled")
        now = self._clock.now()
        waited = 0.0 if queued.ready_since is None else now - queued.ready_since
        self._observer.scheduled(queued.attempts, waited, after_flush=queued.was_flushed)
        framework.run_post_bind(state, assumed, assumed.node)
        self._queue.delete(assumed.uid)
        state.close()
        chosen = tuple(state.annotations.values()) if state.annotations else ()
        return Attempt(queued.pod, node=assumed.node, annotations=chosen)

    # ------------------------------------------------------------------ the way back

    def undo(self, queued: QueuedPod, framework: Framework, assumed: Pod, state: CycleState, status: Status) -> Attempt:
        """Undoes a placement after Permit or Bind. The freed room is an event for pods tried meanwhile."""
        framework.run_unreserve(state, assumed, assumed.node)
        self.forget(assumed, state)
        freed = ClusterChange("AssignedPod", Action.DELETE, assumed, None)
        if not status.is_rejected:
            self._queue.move(freed)
            return self._failures.not_placed(queued, status)
        attempt = self._failures.not_placed(queued, status)
        self._queue.move(freed, lambda other: other.uid != assumed.uid)
        return attempt

    def forget(self, assumed: Pod, state: CycleState) -> None:
        """Ends a placement in the cycle's state and in the node table."""
        state.close()
        self._assumed.forget(assumed)

    def remove(self, uid: str, waiting: WaitingPod | None) -> None:
        """Undoes the placement of a deleted pod. A bind that was sent is not undone: its result decides."""
        if waiting is not None:
            self.decided(waiting, _REMOVED)
        if uid in self._held_up:
            binding = self._under_way.pop(uid)
            del self._held_up[uid]
            self.undo(binding.queued, binding.framework, binding.assumed, binding.state, _REMOVED)
