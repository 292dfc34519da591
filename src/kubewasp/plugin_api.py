"""In-process plugins: the extension points of the scheduling framework and the types that they use.

A plugin is a class with one or more of these interfaces. Its constructor takes the `args` of its `pluginConfig` entry
and a `Handle`; it is registered as an entry point in the group `kubewasp.plugins`:

    from collections.abc import Mapping, Sequence

    from kubewasp.plugin_api import SUCCESS, CycleState, Handle, Node, NodeByNode, Pod, Status, rejection

    class QuietNodes(NodeByNode):
        name = "QuietNodes"

        def __init__(self, args: Mapping[str, object], handle: Handle) -> None:
            self._label = str(args.get("label", "example.com/noisy"))

        def filter_node(self, state: CycleState, pod: Pod, node: Node, pods: Sequence[Pod]) -> Status:
            return rejection("node is noisy", resolvable=False) if self._label in node.labels else SUCCESS
"""

from __future__ import annotations

from kubewasp.framework.cluster_events import Action, ObjectReference, RecordedEvent
from kubewasp.framework.cycle_state import CycleState, StateKey
from kubewasp.framework.handle import Handle
from kubewasp.framework.normalization import normalized
from kubewasp.framework.plugin import (
    MAX_SCORE,
    MIN_SCORE,
    BindingResult,
    BindPlugin,
    Candidate,
    EnqueueExtensions,
    FilterPlugin,
    NodeByNode,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueueSortPlugin,
    Registration,
    RejectionHints,
    ReservePlugin,
    Rows,
    ScorePlugin,
    Scores,
    SortKey,
    Verdicts,
    rejection,
)
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.nodes import Node
from kubewasp.k8s.pods import Pod
from kubewasp.state.node_table import NodeTable

__all__ = [
    "MAX_SCORE",
    "MIN_SCORE",
    "SUCCESS",
    "Action",
    "BindPlugin",
    "BindingResult",
    "Candidate",
    "Code",
    "CycleState",
    "EnqueueExtensions",
    "FilterPlugin",
    "Handle",
    "Node",
    "NodeByNode",
    "NodeTable",
    "ObjectReference",
    "PermitPlugin",
    "Plugin",
    "Pod",
    "PostBindPlugin",
    "PostFilterPlugin",
    "PostFilterResult",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterPlugin",
    "PreFilterResult",
    "PreScorePlugin",
    "QueueSortPlugin",
    "RecordedEvent",
    "Registration",
    "RejectionHints",
    "ReservePlugin",
    "Rows",
    "ScorePlugin",
    "Scores",
    "SortKey",
    "StateKey",
    "Status",
    "Verdicts",
    "normalized",
    "rejection",
]
