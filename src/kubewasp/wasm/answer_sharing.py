"""Sharing of a guest's answers between pods, and its checks.  HOT PATH (guard: make counts)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.wasm.answer_cache import Sharing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows
    from kubewasp.k8s.pods import Pod
    from kubewasp.wasm.pod_cycles import PodCycles
    from kubewasp.wasm.purity import PurePods


class AnswerSharing:
    """Signatures and the equality of a pure guest's pods, for one plugin of one profile."""

    def __init__(self, cycles: PodCycles, pure: PurePods | None, handle: SchedulerHandle) -> None:
        self._cycles = cycles
        self._pure = pure
        self._handle = handle

    def pure_pods(self, state: CycleState) -> PurePods | None:
        """The pods of a pure guest, unless a trial has changed what it has seen of this one."""
        pure = self._pure
        if pure is None or not pure.is_believed:
            return None
        cycle = self._cycles.begun(state)
        return pure if cycle is None or not cycle.has_changed_pods else None

    def of(self, state: CycleState, pod: Pod) -> Sharing | None:
        """The pods that share answers with this one; None if it has no signature and the guest is not pure."""
        signature = self._cycles.signature(state)
        if signature:
            return Sharing(signature, of_nodes=True)
        pure = self.pure_pods(state)
        return None if pure is None else Sharing(pure.key(state, pod), of_nodes=False)

    def is_checked(self, state: CycleState, shared: Sharing) -> bool:
        """Whether the guest is asked all the same."""
        return self._pure is not None and not shared.of_nodes and self._pure.is_checked(state)

    def learn(self, state: CycleState) -> None:
        """After a hook whose answers may be shared: takes in what the guest has read of the pod."""
        if self._pure is not None:
            self._pure.learn(self._cycles.begun(state))

    def compare(self, state: CycleState, pod: Pod, hook: str, rows: Rows, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Refutes the declaration of a pure guest by the first pair that differs: a kept answer and one just given."""
        cycle = self._cycles.begun(state)
        if self._pure is None or cycle is None or cycle.failed:
            return
        for row, (kept, asked) in zip(rows.tolist(), pairs, strict=True):
            if kept != asked:
                self._pure.refute(pod, hook, self._handle.table.node(row).name, str(kept), str(asked))
                return
