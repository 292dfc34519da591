"""Losses: cases with a faster or smaller alternative, beyond the noise of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tools.bench import labels
from tools.bench.compare import differ
from tools.bench.labels import HERE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.bench.model import Measurement, Result

_OTHERS: Final = ("builtin", "in-process", "callbacks", "extender-names", "extender-full", "go-extension", "wazero")
_GUESTS: Final = ("wat", "go", "rust", "c", "python", "javascript")
# Ours first.
_PAIRS: Final = (
    *((ours, theirs) for ours in _GUESTS for theirs in _OTHERS),
    ("go", "wat"),
    ("python", "go"),
    ("javascript", "go"),
    *((peer + HERE, peer) for peer in ("go-extension", "wazero")),
)
_CYCLES: Final = tuple(labels.CYCLES)
_SCHEDULER_METRICS: Final = ("rate", "attempt_p50", "attempt_p90", "attempt_p99", "cpu", "memory")


@dataclass(frozen=True, slots=True)
class Loss:
    """One case: our form or plugins, the alternative, and the factor between them."""

    layer: str
    ours: str
    theirs: str
    metric: str
    about: str  # the policy or the workload
    nodes: int
    factor: float


def losses(result: Result) -> list[Loss]:
    """All losses, in the order of the page."""
    return [*_plugin(result), *_scheduler(result)]


def _plugin(result: Result) -> Iterator[Loss]:
    for ours, theirs in _PAIRS:
        for metric in (*_CYCLES, "load_cold", "host_memory"):
            for one in result.select("plugin", metric, form=ours):
                case = dict(one.case) | {"form": theirs}
                other = result.find("plugin", metric, **case)
                if other is None and metric == "load_cold":
                    other = result.find("plugin", "load", **case)
                if other is not None and (factor := _lost(one, other)):
                    about, nodes = str(one.case.get("policy", "")), int(one.case.get("nodes", 0))
                    yield Loss("plugin", ours, theirs, metric, about, nodes, factor)


def _scheduler(result: Result) -> Iterator[Loss]:
    for plugins in ("none", *labels.ONE_WASM_PLUGIN):
        for metric in _SCHEDULER_METRICS:
            for one in result.select("scheduler", metric, scheduler="kubewasp", plugins=plugins):
                case = dict(one.case) | {"scheduler": "kube-scheduler", "plugins": "none"}
                other = result.find("scheduler", metric, **case)
                if other is not None and (factor := _lost(one, other)):
                    about, nodes = str(one.case["workload"]), int(one.case["nodes"])
                    yield Loss("scheduler", plugins, "kube-scheduler", metric, about, nodes, factor)


def _lost(ours: Measurement, theirs: Measurement) -> float:
    """The factor by which ours is worse; 0 if it is not, or within noise."""
    if not differ(ours, theirs):
        return 0.0
    above, below = (ours, theirs) if ours.better == "lower" else (theirs, ours)
    if above.median <= below.median:
        return 0.0
    return above.median / below.median if below.median > 0 else float("inf")
