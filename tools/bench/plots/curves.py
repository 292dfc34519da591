"""Line charts of growth on log-log axes, each line named at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tools.bench.plots.axes import LogAxis, apart
from tools.bench.plots.svg import FONT_SIZE, Drawing, text_width
from tools.bench.statistics import time

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH: Final = 860
_TOP, _BOTTOM, _SIDE = 64, 56, 16
_LEAST_HEIGHT: Final = 340
_UP: Final = "a cycle"
LABEL_GAP: Final = 17
_LEADER: Final = 40


@dataclass(frozen=True, slots=True)
class Series:
    """Microseconds by number of nodes, both greater than zero."""

    name: str
    colour: str
    points: Sequence[tuple[int, float]]
    dashes: str = ""


def growth(series: Sequence[Series], *, title: str, description: str) -> str:
    """The chart; a series of one point is a dot with its name."""
    height = max(_LEAST_HEIGHT, LABEL_GAP * len(series))
    right = _WIDTH - _SIDE - max(text_width(one.name) for one in series) - _LEADER
    picture = Drawing(_WIDTH, _TOP + height + _BOTTOM, title=title, description=description)
    sizes = sorted({nodes for one in series for nodes, _ in one.points})
    up = LogAxis.over((spent for one in series for _, spent in one.points), _TOP + height, _TOP)
    left = _SIDE + max(text_width(text) for text in (_UP, *map(_decade, up.ticks)))
    across = LogAxis.over(sizes, left, right, from_decade=False, to_decade=False)
    _grid(picture, across, up, sizes)
    picture.text(16, 24, title, bold=True, size=15)
    ordered = sorted(series, key=lambda one: (up.at(one.points[-1][1]), one.name))
    places = apart([up.at(one.points[-1][1]) for one in ordered], LABEL_GAP, _TOP, _TOP + height)
    for one, place in zip(ordered, places, strict=True):
        points = [(across.at(nodes), up.at(spent)) for nodes, spent in sorted(one.points)]
        end = points[-1]
        if end[0] < right:  # it was not measured up to the greatest size
            picture.line((end[0] + 5, end[1]), (right + 5, end[1]), "leader")
        picture.line((right + 5, end[1]), (right + _LEADER - 5, place), "leader")
        if len(points) > 1:
            picture.polyline(points, one.colour, dashes=one.dashes)
        for (x, y), (nodes, spent) in zip(points, sorted(one.points), strict=True):
            picture.dot(x, y, one.colour, tip=f"{one.name}, {nodes:,} nodes: {time(spent)}")
        picture.text(right + _LEADER, place, one.name, one.colour)
    return picture.render()


def _grid(picture: Drawing, across: LogAxis, up: LogAxis, sizes: Sequence[int]) -> None:
    for tick in up.ticks:
        picture.line((across.start, up.at(tick)), (across.end, up.at(tick)), "grid")
        picture.text(across.start - 8, up.at(tick), _decade(tick), "grey", anchor="end")
    for tick in across.ticks:
        picture.line((across.at(tick), up.start), (across.at(tick), up.end), "grid")
    last = -1e9
    for nodes in sizes:
        x, half = across.at(nodes), text_width(f"{nodes:,}") / 2
        picture.line((x, up.start), (x, up.start + 5), "axis")
        if x - half > last + FONT_SIZE / 2:
            picture.text(x, up.start + 18, f"{nodes:,}", "grey", anchor="middle")
            last = x + half
    picture.line((across.start, up.start), (across.end, up.start), "axis")
    picture.text((across.start + across.end) / 2, up.start + 40, "nodes", "grey", anchor="middle")
    picture.text(across.start - 8, _TOP - 18, _UP, "grey", anchor="end")


def _decade(microseconds: float) -> str:
    for scale, unit in ((1e6, "s"), (1e3, "ms"), (1, "µs")):
        if microseconds >= scale * 0.999:
            return f"{microseconds / scale:,.0f} {unit}"
    return f"{microseconds:.9f}".rstrip("0") + " µs"
