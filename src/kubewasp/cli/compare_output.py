"""Output of `kubewasp compare`: measures by candidate, pods without a node by reason, and pods that go elsewhere."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from kubewasp.cli import output
from kubewasp.cli.folding import counted, in_short, workload
from kubewasp.lab.comparisons.pod_differences import KIND_TEXTS
from kubewasp.lab.experiments.measure_texts import difference_text, estimate_text
from kubewasp.lab.experiments.measures import MOVED, describe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.lab.comparisons.candidate_comparison import CandidateComparison, Standing
    from kubewasp.lab.comparisons.pod_differences import PodDifference

_MOST_LINES: Final = 10
_SCREEN: Final = 80
_TITLE_WIDTH: Final = 30
_LONGEST_NAME: Final = 200
_GAP: Final = 2


def show(comparison: CandidateComparison, *, form: str, is_all: bool) -> None:
    if form != "table":
        output.print_document(comparison.as_dict(), form)
        return
    output.print_facts(_candidates(comparison))
    output.write("\n")
    _print_measures(comparison, is_all=is_all)
    _print_reasons(comparison, is_all=is_all)
    for standing in comparison.ran[1:]:
        _print_differences(standing, is_all=is_all)
    _print_errors(comparison)
    output.print_facts(_facts(comparison))


def _candidates(comparison: CandidateComparison) -> list[tuple[str, str]]:
    """Letters and names; a name of any length takes a few lines."""
    notes = {True: " (failed)", False: ""}
    named = [(each.letter, f"{_shortened(each.name)}{notes[bool(each.error)]}") for each in comparison.standings]
    (letter, name), *others = named
    return [(letter, f"{name} (baseline)"), *others]


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def _print_measures(comparison: CandidateComparison, *, is_all: bool) -> None:
    """Values of all candidates and, with several seeds, changes from the baseline."""
    names = comparison.names
    if not is_all:
        names = [name for name in names if _is_worth_a_line(comparison, name)]
    has_intervals = comparison.is_random
    cells = [[_value(standing, name, has_intervals=has_intervals) for standing in comparison.ran] for name in names]
    _print_matrix("", names, comparison.ran, cells)
    hidden = len(comparison.names) - len(names)
    if hidden:
        output.write(f"… {counted(hidden, 'more measure')}, equal for all; --all shows every line\n")
    changed = [name for name in names if name != MOVED]
    if has_intervals and changed and len(comparison.ran) > 1:
        output.write("\n")
        others = comparison.ran[1:]
        changes = [[difference_text(name, standing.changes[name]) for standing in others] for name in changed]
        _print_matrix("CHANGE", changed, others, changes)


def _is_worth_a_line(comparison: CandidateComparison, name: str) -> bool:
    if name == MOVED:
        return True
    if any(found.mean or found.margin for standing in comparison.ran[1:] for found in (standing.changes[name],)):
        return True
    return name in ("pods.placed", "pods.pending")


def _value(standing: Standing, name: str, *, has_intervals: bool) -> str:
    found = standing.measures.get(name)
    if found is None:
        return ""
    return estimate_text(name, found if has_intervals else type(found)(found.mean))


def _print_matrix(
    title: str, names: Sequence[str], standings: Sequence[Standing], cells: Sequence[Sequence[str]]
) -> None:
    """A row per measure and a column per candidate; candidates that are too many for the screen come below."""
    heads = [standing.letter for standing in standings]
    widths = [
        max(len(text) for text in (head, *column)) for head, column in zip(heads, zip(*cells, strict=True), strict=True)
    ]
    place = 0
    while place < len(heads):
        end, room = place, _SCREEN - _TITLE_WIDTH
        while end < len(heads) and (end == place or room >= widths[end] + _GAP):
            room -= widths[end] + _GAP
            end += 1
        if place:
            output.write("\n")
        rows = [(describe(name).title, *row[place:end]) for name, row in zip(names, cells, strict=True)]
        output.print_table((title, *heads[place:end]), rows, right=heads[place:end])
        place = end


def _print_reasons(comparison: CandidateComparison, *, is_all: bool) -> None:
    """Pods without a node by reason, in the runs with the first seed."""
    standings = comparison.ran
    every: Counter[str] = Counter()
    for standing in standings:
        every.update(standing.runs[0].reasons)
    if not every:
        return
    output.write("\n")
    reasons = [reason for reason, _ in every.most_common()]
    shown = reasons if is_all else reasons[:_MOST_LINES]
    heads = [standing.letter for standing in standings]
    # The reason needs room too.
    while sum(len(head) + _GAP for head in heads) > _SCREEN - _TITLE_WIDTH and len(heads) > 2:
        heads.pop()
    rows = [
        (*(f"{standing.runs[0].reasons.get(reason, 0):,}" for standing in standings[: len(heads)]), in_short(reason))
        for reason in shown
    ]
    output.print_table((*heads, "WITHOUT A NODE"), rows, right=heads)
    if len(shown) < len(reasons):
        output.write(f"… {counted(len(reasons) - len(shown), 'more reason')}; --all shows every line\n")


def _print_differences(standing: Standing, *, is_all: bool) -> None:
    found = standing.differences
    output.write("\n")
    if not found:
        output.write(f"{standing.letter}: all pods as with the baseline\n")
        return
    counts = Counter(each.kind for each in found)
    numbers = ", ".join(f"{counts[kind]:,} {text}" for kind, text in KIND_TEXTS.items() if counts[kind])
    output.write(f"{standing.letter}: {numbers}\n")
    if standing.first is not None and not any(each.is_first for each in found):
        output.write(f"first difference: decision {standing.first.decision:,}, {_first_text(standing)}\n")
    if is_all or len(found) <= _MOST_LINES:
        _print_pods(found)
    else:
        _print_pods(found[:1] if found[0].is_first else [])
        _print_workloads(found)


def _first_text(standing: Standing) -> str:
    first = standing.first
    if first is None:
        return ""
    if first.is_order:
        return "another pod is next in the queue"
    sides = [made[1] or "no node" for made in (first.baseline, first.candidate) if made is not None]
    return f"{output.printable(first.pod)}: {' → '.join(sides)}"


def _print_pods(found: Sequence[PodDifference]) -> None:
    if found:
        rows = [(_pod(each), f"{each.baseline or '-'} → {each.node or '-'}", _cause(each)) for each in found]
        output.print_table(("POD", "NODE", "CAUSE"), rows)


def _pod(each: PodDifference) -> str:
    return f"{each.pod} (first)" if each.is_first else each.pod


def _cause(each: PodDifference) -> str:
    return "" if each.cause is None else in_short(each.cause.text)


def _print_workloads(found: Sequence[PodDifference]) -> None:
    """Differing pods by workload, with the causes that are known."""
    groups: dict[str, list[PodDifference]] = {}
    for each in found:
        groups.setdefault(workload(each.pod, each.workload), []).append(each)
    largest = sorted(groups.items(), key=lambda item: -len(item[1]))
    rows = [(name, f"{len(pods):,}", _most_frequent(pods)) for name, pods in largest[:_MOST_LINES]]
    output.write("\n")
    output.print_table(("WORKLOAD", "PODS", "CAUSES OF THE FIRST ONES"), rows, right=("PODS",))
    if len(largest) > _MOST_LINES:
        output.write(f"… {counted(len(largest) - _MOST_LINES, 'more workload')}; --all shows every pod\n")


def _most_frequent(pods: Sequence[PodDifference]) -> str:
    causes = Counter(
        f"{each.cause.plugin or each.cause.text} ({each.cause.kind})" for each in pods if each.cause is not None
    )
    return ", ".join(f"{cause} × {number}" for cause, number in causes.most_common(2))


def _print_errors(comparison: CandidateComparison) -> None:
    for standing in comparison.ran:
        for cause in standing.runs[0].errors[:_MOST_LINES]:
            facts = [
                ("error", f"{standing.letter}: {in_short(cause.message)}"),
                ("", f"× {counted(len(cause.pods), 'pod')}"),
            ]
            output.write("\n")
            output.print_facts(facts)


def _facts(comparison: CandidateComparison) -> list[tuple[str, str]]:
    output.write("\n")
    seeds = len(comparison.seeds)
    facts: list[tuple[str, str]] = []
    if seeds > 1 and not comparison.is_random:
        facts.append(("seeds", f"{seeds}: they change nothing, so the figures are exact for this input"))
    elif seeds > 1:
        facts.append(("seeds", f"{seeds}, the same for all; ± is a 95 % interval, (…) not significant"))
    else:
        facts.append(("seed", f"{comparison.seeds[0]}; with --seeds 10, changes have intervals"))
    if any(standing.differences for standing in comparison.ran):
        facts.append(("pods", "differences after the first one may follow from it"))
    return facts
