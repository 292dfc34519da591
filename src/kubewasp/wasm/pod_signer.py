"""Signatures of pods, computed some pods ahead.  HOT PATH (guard: make counts).

A signature is of the pod alone, so it can be computed before the pod's turn: one call for many pods costs each of them
a fraction of a call. answer_cache.py uses signatures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewasp.framework.status import SUCCESS, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.k8s.pods import Pod
    from kubewasp.wasm.guest import Guest
    from kubewasp.wasm.hook_results import SignResult

_MOST_AT_ONCE: Final = 32
_MOST_KEPT: Final = 256
_SHARE_OF_LIMIT: Final = 0.1


class PodSigner:
    """Signs pods for one plugin of one profile, on the scheduler's thread."""

    def __init__(self, guest: Guest, handle: SchedulerHandle) -> None:
        self._guest = guest
        self._handle = handle
        self._ahead: dict[str, tuple[Pod, int]] = {}
        self._at_once = 1  # until the duration per pod is known

    def sign(self, pod: Pod) -> tuple[Status, int]:
        """The pod's signature, or 0. A status other than Success ends the pod's scheduling attempt."""
        known = self._ahead.pop(pod.uid, None)
        if known is not None and known[0] is pod:  # unchanged since
            return SUCCESS, known[1]
        others = self._others(pod)
        signed = self._signatures([pod, *others])
        if others and not signed.signatures:  # one of the others may be the cause
            self._at_once = 1
            signed = self._signatures([pod])
        if not signed.signatures:
            return signed.status, 0
        first, *rest = signed.signatures
        self._keep(others, rest)
        return SUCCESS, first

    def _others(self, pod: Pod) -> list[Pod]:
        """The next pods that are not signed yet."""
        if self._at_once == 1:
            return []
        profile = pod.spec.scheduler_name
        return [
            other
            for other in self._handle.upcoming_pods(self._at_once - 1)
            if other.spec.scheduler_name == profile and self._ahead.get(other.uid, (None, 0))[0] is not other
        ]

    def _signatures(self, pods: Sequence[Pod]) -> SignResult:
        with self._guest.cycle(pods[0], self._handle.table, handle=self._handle) as cycle:
            signed = cycle.signpods(pods)
        if signed.signatures:
            seconds = max(signed.trace.seconds / len(pods), 1e-7)
            in_time = int(self._guest.limits.call_timeout * _SHARE_OF_LIMIT / seconds)
            self._at_once = max(1, min(in_time, _MOST_AT_ONCE))
        return signed

    def _keep(self, pods: Sequence[Pod], signatures: Sequence[int]) -> None:
        self._ahead.update((pod.uid, (pod, found)) for pod, found in zip(pods, signatures, strict=False))
        while len(self._ahead) > _MOST_KEPT:
            del self._ahead[next(iter(self._ahead))]
