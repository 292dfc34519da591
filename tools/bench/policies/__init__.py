"""Policies that are measured, each in every form: built in, in the process, and as guests in three languages.

No form remembers answers: guests sign no pods, and pods differ. What is measured is a whole evaluation of all nodes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tools.bench.policies import built_in, in_process

# The extension points of each policy, in the order of a scheduling cycle.
POINTS: Final = {"nodenumber": ("preScore", "score"), "label-cpu": ("score",), "filter-reasons": ("filter",)}
POLICIES: Final = tuple(POINTS)
# Those that look at what is requested on a node, which neither the classic ABI nor kube-scheduler's extenders are told.
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
