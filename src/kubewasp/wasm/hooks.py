"""Hooks of a guest: names, packing of their answers, inputs and payloads by number.

Core modules and components share them. The numbers are part of the adapter's memory layout (core/adapter_layout.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Answer(Enum):
    """Return value of a hook, and the packing of its bits."""

    NOTHING = auto()
    STATUS = auto()  # i32
    SCORE = auto()  # i64: high the signed score, low the status
    NOMINATION = auto()  # i64: high the nominating mode, low the status
    PERMIT = auto()  # i64: high the status, low the timeout in ms; the reverse of the other two
    SIGNATURE = auto()  # i64, not packed

    @property
    def wasm_type(self) -> str:
        return {Answer.NOTHING: "", Answer.STATUS: "i32"}.get(self, "i64")


@dataclass(frozen=True, slots=True)
class Hook:
    """One export that the host may call; `index` is its place in the adapter's table of hooks."""

    name: str
    answer: Answer
    index: int

    @property
    def signature(self) -> str:
        return f"() -> ({self.answer.wasm_type})"


_HOOKS: tuple[tuple[str, Answer], ...] = (
    ("enqueue", Answer.NOTHING),
    ("prefilter", Answer.STATUS),
    ("addpod", Answer.STATUS),
    ("removepod", Answer.STATUS),
    ("filter", Answer.STATUS),
    ("postfilter", Answer.NOMINATION),
    ("prescore", Answer.STATUS),
    ("score", Answer.SCORE),
    ("normalizescore", Answer.STATUS),
    ("reserve", Answer.STATUS),
    ("unreserve", Answer.NOTHING),
    ("permit", Answer.PERMIT),
    ("prebind", Answer.STATUS),
    ("bind", Answer.STATUS),
    ("postbind", Answer.NOTHING),
    # Beyond the classic ABI:
    ("preenqueue", Answer.STATUS),
    ("queuesort", Answer.STATUS),
    ("queueinghint", Answer.STATUS),  # 0 skip, 1 queue
    ("clonestate", Answer.NOTHING),
    ("selectstate", Answer.NOTHING),
    ("dropstate", Answer.NOTHING),
    ("signpod", Answer.SIGNATURE),
)
HOOKS: dict[str, Hook] = {name: Hook(name, answer, index) for index, (name, answer) in enumerate(_HOOKS)}

# Hooks about copies of a cycle state; all others can be called on their own.
STATE_HOOKS = ("clonestate", "selectstate", "dropstate")
SINGLE_HOOKS = tuple(name for name in HOOKS if name not in STATE_HOOKS)

# Hooks whose annotations go with the binding.
ANNOTATING_HOOKS = ("reserve", "prebind")

# A guest must export one of these, or nothing but `prefilter`.
MAIN_HOOKS = ("filter", "score", "reserve", "permit", "bind", "preenqueue", "queuesort")

# Inputs: the answers of getters, by slot. First those of the classic ABI, then those of kubewasp/v1, which has numbers
# where the classic ABI has JSON.
INPUTS = (
    "pod",
    "target_pod",
    "config",
    "filtered_nodes",
    "node_statuses",
    "node_scores",
    "pod_requests",
    "feasible_rows",
    "row_statuses",
    "event_old",
    "event_new",
    "waiting_pods",
)
POD, TARGET_POD, CONFIG, FILTERED_NODES, NODE_STATUSES, NODE_SCORES = range(6)
POD_REQUESTS, FEASIBLE_ROWS, ROW_STATUSES, EVENT_OLD, EVENT_NEW, WAITING_PODS = range(6, 12)

# Payloads: results that a hook hands over besides its return value, by the import that takes them.
PAYLOADS = (
    "result.cluster_events",
    "result.node_names",
    "result.nominated_node_name",
    "result.normalized_score_list",
    "handle.eventrecorder.eventf",
    "result.node_scores",
    "result.sort_key",
)
CLUSTER_EVENTS, NODE_NAMES, NOMINATED_NODE, NORMALIZED_SCORES, EVENT, NORMALIZED_ROWS, SORT_KEY = range(7)
