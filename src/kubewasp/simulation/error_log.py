"""Errors of plugins in scheduling attempts, grouped by cause."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kubewasp.simulation.result import ErrorCause
from kubewasp.wasm.hook_failures import without_prints

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubewasp.k8s.pods import Pod
    from kubewasp.scheduler.attempt import Attempt
    from kubewasp.scheduler.queued_pod import QueuedPod
    from kubewasp.state.node_table import NodeTable

_WORD: Final = re.compile(r"[\w./-]*\w")
# Addresses of values, as in the stack of a Go panic. Offsets in code ("@ 0x31", "+0x2") belong to the cause.
_ADDRESS: Final = re.compile(r"(?<![+\w])(?<!@ )0x[0-9a-f]+\b")
_LONGEST: Final = 16 * 1024


class ErrorLog:
    """Attempts that ended with an error, by cause. Implements `AttemptListener`.

    `failed` are the pods whose last attempt did.
    """

    def __init__(self, table: NodeTable) -> None:
        self.failed: set[str] = set()
        self._table = table
        self._causes: dict[str, _Cause] = {}

    def attempted(self, attempt: Attempt) -> None:
        if attempt.is_error:
            self._add(attempt.pod, attempt.message)
        else:
            self.failed.discard(attempt.pod.key)

    def add_gated(self, queue: Iterable[QueuedPod]) -> None:
        """Adds the pods that a failed PreEnqueue keeps out of the active queue: they have no attempt."""
        for queued in queue:
            if queued.gate_failed:
                self._add(queued.pod, queued.gate_reason)

    def causes(self) -> list[ErrorCause]:
        """All causes, that of most pods first."""
        found = [ErrorCause(item.message, tuple(item.pods), item.attempts) for item in self._causes.values()]
        return sorted(found, key=lambda cause: -len(cause.pods))

    def cause_of(self, pod: Pod, message: str) -> str:
        """The message without the pod's names, names of nodes, addresses, and lines printed before a panic."""
        own = {pod.name, pod.key, pod.uid}

        def name(match: re.Match[str]) -> str:
            word = match.group()
            return "POD" if word in own else "NODE" if self._table.row(word) is not None else word

        return _ADDRESS.sub("0x", _WORD.sub(name, without_prints(message[:_LONGEST])))

    def _add(self, pod: Pod, message: str) -> None:
        self.failed.add(pod.key)
        cause = self._causes.setdefault(self.cause_of(pod, message), _Cause(message))
        cause.pods[pod.key] = None
        cause.attempts += 1


class _Cause:
    """Pods and attempts of one cause."""

    def __init__(self, message: str) -> None:
        self.message = message
        self.pods: dict[str, None] = {}
        self.attempts = 0
