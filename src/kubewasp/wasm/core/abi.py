"""The guest ABI as data, classic and our extension of it: the hooks a guest may export, the functions it may import.

Everything else (the shim, the adapter's function table, `plugin inspect`, the fuzz tests) is made from these two lists.
docs/abi.md explains them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Answer(Enum):
    """What a hook returns and how its bits are packed."""

    NOTHING = auto()
    STATUS = auto()  # i32
    SCORE = auto()  # i64: high the signed score, low the status
    NOMINATION = auto()  # i64: high the nominating mode, low the status
    PERMIT = auto()  # i64: high the status, low the timeout in ms; the other way round from the other two
    SIGNATURE = auto()  # i64, not packed

    @property
    def wasm_type(self) -> str:
        return {Answer.NOTHING: "", Answer.STATUS: "i32"}.get(self, "i64")


@dataclass(frozen=True, slots=True)
class Hook:
    """One export the host may call; `index` is its place in the adapter's table of hooks."""

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

# About copies of a cycle state; the others make sense one at a time.
STATE_HOOKS = ("clonestate", "selectstate", "dropstate")
SINGLE_HOOKS = tuple(name for name in HOOKS if name not in STATE_HOOKS)

# A guest must export one of these, or nothing but `prefilter`.
MAIN_HOOKS = ("filter", "score", "reserve", "permit", "bind", "preenqueue", "queuesort")
START_FUNCTIONS = ("_start", "_initialize")

API = "k8s.io/api"
SCHEDULER = "k8s.io/scheduler"
KLOG = "k8s.io/klog"
WASI = "wasi_snapshot_preview1"


@dataclass(frozen=True, slots=True)
class Import:
    """One function the adapter answers. All parameters are i32; the result is `i32`, `i64` or nothing."""

    module: str
    name: str
    parameters: tuple[str, ...]
    result: str

    @property
    def key(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def signature(self) -> str:
        return f"({', '.join(['i32'] * len(self.parameters))}) -> ({self.result})"


def _table(module: str, text: str) -> tuple[Import, ...]:
    rows = []
    for line in text.strip().splitlines():
        declaration, arrow, result = line.partition("->")
        name, *parameters = declaration.split()
        kind = "i64" if result.endswith(":i64") else "i32"
        rows.append(Import(module, name, tuple(parameters), kind if arrow else ""))
    return tuple(rows)


CLASSIC_IMPORTS: tuple[Import, ...] = (
    *_table(
        API,
        """
        node name name_len buf limit -> len
        nodeList buf limit -> len
        """,
    ),
    *_table(
        SCHEDULER,
        """
        get_config buf limit -> len
        currentPod buf limit -> len
        targetPod buf limit -> len
        currentNodeName buf limit -> len
        filteredNodeList buf limit -> len
        nodeToStatusMap buf limit -> len
        nodeScoreList buf limit -> len
        nodeImageStates name name_len buf limit -> len
        result.cluster_events buf len
        result.node_names buf len
        result.nominated_node_name buf len
        result.status_reason buf len
        result.normalized_score_list buf len
        handle.eventrecorder.eventf buf len
        handle.reject_waiting_pod uid uid_len buf limit
        handle.get_waiting_pod uid uid_len buf limit
        """,
    ),
    *_table(
        KLOG,
        """
        severity -> level
        log severity msg msg_len
        logs severity msg msg_len kvs kvs_len
        """,
    ),
)

# WASI functions we answer instead of the runtime: output is captured and bounded, a sleep may not outlive a call.
WASI_IMPORTS: tuple[Import, ...] = _table(
    WASI,
    """
    fd_write fd iovs iovs_len written -> errno
    poll_oneoff in out subscriptions events -> errno
    """,
)

# What we offer beyond the classic ABI; a guest that imports it runs only here.
EXTENSION = "kubewasp/v1"
EXTENSION_IMPORTS: tuple[Import, ...] = _table(
    EXTENSION,
    """
    implemented hooks
    pod_signature low high
    now -> ns:i64
    cycle -> number
    resource name name_len -> id
    pod_requests buf limit -> len
    current_node -> row
    node_rows -> count
    node_row name name_len -> row
    node_name row buf limit -> len
    node_object row buf limit -> len
    node_info row buf limit -> len
    node_pods row buf limit -> len
    feasible_rows buf limit -> len
    node_scores buf limit -> len
    node_statuses buf limit -> len
    result.node_scores buf len
    result.sort_key buf len
    queued_at -> ns:i64
    event_resource -> resource
    event_action -> actions
    event_old buf limit -> len
    event_new buf limit -> len
    state -> number
    waiting_pods buf limit -> len
    allow_waiting_pod uid uid_len -> found
    reject_waiting_pod uid uid_len reason reason_len -> found
    at_hand buf -> row
    """,
)

ADAPTER_IMPORTS: tuple[Import, ...] = CLASSIC_IMPORTS + WASI_IMPORTS + EXTENSION_IMPORTS
BY_KEY: dict[str, Import] = {item.key: item for item in ADAPTER_IMPORTS}
CLASSIC_MODULES = (API, SCHEDULER, KLOG)
KUBERNETES_MODULES = (*CLASSIC_MODULES, EXTENSION)
