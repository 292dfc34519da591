"""Calls of all hooks of a core guest, and a reader of its logs, for targets that run guests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests import samples

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.wasm.guest_cycle import GuestCycle
    from kubewasp.wasm.guest_log import HookLog

# All hooks without those of cycle states, for a cycle with the nodes node-1 and node-2.
HOOK_CALLS: Final[dict[str, Callable[[GuestCycle], object]]] = {
    "enqueue": lambda cycle: cycle.enqueue(),
    "preenqueue": lambda cycle: cycle.preenqueue(),
    "queuesort": lambda cycle: cycle.queuesort(1.0),
    "queueinghint": lambda cycle: cycle.queueinghint("Node", 1),
    "signpod": lambda cycle: cycle.signpods([samples.pod("a"), samples.pod("b")]),
    "prefilter": lambda cycle: cycle.prefilter(),
    "addpod": lambda cycle: cycle.add_pod(samples.pod("other"), "node-1"),
    "removepod": lambda cycle: cycle.remove_pod(samples.pod("other"), "node-1"),
    "filter": lambda cycle: cycle.filter(),
    "postfilter": lambda cycle: cycle.postfilter({"node-1": 2}),
    "prescore": lambda cycle: cycle.prescore(),
    "score": lambda cycle: cycle.score(),
    "normalizescore": lambda cycle: cycle.normalize_score({"node-1": 5, "node-2": 7}),
    "reserve": lambda cycle: cycle.reserve("node-1"),
    "unreserve": lambda cycle: cycle.unreserve("node-1"),
    "permit": lambda cycle: cycle.permit("node-1"),
    "prebind": lambda cycle: cycle.prebind("node-1"),
    "bind": lambda cycle: cycle.bind("node-1"),
    "postbind": lambda cycle: cycle.postbind("node-1"),
}


class ReadingSink:
    """Reads all logs of a guest, and keeps none."""

    def write(self, call: HookLog) -> None:
        call.log.log_lines()
