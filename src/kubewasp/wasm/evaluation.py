"""`Evaluation`: the result of a guest for one pod. Public API."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.wasm.guest_cycle import GuestCycle, check_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.wasm.klog import LogLine


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Result of `Guest.evaluate`.

    Example:
        >>> result = guest.evaluate(pod, nodes)                            # doctest: +SKIP
        >>> result.status.is_success, result.best                          # doctest: +SKIP
        (True, 'node-7')

    Attributes:
        status: Success, Unschedulable if no node passed, or the status that ended the evaluation.
        scores: Scores of the nodes that passed, 0 to 100, by name; empty unless the status is Success.
        rejected: Status of each rejected node, by name.
        logs: Log lines of all hooks, in order.
    """

    status: Status
    scores: dict[str, int] = field(default_factory=dict)
    rejected: dict[str, Status] = field(default_factory=dict)
    logs: tuple[LogLine, ...] = ()

    @property
    def best(self) -> str | None:
        """The node with the highest score, the first of several."""
        return max(self.scores, key=self.scores.__getitem__, default=None)


def evaluate(cycle: GuestCycle) -> Evaluation:
    """Runs PreFilter, Filter, PreScore, Score and NormalizeScore, as far as the guest has them."""
    hooks = cycle.guest.hooks
    logs: list[LogLine] = []
    feasible: Sequence[str] = tuple(cycle.nodes)
    rejected: dict[str, Status] = {}
    skip_filter = False
    if "signpod" in hooks:  # only its failure matters here
        signed = cycle.signpods([cycle.pod])
        logs += signed.trace.logs
        if not signed.status.is_success:
            return Evaluation(signed.status, {}, dict.fromkeys(feasible, signed.status), tuple(logs))
    if "prefilter" in hooks:
        first = cycle.prefilter()
        logs += first.trace.logs
        if not first.status.is_success and first.code != Code.SKIP:
            return Evaluation(first.status, {}, dict.fromkeys(feasible, first.status), tuple(logs))
        skip_filter = first.code == Code.SKIP
        if first.node_names is not None:
            wanted = set(first.node_names)
            reason = Status(
                Code.UNSCHEDULABLE_AND_UNRESOLVABLE, f"node(s) didn't satisfy plugin(s) [{cycle.guest.name}]"
            )
            rejected = {name: reason for name in feasible if name not in wanted}
            feasible = tuple(name for name in feasible if name in wanted)
    if "filter" in hooks and not skip_filter:
        verdicts = cycle.filter(feasible if rejected else None)
        logs += verdicts.trace.logs
        rejected |= verdicts.rejected
        feasible = verdicts.feasible
        error = next((s for s in rejected.values() if s.label == Code.ERROR.label), None)
        if error is not None:
            return Evaluation(error, {}, rejected, tuple(logs))
    if not feasible:
        return Evaluation(Status(Code.UNSCHEDULABLE, "no node passed"), {}, rejected, tuple(logs))
    scores = dict.fromkeys(feasible, 0)
    status = SUCCESS
    skip_score = False
    if "prescore" in hooks:
        prescored = cycle.prescore(feasible)
        logs += prescored.trace.logs
        skip_score = prescored.code == Code.SKIP
        if not prescored.status.is_success and not skip_score:
            return Evaluation(prescored.status, {}, rejected, tuple(logs))
    if "score" in hooks and not skip_score:
        scored = cycle.score(feasible if rejected else None)
        logs += scored.trace.logs
        failed = scored.rejected
        if failed:
            return Evaluation(next(iter(failed.values())), {}, rejected, tuple(logs))
        scores = scored.as_dict()
        if "normalizescore" in hooks or cycle.guest.normalization is not None:
            normalized = cycle.normalize_score(scores)
            logs += normalized.trace.logs
            status, scores = normalized.status, normalized.scores
        if status.is_success:
            status = check_range(cycle.guest.name, np.fromiter(scores.values(), np.int64, len(scores)))
    return Evaluation(status, scores if status.is_success else {}, rejected, tuple(logs))
