"""Tables of the losses: summary, causes, every case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tools.bench import labels
from tools.bench.report.causes import cause
from tools.bench.report.markdown import table
from tools.bench.statistics import times

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools.bench.report.losses import Loss

_WHAT: Final = labels.CYCLES | {
    "load_cold": "loading",
    "host_memory": "process memory",
    "rate": "pods per second",
    "attempt_p50": "attempt p50",
    "attempt_p90": "attempt p90",
    "attempt_p99": "attempt p99",
    "cpu": "CPU time per pod",
    "memory": "memory",
}
_UNEXPLAINED: Final = "No explanation yet."


def loss_tables(found: Sequence[Loss]) -> Iterator[str]:
    """A summary with the range of each loss, the causes, and all cases in a folded table."""
    if not found:
        yield "No case beyond the noise of the repetitions.\n"
        return
    groups: dict[tuple[str, str, str, str], list[Loss]] = {}
    for loss in found:
        groups.setdefault((loss.layer, loss.ours, loss.theirs, loss.metric), []).append(loss)
    yield table(
        ["kubewasp", "alternative", "metric", "cases", "factor", "worst case"],
        [_summary(cases) for cases in groups.values()],
        left=3,
    )
    yield from _causes(found)
    yield "<details><summary>All cases</summary>\n"
    yield table(["kubewasp", "alternative", "metric", "case", "factor"], _cases(found), left=5)
    yield "</details>\n"


def _summary(cases: Sequence[Loss]) -> list[str]:
    least, most = (pick(cases, key=lambda loss: loss.factor) for pick in (min, max))
    by = times(least.factor) if least.factor == most.factor else f"{times(least.factor)} to {times(most.factor)}"
    return [*_named(most), str(len(cases)), by, f"{most.about}, {most.nodes:,} nodes"]


def _cases(found: Sequence[Loss]) -> list[list[str]]:
    """A row per policy or workload, with all numbers of nodes."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for loss in found:
        factors = rows.setdefault((*_named(loss), loss.about), [])
        factors.append(f"{times(loss.factor)} at {loss.nodes:,} nodes")
    return [[*named, ", ".join(factors)] for named, factors in rows.items()]


def _causes(found: Sequence[Loss]) -> Iterator[str]:
    """Each cause once, after the losses with this cause."""
    explained: dict[str, list[tuple[str, str, str]]] = {}
    for loss in found:
        explained.setdefault(cause(loss) or _UNEXPLAINED, []).append(_named(loss))
    for text, losses in explained.items():
        ours, theirs, what = (", ".join(dict.fromkeys(column)) for column in zip(*losses, strict=True))
        yield f"- **{ours} vs {theirs}: {what}.** {text}"
    yield ""


def _named(loss: Loss) -> tuple[str, str, str]:
    if loss.layer == "plugin":
        return labels.form(loss.ours).name, labels.form(loss.theirs).name, _WHAT[loss.metric]
    return f"kubewasp with {labels.PLUGINS[loss.ours]}", loss.theirs, _WHAT[loss.metric]
