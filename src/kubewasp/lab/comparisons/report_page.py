"""Page of a comparison: one HTML file with tables and pictures, without scripts and without external references."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from kubewasp.lab.comparisons import report_pictures as pictures
from kubewasp.lab.comparisons.charts import swatch
from kubewasp.lab.comparisons.page_text import isolated, plain, table
from kubewasp.lab.comparisons.pod_differences import KIND_TEXTS
from kubewasp.lab.comparisons.report_style import style
from kubewasp.lab.experiments.measure_texts import change_text, estimate_text, value_text
from kubewasp.lab.experiments.measures import MOVED, describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.lab.comparisons.candidate_comparison import CandidateComparison, Standing
    from kubewasp.lab.comparisons.pod_differences import PodDifference
    from kubewasp.lab.experiments.intervals import Estimate

_MOST_PODS: Final = 200
_MOST_ROWS: Final = 40
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(comparison: CandidateComparison, name: str) -> str:
    """The page. The same comparison gives the same bytes."""
    return "".join(_parts(comparison, name))


def _parts(comparison: CandidateComparison, name: str) -> Iterator[str]:
    yield '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>Comparison: {plain(name)}</title>\n<style>{style()}</style></head>\n<body>\n"
    yield f"<h1>Comparison of policies</h1>\n<p>Input {isolated(name)}. {_seeds(comparison)}</p>\n"
    yield _candidates(comparison)
    yield "<h2>Measures</h2>\n" + _measures(comparison)
    for title, note, charts in pictures.sections(comparison):
        yield f'<h2>{title}</h2>\n<p class="soft">{note}</p>\n<div class="charts">{"".join(charts)}</div>\n'
    yield _reasons(comparison)
    yield _namespaces(comparison)
    for standing in comparison.ran[1:]:
        yield _differences(standing)
    yield _errors(comparison)
    yield "</body></html>\n"


def _seeds(comparison: CandidateComparison) -> str:
    number = len(comparison.seeds)
    if number == 1:
        return f"One run per candidate, with seed {comparison.seeds[0]}: there are no intervals."
    if not comparison.is_random:
        return f"{number} seeds change nothing: the figures are exact for this input."
    return (
        f"Means of {number} runs per candidate with the same seeds; ± is a 95&nbsp;% interval. "
        "Changes are mean differences of runs with the same seed."
    )


def _candidates(comparison: CandidateComparison) -> str:
    lines = []
    for place, standing in enumerate(comparison.standings):
        note = " (baseline)" if not place else ""
        failed = f' <span class="bad">left out: {isolated(standing.error)}</span>' if standing.error else ""
        lines.append(f"<li>{swatch(place)} <b>{standing.letter}</b> {isolated(standing.name)}{note}{failed}</li>")
    return f'<ul class="candidates">{"".join(lines)}</ul>\n'


def _measures(comparison: CandidateComparison) -> str:
    """Values of all candidates, with the changes of all but the baseline."""
    heads, others = ["Measure"], comparison.ran[1:]
    heads += [standing.letter for standing in comparison.ran]
    heads += [f"{standing.letter} − {comparison.baseline.letter}" for standing in others]
    rows = []
    for name in comparison.names:
        values = [_value(standing, name) for standing in comparison.ran]
        rows.append((plain(describe(name).title), *values, *(_change(standing, name) for standing in others)))
    return table(heads, rows, numbers=len(heads) - 1)


def _value(standing: Standing, name: str) -> str:
    found = standing.measures.get(name)
    return "" if found is None else plain(estimate_text(name, found))


def _change(standing: Standing, name: str) -> str:
    found = standing.changes.get(name)
    if found is None or (not found.mean and not found.margin):
        return "" if name == MOVED else "="
    text = plain(change_text(name, found.mean))
    if found.margin is not None:
        text += f" ±{plain(value_text(name, found.margin).replace('%', ''))}"
    style, words = _judgement(name, found)
    return f'<span class="{style}">{text}{words and f"<span class=verdict> {words}</span>"}</span>'


def _judgement(name: str, found: Estimate) -> tuple[str, str]:
    """Class and words for a change: colours are not the only sign."""
    if found.margin is not None and not found.is_significant:
        return "soft", "not significant"
    better = describe(name).better
    if not better:
        return "", ""
    is_better = (found.mean > 0) == (better == "higher")
    return ("good", "better") if is_better else ("bad", "worse")


def _reasons(comparison: CandidateComparison) -> str:
    every: Counter[str] = Counter()
    for standing in comparison.ran:
        every.update(standing.runs[0].reasons)
    if not every:
        return ""
    rows = [
        (isolated(reason, 400), *(f"{standing.runs[0].reasons.get(reason, 0):,}" for standing in comparison.ran))
        for reason, _ in every.most_common(_MOST_ROWS)
    ]
    heads = ["Reason", *(standing.letter for standing in comparison.ran)]
    return "<h2>Pods without a node</h2>\n" + table(heads, rows, numbers=len(comparison.ran)) + _more(every, "reasons")


def _namespaces(comparison: CandidateComparison) -> str:
    totals: Counter[str] = Counter()
    for name, found in comparison.baseline.runs[0].namespaces.items():
        totals[name] = found.arrived
    if len(totals) < 2:
        return ""
    rows = []
    for name, arrived in totals.most_common(_MOST_ROWS):
        cells = [standing.runs[0].namespaces.get(name) for standing in comparison.ran]
        placed = ["" if cell is None else f"{100 * cell.part:.1f}%" for cell in cells]
        waits = ["" if cell is None else value_text("wait.mean", cell.mean_wait) for cell in cells]
        rows.append((isolated(name), f"{arrived:,}", *placed, *waits))
    letters = [standing.letter for standing in comparison.ran]
    heads = ["Namespace", "Pods", *(f"{one} placed" for one in letters), *(f"{one} mean wait" for one in letters)]
    return "<h2>Namespaces</h2>\n" + table(heads, rows, numbers=len(heads) - 1) + _more(totals, "namespaces")


def _more(found: Counter[str], noun: str) -> str:
    hidden = len(found) - _MOST_ROWS
    return f'<p class="soft">{hidden:,} more {noun}.</p>\n' if hidden > 0 else ""


def _differences(standing: Standing) -> str:
    found = standing.differences
    title = f"<h2>Pods that differ: {standing.letter} {isolated(standing.name)}</h2>\n"
    if not found:
        return f"{title}<p>All pods as with the baseline.</p>\n"
    counts = Counter(each.kind for each in found)
    numbers = ", ".join(f"{counts[kind]:,} {text}" for kind, text in KIND_TEXTS.items() if counts[kind])
    rows = [
        (
            isolated(each.pod) + (" <b>first difference</b>" if each.is_first else ""),
            isolated(each.baseline) if each.baseline else "no node",
            isolated(each.node) if each.node else "no node",
            "" if each.cause is None else isolated(each.cause.text, 400),
        )
        for each in found[:_MOST_PODS]
    ]
    more = f'<p class="soft">{len(found) - _MOST_PODS:,} more pods.</p>\n' if len(found) > _MOST_PODS else ""
    note = f"<p>{numbers}. Differences after the first one may follow from it.{_by_plugin(found)}</p>\n"
    return title + note + table(("Pod", "Baseline", f"With {standing.letter}", "Cause"), rows) + more


def _by_plugin(found: tuple[PodDifference, ...]) -> str:
    causes = Counter(each.cause.plugin or each.cause.kind.value for each in found if each.cause is not None)
    listed = ", ".join(f"{isolated(name)} × {number}" for name, number in causes.most_common(5))
    return f" Causes that were looked for: {listed}." if listed else ""


def _errors(comparison: CandidateComparison) -> str:
    rows = [
        (standing.letter, isolated(cause.message.strip().partition("\n")[0], 400), f"{len(cause.pods):,}")
        for standing in comparison.ran
        for cause in standing.runs[0].errors[:_MOST_ROWS]
    ]
    return "<h2>Errors of plugins</h2>\n" + table(("", "Error", "Pods"), rows, numbers=1) if rows else ""
