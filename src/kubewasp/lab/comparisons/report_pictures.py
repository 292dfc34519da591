"""Pictures of a comparison: measures with intervals, waits, the cluster over time, utilization of nodes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from kubewasp.k8s.duration import format_duration
from kubewasp.lab.comparisons.charts import Dot, Series, dot_chart, heat_strip, line_chart
from kubewasp.lab.comparisons.page_text import isolated, plain
from kubewasp.lab.experiments.measure_texts import value_text
from kubewasp.lab.experiments.measures import describe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kubewasp.lab.comparisons.candidate_comparison import CandidateComparison, Standing

_MOST_RESOURCES: Final = 4
_MOST_STRIPS: Final = 8
_FIRST: Final = "Runs with the first seed."


def sections(comparison: CandidateComparison) -> Iterator[tuple[str, str, list[str]]]:
    """Title, note and charts of each section that has any."""
    found = (
        ("Measures that change", _interval_note(comparison), _dots(comparison)),
        ("Time to bind", f"Share of placed pods that waited at most so long. {_FIRST}", _waits(comparison)),
        ("The cluster over time", _FIRST, _over_time(comparison)),
        (
            "Nodes at the end, from the least to the most used",
            f"Requested share of each node. {_FIRST}",
            _use(comparison),
        ),
        (
            "Nodes at the end, in the order of their names",
            f"A cell per node: the darker, the larger its requested share. {_FIRST}",
            _strips(comparison),
        ),
    )
    return ((title, note, charts) for title, note, charts in found if charts)


def _interval_note(comparison: CandidateComparison) -> str:
    return "Means with 95&nbsp;% intervals." if comparison.is_random else "Values of each candidate."


def _placed(comparison: CandidateComparison) -> list[tuple[int, Standing]]:
    """Candidates that ran, with their places among all: their colours."""
    return [(place, standing) for place, standing in enumerate(comparison.standings) if not standing.error]


def _figure(title: str, chart: str) -> str:
    return f"<figure><figcaption>{plain(title)}</figcaption>{chart}</figure>\n"


def _dots(comparison: CandidateComparison) -> list[str]:
    charts = []
    for name in comparison.names:
        if not any((change := each.changes.get(name)) and change.mean for each in comparison.ran[1:]):
            continue
        dots = []
        for place, standing in _placed(comparison):
            found = standing.measures.get(name)
            if found is not None:
                margin = found.margin or 0.0
                dots.append(Dot(standing.letter, place, found.mean, found.mean - margin, found.mean + margin))
        title = describe(name).title
        charts.append(_figure(title, dot_chart(title, dots, partial(value_text, name))))
    return charts


def _waits(comparison: CandidateComparison) -> list[str]:
    """The distribution of waits, unless all pods were placed at once."""
    series = []
    for place, standing in _placed(comparison):
        waits = standing.runs[0].waits
        last = max(len(waits) - 1, 1)
        series.append(Series(standing.letter, place, [(wait, number / last) for number, wait in enumerate(waits)]))
    if not any(each.points and each.points[-1][0] for each in series):
        return []
    title = "Share of pods by time to bind"
    return [_figure(title, line_chart(title, series, x_text=_seconds, y_text=_percent))]


def _over_time(comparison: CandidateComparison) -> list[str]:
    runs = [(place, each.letter, each.runs[0]) for place, each in _placed(comparison) if each.runs[0].samples]
    if not runs:
        return []
    charts = []
    for resource in list(runs[0][2].capacity)[:_MOST_RESOURCES]:
        series = [
            Series(
                letter,
                place,
                [(one.at, one.requested.get(resource, 0) / run.capacity.get(resource, 1)) for one in run.samples],
            )
            for place, letter, run in runs
        ]
        if any(y for each in series for _, y in each.points):
            title = f"{resource} requested"
            charts.append(_figure(title, _steps(title, series, is_share=True)))
    pending = [Series(letter, place, [(one.at, one.pending) for one in run.samples]) for place, letter, run in runs]
    if any(y for each in pending for _, y in each.points):
        charts.append(_figure("Pods in the queue", _steps("Pods in the queue", pending, is_share=False)))
    return charts


def _steps(title: str, series: Sequence[Series], *, is_share: bool) -> str:
    return line_chart(title, series, x_text=_seconds, y_text=_percent if is_share else _number, is_step=True)


def _use(comparison: CandidateComparison) -> list[str]:
    charts = []
    for resource in _resources(comparison):
        series = []
        for place, standing in _placed(comparison):
            shares = sorted(_shares(standing, resource))
            last = max(len(shares) - 1, 1)
            series.append(Series(standing.letter, place, [(number / last, one) for number, one in enumerate(shares)]))
        title = f"{resource} requested, by share of nodes"
        charts.append(_figure(title, line_chart(title, series, x_text=_percent, y_text=_percent)))
    return charts


def _strips(comparison: CandidateComparison) -> list[str]:
    """Heat strips of the first resource in use, one below the other for all candidates."""
    charts = []
    for resource in _resources(comparison)[:1]:
        for _, standing in _placed(comparison)[:_MOST_STRIPS]:
            title = f"{standing.letter}: {resource} requested"
            caption = f"<b>{standing.letter}</b> {isolated(resource)} requested"
            strip = heat_strip(title, _shares(standing, resource))
            charts.append(f"<figure><figcaption>{caption}</figcaption>{strip}</figure>\n")
    return charts


def _resources(comparison: CandidateComparison) -> list[str]:
    """Resources that nodes have and that pods request at the end, the first few."""
    names = [name.removeprefix("requested.end.") for name in comparison.names if name.startswith("requested.end.")]
    used = [name for name in names if any(any(_shares(each, name)) for each in comparison.ran)]
    return used[:_MOST_RESOURCES]


def _shares(standing: Standing, resource: str) -> list[float]:
    shares = (node.share(resource) for node in standing.runs[0].nodes)
    return [share for share in shares if share is not None]


def _seconds(value: float) -> str:
    return format_duration(round(value, 0 if value >= 60 else 1 if value >= 1 else 3))


def _percent(value: float) -> str:
    return f"{100 * value:.0f}%"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
