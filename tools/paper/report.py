"""Report of the reproduction: means beside the published ones, verdict, curve, and their place in the documentation."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from tools.bench.plots.axes import apart
from tools.bench.plots.svg import Drawing
from tools.bench.report.markdown import NOTHING, table
from tools.paper.experiments import END, FULL, POLICIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tools.paper.experiments import Policy, Run

PAGE: Final = "reproduce-the-paper.md"
IMAGE: Final = "images/gpu-allocation.svg"
BEGIN, STOP = "<!-- results: written by `make paper` -->\n", "<!-- end of results -->\n"
# Points between a mean and the published one: the spread of the policies' own seeds is about half of it.
ALLOWED: Final = 0.7
_COLOURS: Final = ("grey", "purple", "orange", "green", "ink", "blue")


@dataclass(frozen=True, slots=True)
class Line:
    """Means of a policy over its seeds, in percent."""

    policy: Policy
    runs: Sequence[Run]

    @property
    def full(self) -> float:
        return fmean(run.full for run in self.runs)

    @property
    def end(self) -> float:
        return fmean(run.end for run in self.runs)

    @property
    def spread(self) -> float:
        """Standard deviation over the seeds, at the end."""
        return stdev(run.end for run in self.runs) if len(self.runs) > 1 else 0.0

    @property
    def is_close(self) -> bool:
        return abs(self.full - self.policy.full) <= ALLOWED and abs(self.end - self.policy.end) <= ALLOWED

    def curve(self) -> list[float]:
        return [fmean(run.curve[place] for run in self.runs) for place in range(END + 1)]


def lines(runs: Sequence[Run]) -> list[Line]:
    """A line for each policy that has run, in the published order."""
    found = [Line(policy, [run for run in runs if run.policy == policy.name]) for policy in POLICIES]
    return [line for line in found if line.runs]


def problems(found: Sequence[Line]) -> list[str]:
    """Deviations from the published table; none: it is reproduced."""
    told = [
        f"{line.policy.title}: {line.full:.2f} and {line.end:.2f}, published {line.policy.full:.2f} and "
        f"{line.policy.end:.2f}: more than {ALLOWED} points apart"
        for line in found
        if not line.is_close
    ]
    for place, means in ((FULL, [line.full for line in found]), (END, [line.end for line in found])):
        if means != sorted(means):
            told.append(f"at {place} % arrived, the policies are not in the published order")
    return told


def figures(found: Sequence[Line]) -> str:
    """Markdown table: means, published ones, differences."""
    columns = ("policy", f"at {FULL} %", "published", "difference", f"at {END} %", "published", "difference", "seeds")
    return table((*columns, "deviation"), (_row(line) for line in found))


def times(found: Sequence[Line]) -> str:
    """Markdown table: pods and CPU time of an experiment."""
    columns = ("policy", "pods", "placed", "CPU time", "per pod")
    return table(columns, (_times(line) for line in found))


def total(found: Sequence[Line]) -> str:
    """Number of experiments and their CPU time."""
    runs = [run for line in found for run in line.runs]
    return f"CPU time of all {len(runs)} experiments: {sum(run.cpu_seconds for run in runs) / 60:.1f} minutes."


def text(found: Sequence[Line]) -> Iterator[str]:
    """The table for a terminal, below 80 columns."""
    columns = (f"{f'AT {FULL} %':>9}", f"{'PUBLISHED':>11}{'DIFF':>7}", f"{f'AT {END} %':>11}", f"{'SEEDS':>7}")
    yield f"{'POLICY':14}{columns[0]}{columns[1]}{columns[2]}{columns[1]}{columns[3]}"
    for line in found:
        known = line.policy
        yield (
            f"{known.title:14}{line.full:9.2f}{known.full:11.2f}{line.full - known.full:+7.2f}"
            f"{line.end:11.2f}{known.end:11.2f}{line.end - known.end:+7.2f}{len(line.runs):7}"
        )


def write_docs(runs: Sequence[Run], docs: Path) -> list[Path]:
    """Puts tables and verdict into the page, between its marks, and the picture beside it."""
    page, image, found = docs / PAGE, docs / IMAGE, lines(runs)
    content = page.read_text(encoding="utf-8")
    before, begin, rest = content.partition(BEGIN)
    _, stop, after = rest.partition(STOP)
    if not begin or not stop:
        raise KubewaspError(f"{page}: the lines {BEGIN.strip()!r} and {STOP.strip()!r} are missing")
    body = f"\n{figures(found)}\n{verdict(found)}\n\n![Allocated GPUs over arrived demand]({IMAGE})\n\n{times(found)}"
    body += f"\n{total(found)}\n\n"
    page.write_text(f"{before}{begin}{body}{stop}{after}", encoding="utf-8")
    image.write_text(picture(found), encoding="utf-8")
    return [page, image]


def verdict(found: Sequence[Line]) -> str:
    told = problems(found)
    if told:
        return "\n".join(f"- {problem}" for problem in told)
    return f"All means are within {ALLOWED} points of the published ones, in the published order."


def _row(line: Line) -> tuple[str, ...]:
    known = line.policy
    full = (f"{line.full:.2f}", f"{known.full:.2f}", f"{line.full - known.full:+.2f}")
    end = (f"{line.end:.2f}", f"{known.end:.2f}", f"{line.end - known.end:+.2f}")
    return known.title, *full, *end, str(len(line.runs)), f"{line.spread:.2f}" if line.spread else NOTHING


def _times(line: Line) -> tuple[str, ...]:
    cpu, pods = fmean(run.cpu_seconds for run in line.runs), fmean(run.pods for run in line.runs)
    placed = fmean(run.placed for run in line.runs)
    return line.policy.title, f"{pods:,.0f}", f"{placed:,.0f}", f"{cpu:.1f} s", f"{1e3 * cpu / pods:.2f} ms"


# ---------------------------------------------------------------------- picture

_WIDTH, _HEIGHT = 860, 420
_TOP, _BOTTOM, _LEFT, _RIGHT = 56, 64, 64, 208
_FROM, _LOWEST = 60, 60  # percents: below, all policies place all pods
_GAP, _LEADER = 18, 40


def picture(found: Sequence[Line]) -> str:
    """Chart of the allocated share of GPUs over the arrived demand."""
    drawing = Drawing(
        _WIDTH,
        _HEIGHT,
        title="Allocated GPUs over arrived demand",
        description=", ".join(f"{line.policy.title} {line.end:.1f} % at the end" for line in found),
    )
    drawing.text(16, 22, "Allocated GPUs over arrived demand, in percent of all GPUs", bold=True, size=15)
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT

    def across(arrived: float) -> float:
        return _LEFT + (arrived - _FROM) / (END - _FROM) * (right - _LEFT)

    def up(allocated: float) -> float:
        return bottom - (allocated - _LOWEST) / (100 - _LOWEST) * (bottom - _TOP)

    for tick in range(_LOWEST, 101, 10):
        drawing.line((_LEFT, up(tick)), (right, up(tick)), "grid")
        drawing.text(_LEFT - 8, up(tick), f"{tick}", "grey", anchor="end")
    for tick in range(_FROM, END + 1, 10):
        drawing.line((across(tick), bottom), (across(tick), bottom + 5), "axis")
        drawing.text(across(tick), bottom + 18, f"{tick}", "grey", anchor="middle")
    drawing.line((_LEFT, bottom), (right, bottom), "axis")
    drawing.text((_LEFT + right) / 2, bottom + 42, "arrived demand", "grey", anchor="middle")
    curves = {line.policy.title: [(at, max(value, _LOWEST)) for at, value in enumerate(line.curve())] for line in found}
    places = apart([up(curve[-1][1]) for curve in curves.values()], _GAP, _TOP, bottom)
    colours = {policy.title: colour for policy, colour in zip(POLICIES, _COLOURS, strict=True)}
    for (title, curve), place in zip(curves.items(), places, strict=True):
        drawing.polyline([(across(at), up(value)) for at, value in curve if at >= _FROM], colours[title])
        label = f"{title} {curve[-1][1]:.1f}"
        drawing.line((right + 4, up(curve[-1][1])), (right + _LEADER - 4, place), "leader")
        drawing.text(right + _LEADER, place, label, colours[title])
    return drawing.render()
