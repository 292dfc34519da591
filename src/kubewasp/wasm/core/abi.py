"""Imports of the core-module ABI as data: the classic ones and the extension `kubewasp/v1`.

The shim, the adapter's function table, `plugin inspect` and the fuzz tests are generated from this list and from
hooks.py. docs/abi.md explains them.
"""

from __future__ import annotations

from dataclasses import dataclass

START_FUNCTIONS = ("_start", "_initialize")

API = "k8s.io/api"
SCHEDULER = "k8s.io/scheduler"
KLOG = "k8s.io/klog"
WASI = "wasi_snapshot_preview1"


@dataclass(frozen=True, slots=True)
class Import:
    """One function of the adapter. All parameters are i32; the result is `i32`, `i64` or nothing."""

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

# WASI functions of the adapter instead of the runtime's: output is captured and bounded, sleep counts as call time.
WASI_IMPORTS: tuple[Import, ...] = _table(
    WASI,
    """
    fd_write fd iovs iovs_len written -> errno
    poll_oneoff in out subscriptions events -> errno
    """,
)

# Beyond the classic ABI: a guest with these imports runs on kubewasp only.
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
    result.hint buf len
    result.annotation key key_len value value_len
    normalization method reverse maximum
    pure reports
    pod_read metadata spec spec_high others
    """,
)

# AssemblyScript's abort, in every guest of its default build: a trap with message, file, line and column. A callback of
# the host, not a function of the adapter.
ABORT = Import("env", "abort", ("message", "file", "line", "column"), "")

ADAPTER_IMPORTS: tuple[Import, ...] = CLASSIC_IMPORTS + WASI_IMPORTS + EXTENSION_IMPORTS
BY_KEY: dict[str, Import] = {item.key: item for item in ADAPTER_IMPORTS}
CLASSIC_MODULES = (API, SCHEDULER, KLOG)
KUBERNETES_MODULES = (*CLASSIC_MODULES, EXTENSION)
