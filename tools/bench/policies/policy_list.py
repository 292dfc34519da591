"""The policies by name: extension points and Python implementations."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tools.bench.policies import built_in, in_process

# The extension points of each policy, in the order of a scheduling cycle.
POINTS: Final = {"nodenumber": ("preScore", "score"), "label-cpu": ("score",), "filter-reasons": ("filter",)}
POLICIES: Final = tuple(POINTS)
# These read the resources requested on a node; neither the classic ABI nor kube-scheduler's extenders have them.
NEEDS_REQUESTED: Final = ("label-cpu", "filter-reasons")
BUILT_IN: Final = {
    "nodenumber": built_in.NodeNumber,
    "label-cpu": built_in.LabelCpu,
    "filter-reasons": built_in.FilterReasons,
}
IN_PROCESS: Final = {
    "nodenumber": in_process.NodeNumber,
    "label-cpu": in_process.LabelCpu,
    "filter-reasons": in_process.FilterReasons,
}
SOURCES: Final = Path(__file__).parent
