"""Output of `kubewasp what-if`: pods that a change touches, and nodes before and after it. Long tables are folded."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from kubewasp.cli import output
from kubewasp.cli.folding import counted, node_pool, node_pools, workload
from kubewasp.cli.simulate_output import places, print_errors, print_nodes, print_pending
from kubewasp.lab.what_if.pod_changes import DISPLACED, KINDS, LOST, PENDING
from kubewasp.simulation.result import PendingPod

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.lab.what_if.pod_changes import PodChange
    from kubewasp.lab.what_if.what_if_trial import Answer, KeptPod

_MOST_LINES: Final = 40
_MOST_GROUPS: Final = 15
_MOST_POOLS: Final = 12
_WITHOUT_NODE: Final = "pending"

Facts = list[tuple[str, str]]


def print_answer(
    answer: Answer, facts: Facts, *, is_all: bool, with_waiting: bool = False, extra: Callable[[], None] | None = None
) -> None:
    """Prints an answer: changes, reasons, nodes, and facts at the end.

    Args:
        answer: The answer.
        facts: Facts of the question.
        is_all: Every line of long tables.
        with_waiting: Also the reasons of pods that were pending before.
        extra: Further tables, before the nodes.
    """
    print_changes(answer.changes, [node.name for node in answer.report.result.nodes], is_all=is_all)
    print_pending(without_node(answer.changes), is_all=is_all)
    if with_waiting:
        print_pending(answer.waiting, is_all=is_all, title="STILL PENDING")
    print_blocked(answer.blocked, is_all=is_all)
    if extra is not None:
        extra()
    changed = [node for node in answer.report.result.nodes if node.before != node.after]
    if changed:
        print_nodes(changed, is_all=is_all)
        output.write("\n")
    output.print_facts([*facts, *_facts(answer)])
    if answer.report.result.errors:
        output.write("\n")
        print_errors(answer.report.result, is_all=is_all)


def print_changes(changes: Sequence[PodChange], nodes: Sequence[str], *, is_all: bool) -> None:
    """A line per pod; of many, a line per workload and kind of change."""
    if not changes:
        return
    if is_all or len(changes) <= _MOST_LINES:
        rows = [(change.kind, change.pod, change.node or "-", _to(change)) for change in changes]
        output.print_table(("CHANGE", "POD", "FROM", "TO"), rows)
    else:
        _print_folded(changes, nodes)
    output.write("\n")


def _to(change: PodChange) -> str:
    """Node, or state, with the name of a successor and of a preemptor."""
    place = change.to or (_WITHOUT_NODE if change.kind in (DISPLACED, PENDING) else "-")
    name = f" as {change.successor.partition('/')[2]}" if change.successor else ""
    cause = f" ({change.cause})" if change.cause.startswith("preempted") else ""
    return f"{place}{name}{cause}"


def _print_folded(changes: Sequence[PodChange], nodes: Sequence[str]) -> None:
    has_pools = node_pools(nodes, _MOST_POOLS) is not None
    groups: dict[tuple[str, str], list[PodChange]] = {}
    for change in changes:
        groups.setdefault((change.kind, workload(change.pod, change.workload)), []).append(change)
    ordered = sorted(groups.items(), key=lambda item: (KINDS.index(item[0][0]), -len(item[1]), item[0][1]))
    rows = []
    for (kind, name), some in ordered[:_MOST_GROUPS]:
        before, after = (Counter(_pool(place, has_pools) for place in side if place) for side in _sides(some))
        rows.append((kind, name, f"{len(some):,}", places(before) or "-", places(after) or "-"))
    output.print_table(("CHANGE", "WORKLOAD", "PODS", "FROM", "TO"), rows, right=("PODS",))
    if len(ordered) > _MOST_GROUPS:
        output.write(f"… {len(ordered) - _MOST_GROUPS:,} more workloads; --all shows every pod\n")


def _sides(changes: Sequence[PodChange]) -> tuple[list[str], list[str]]:
    return [change.node for change in changes], [change.to for change in changes]


def _pool(node: str, has_pools: bool) -> str:
    return node_pool(node) if has_pools else node


def without_node(changes: Sequence[PodChange]) -> list[PendingPod]:
    """Pods that the change leaves without a node, with message and plugins."""
    return [
        PendingPod(change.successor or change.pod, _reason(change), change.workload, change.is_error)
        for change in changes
        if change.kind in (DISPLACED, PENDING)
    ]


def _reason(change: PodChange) -> str:
    return f"{change.message} [{', '.join(change.plugins)}]" if change.plugins else change.message


def print_blocked(blocked: Sequence[KeptPod], *, is_all: bool) -> None:
    """Pods that a budget keeps on their nodes."""
    if not blocked:
        return
    if is_all or len(blocked) <= _MOST_LINES:
        rows = [(pod.pod, pod.node, pod.reason) for pod in blocked]
        output.print_table(("BLOCKED", "NODE", "REASON"), rows)
    else:
        print_pending([PendingPod(pod.pod, pod.reason, pod.workload) for pod in blocked], is_all=False, title="BLOCKED")
        return
    output.write("\n")


def _facts(answer: Answer) -> Facts:
    counts = Counter(change.kind for change in answer.changes)
    listed = ", ".join(f"{counts[kind]:,} {kind}" for kind in KINDS if counts[kind])
    facts = [("pods", listed or "none is touched")]
    stay = Counter(
        "static pod" if "static" in pod.reason else "pod of a DaemonSet" for pod in answer.kept if not pod.is_blocked
    )
    if stay:
        facts.append(("stay", ", ".join(_plural(name, count) for name, count in stay.items())))
    before = len(answer.baseline.pending)
    if before:
        facts.append(("pending before", f"{counted(before, 'pod')}, {len(answer.waiting):,} still"))
    return facts


def _plural(name: str, count: int) -> str:
    noun, _, rest = name.partition(" of a ")
    return f"{counted(count, noun)}{f' of {rest}s' if rest else ''}"


def problems(answer: Answer) -> Mapping[str, int]:
    """Numbers of pods that a change leaves in a bad state, for --fail-on pending."""
    counts: dict[str, int] = dict.fromkeys(("without a node", "lost", "blocked"), 0)
    for change in answer.changes:
        counts["without a node"] += change.kind in (DISPLACED, PENDING)
        counts["lost"] += change.kind == LOST
    counts["blocked"] = len(answer.blocked)
    return counts


def print_document(question: Mapping[str, Any], found: Mapping[str, Any], form: str) -> None:
    """The question and its answer for other programs."""
    output.print_document({"question": dict(question), **found}, form)
