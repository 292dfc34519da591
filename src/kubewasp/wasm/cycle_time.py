"""Time limit of a pod's scheduling cycle in one guest: CPU time and sleep of all its hooks, from PreFilter to Permit.

HOT PATH (guard: make counts). A batch of nodes has the whole `callTimeout`: without this limit, a guest that is slow
for every node holds the scheduler for as long as there are nodes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from kubewasp.wasm.hook_failures import hook_failure, time_limit
from kubewasp.wasm.hooks import HOOKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.wasm.hook_failures import HookFailure
    from kubewasp.wasm.limits import Limits

# Hooks of the queue, of the binding cycle, and signatures of other pods are outside of a pod's scheduling cycle.
_OUTSIDE: Final = frozenset(
    ("enqueue", "preenqueue", "queuesort", "queueinghint", "signpod", "unreserve", "prebind", "bind", "postbind")
)
# By number of the hook.
IN_CYCLE: Final = tuple(name not in _OUTSIDE for name in HOOKS)
# CPU time of the calling thread; wall time where the system has no such clock.
cpu_time: Callable[[], float] = getattr(time, "thread_time", time.monotonic)


class CycleTime:
    """Time that one pod has left in one guest."""

    __slots__ = ("_limits", "left")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.left = limits.cycle_timeout

    def exceeded(self, hook: str, plugin: str) -> HookFailure:
        """The failure of a hook that is not called any more."""
        return hook_failure(hook, plugin, "timeout", time_limit(self._limits, "cycle_timeout"))
