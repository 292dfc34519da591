"""Charts as SVG: lines, dots with intervals, heat strips. Styled by classes of the page around them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from kubewasp.lab.comparisons.page_text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SERIES: Final = 8  # colours and dash patterns; later series begin again
LEVELS: Final = 10  # of a heat strip
# Narrow: a picture is as readable on a telephone, where it is not scaled down.
_WIDTH, _HEIGHT = 340, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 10, 8, 24
_MOST_POINTS: Final = 300
_MOST_CELLS: Final = 6000
_CELL: Final = 6


@dataclass(frozen=True, slots=True)
class Series:
    """Points of a line in order of x. `place` chooses its colour."""

    name: str
    place: int
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Dot:
    """A mean and its interval."""

    name: str
    place: int
    mean: float
    low: float
    high: float


def line_chart(
    title: str,
    series: Sequence[Series],
    *,
    x_text: Callable[[float], str],
    y_text: Callable[[float], str],
    is_step: bool = False,
) -> str:
    """Lines over a common x axis. The y axis begins at 0. Steps keep a value until the next point."""
    lines = [Series(each.name, each.place, _thinned(each.points)) for each in series if each.points]
    every = [point for each in lines for point in each.points]
    low_x, high_x = min(x for x, _ in every), max(x for x, _ in every)
    top = _ceiling(max(y for _, y in every))
    across = _scale(low_x, high_x, _LEFT, _WIDTH - _RIGHT)
    upward = _scale(0.0, top, _HEIGHT - _BOTTOM, _TOP)
    parts = [_y_axis(top, upward, y_text)]
    for place, x in enumerate((low_x, (low_x + high_x) / 2, high_x)):
        anchor = ("start", "middle", "end")[place]
        parts.append(f'<text x="{across(x):.0f}" y="{_HEIGHT - 6}" text-anchor="{anchor}">{plain(x_text(x))}</text>')
    parts.extend(
        f'<path class="line {_class(each.place)}" d="{_path(each.points, across, upward, is_step=is_step)}"/>'
        for each in lines
    )
    return _svg(title, _WIDTH, _HEIGHT, parts)


def dot_chart(title: str, dots: Sequence[Dot], text: Callable[[float], str]) -> str:
    """A row per dot, with its interval as a whisker. The x axis covers the intervals."""
    low, high = min(dot.low for dot in dots), max(dot.high for dot in dots)
    room = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
    across = _scale(low - room, high + room, 24, _WIDTH - _RIGHT)
    height = _TOP + 18 * len(dots) + _BOTTOM
    parts = []
    for row, dot in enumerate(dots):
        y = _TOP + 18 * row + 9
        parts.append(f'<text x="4" y="{y + 4}">{plain(dot.name, 3)}</text>')
        parts.append(f'<path class="grid" d="M24 {y}H{_WIDTH - _RIGHT}"/>')
        parts.append(
            f'<path class="whisker {_class(dot.place)}" d="M{across(dot.low):.1f} {y}H{across(dot.high):.1f}"/>'
        )
        parts.append(f'<circle class="dot {_class(dot.place)}" cx="{across(dot.mean):.1f}" cy="{y}" r="4.5"/>')
    for x, anchor in ((low, "start"), (high, "end")):
        at = min(max(across(x), 24), _WIDTH - _RIGHT)
        if x == low or high > low:
            parts.append(f'<text x="{at:.0f}" y="{height - 6}" text-anchor="{anchor}">{plain(text(x))}</text>')
    return _svg(title, _WIDTH, height, parts)


def heat_strip(title: str, shares: Sequence[float]) -> str:
    """A cell per node, darker with its share (0 to 1); of very many nodes, a cell for several."""
    each = -(-len(shares) // _MOST_CELLS)
    cells = [sum(part) / len(part) for start in range(0, len(shares), each) if (part := shares[start : start + each])]
    columns = _WIDTH // _CELL
    paths: dict[int, list[str]] = {}
    for place, share in enumerate(cells):
        level = min(max(math.ceil(share * LEVELS), 0), LEVELS)
        x, y = _CELL * (place % columns), _CELL * (place // columns)
        paths.setdefault(level, []).append(f"M{x} {y}h5v5h-5z")
    height = _CELL * -(-len(cells) // columns)
    return _svg(title, _WIDTH, height, [f'<path class="h{level}" d="{"".join(d)}"/>' for level, d in paths.items()])


def swatch(place: int) -> str:
    """A sample of the line of a series, for legends."""
    return (
        '<svg class="swatch" viewBox="0 0 28 10" aria-hidden="true">'
        f'<path class="line {_class(place)}" d="M1 5H27"/></svg>'
    )


def _svg(title: str, width: int, height: int, parts: Sequence[str]) -> str:
    name = plain(title)
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{name}">{"".join(parts)}</svg>'


def _class(place: int) -> str:
    return f"s{place % SERIES}"


def _y_axis(top: float, upward: Callable[[float], float], text: Callable[[float], str]) -> str:
    parts = []
    for part in (0.0, 0.5, 1.0):
        y = upward(top * part)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{plain(text(top * part))}</text>')
    return "".join(parts)


def _path(
    points: Sequence[tuple[float, float]],
    across: Callable[[float], float],
    upward: Callable[[float], float],
    *,
    is_step: bool,
) -> str:
    (x, y), *others = [(across(x), upward(y)) for x, y in points]
    parts = [f"M{x:.1f} {y:.1f}"]
    parts += [f"H{x:.1f}V{y:.1f}" if is_step else f"L{x:.1f} {y:.1f}" for x, y in others]
    return "".join(parts)


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    span = high - low or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def _ceiling(value: float) -> float:
    """A round number that is not below the value."""
    if value <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(size * step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if size * step >= value * (1 - 1e-9))


def _thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """At most some hundred points: of those in one column of the picture the first, and the last of all."""
    if len(points) <= _MOST_POINTS:
        return points
    low, high = points[0][0], points[-1][0]
    column = _scale(low, high, 0, _MOST_POINTS - 1)
    kept = [points[0]]
    kept += [after for before, after in pairwise(points) if int(column(after[0])) > int(column(before[0]))]
    return kept if kept[-1] == points[-1] else [*kept, points[-1]]
