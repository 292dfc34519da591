"""ImageLocality: prefers nodes that have the images of the pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kubewasp.framework.plugin import MAX_SCORE, ScorePlugin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.framework.status import Status
    from kubewasp.k8s.pods import Pod, PodSpec
    from kubewasp.state.node_table import NodeTable

_MIB = 1024 * 1024
_MINIMUM = 23 * _MIB
_MAXIMUM = 1000 * _MIB
_MOST = 1024


class ImageLocality(ScorePlugin):
    """The score is the sum of the sizes of present images, each weighted by its share of the nodes."""

    name = "ImageLocality"

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        self._known: dict[PodSpec, tuple[tuple[int, int, int], Scores | None]] = {}

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        moment = (table.images.generation, len(table), table.capacity)
        known = self._known.get(pod.spec)
        if known is None or known[0] != moment:
            if len(self._known) >= _MOST:
                self._known.clear()
            known = self._known[pod.spec] = (moment, _scores(pod.spec, table))
        scores = known[1]
        return np.zeros(len(rows), np.int64) if scores is None else scores.take(rows)


def _scores(spec: PodSpec, table: NodeTable) -> Scores | None:
    """Scores of all rows; None if all are 0, as no node has an image of the pod."""
    sums = np.zeros(table.capacity, np.int64)
    for image in (*spec.images, *spec.image_volumes):
        found = table.images.by_name.get(_tagged(image))
        if found is not None:
            size, having = found
            sums[np.fromiter(having, np.int64, len(having))] += int(float(size) * (len(having) / len(table)))
    if not np.count_nonzero(sums):
        return None
    largest = _MAXIMUM * max(spec.container_count, 1)
    return MAX_SCORE * (np.clip(sums, _MINIMUM, largest) - _MINIMUM) // (largest - _MINIMUM)


def _tagged(image: str) -> str:
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
