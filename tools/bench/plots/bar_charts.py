"""Horizontal bar charts: single bars on a logarithmic axis, groups of bars with whiskers on a linear one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tools.bench.plots.axes import LinearAxis, LogAxis
from tools.bench.plots.legend import draw_legend, legend_height
from tools.bench.plots.svg import FONT_SIZE, Drawing, text_width

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tools.bench.statistics import Range

WIDTH: Final = 860
LEFT, TOP, BOTTOM = 16, 48, 44
ROW: Final = 26
_THICK: Final = 16
_GROUP_ROW, _GROUP_THICK, _GROUP_GAP = 19, 15, 12


@dataclass(frozen=True, slots=True)
class Bar:
    """A row: name, value (greater than zero) and text at the end of the bar."""

    name: str
    value: float
    colour: str
    text: str
    bold: bool = False


def logarithmic(
    bars: Sequence[Bar],
    *,
    title: str,
    description: str,
    axis: str,
    tick: Callable[[float], str],
    legend: Mapping[str, str],
) -> str:
    """The chart. A logarithmic axis has no zero: bars start below the shortest, so that each is visible."""
    top = TOP + legend_height(legend, WIDTH)
    names = max(text_width(bar.name) for bar in bars) * (1.08 if any(bar.bold for bar in bars) else 1)
    texts = max(text_width(bar.text) for bar in bars) * 1.08
    begin, end = LEFT + names + 12, WIDTH - texts - 28
    values = [min(bar.value for bar in bars) / 2, *(bar.value for bar in bars)]
    across = LogAxis.over(values, begin, end, to_decade=False)
    bottom = top + ROW * len(bars)
    picture = Drawing(WIDTH, bottom + BOTTOM, title=title, description=description)
    picture.text(LEFT, 24, title, bold=True, size=15)
    draw_legend(picture, legend, TOP)
    _ticks(picture, across, top=top, bottom=bottom, tick=tick, axis=axis)
    for row, bar in enumerate(bars):
        middle = top + ROW * row + ROW / 2
        picture.text(begin - 10, middle, bar.name, anchor="end", bold=bar.bold)
        length = across.at(bar.value) - begin
        picture.rectangle(begin, middle - _THICK / 2, length, _THICK, bar.colour, tip=f"{bar.name}: {bar.text}")
        picture.text(begin + length + 8, middle, bar.text, bold=bar.bold, halo=True)
    return picture.render()


@dataclass(frozen=True, slots=True)
class GroupedBar:
    """One bar of a group, with the range of its repetitions."""

    colour: str
    range: Range
    text: str


def grouped(
    groups: Mapping[str, Sequence[GroupedBar]],
    *,
    title: str,
    description: str,
    axis: str,
    tick: Callable[[float], str],
    legend: Mapping[str, str],
    mark: float | None = None,
) -> str:
    """The chart; `mark` is the value of a dashed line through all groups."""
    top = TOP + legend_height(legend, WIDTH)
    begin = LEFT + max(text_width(name) for name in groups) + 12
    everything = [bar for bars in groups.values() for bar in bars]
    end = WIDTH - max(text_width(bar.text) for bar in everything) - 28
    values = [value for bar in everything for value in (bar.range.low, bar.range.high)]
    across = LinearAxis.over(values if mark is None else [*values, mark], begin, end)
    bottom = top + sum(_GROUP_ROW * len(bars) + _GROUP_GAP for bars in groups.values())
    picture = Drawing(WIDTH, bottom + BOTTOM, title=title, description=description)
    picture.text(LEFT, 24, title, bold=True, size=15)
    draw_legend(picture, legend, TOP)
    _ticks(picture, across, top=top, bottom=bottom, tick=tick, axis=axis)
    if mark is not None:
        picture.line((across.at(mark), top), (across.at(mark), bottom), "bar")
    y = top + _GROUP_GAP / 2
    for name, bars in groups.items():
        picture.text(begin - 10, y + _GROUP_ROW * len(bars) / 2, name, anchor="end")
        for bar in bars:
            _grouped_bar(picture, across, y + _GROUP_ROW / 2, bar)
            y += _GROUP_ROW
        y += _GROUP_GAP
    picture.line((across.at(0), top), (across.at(0), bottom), "axis")
    return picture.render()


def _grouped_bar(picture: Drawing, across: LinearAxis, middle: float, bar: GroupedBar) -> None:
    start, end = sorted((across.at(0), across.at(bar.range.median)))
    picture.rectangle(start, middle - _GROUP_THICK / 2, end - start, _GROUP_THICK, bar.colour, tip=bar.text)
    low, high = across.at(bar.range.low), across.at(bar.range.high)
    if bar.range.high > bar.range.low:
        for style in ("under-whisker", "whisker"):  # an outline keeps it visible on its bar
            picture.line((low, middle), (high, middle), style)
            for x in (low, high):
                picture.line((x, middle - 4), (x, middle + 4), style)
    picture.text(max(high, end, across.at(0)) + 8, middle, bar.text, halo=True)


def _ticks(
    picture: Drawing,
    across: LogAxis | LinearAxis,
    *,
    top: float,
    bottom: float,
    tick: Callable[[float], str],
    axis: str,
) -> None:
    last = -1e9
    for value in across.ticks:
        x, half = across.at(value), text_width(tick(value)) / 2
        picture.line((x, top), (x, bottom), "grid")
        if x - half > last + FONT_SIZE / 2:
            picture.text(x, bottom + 14, tick(value), "grey", anchor="middle")
            last = x + half
    # Centred on the axis if it fits.
    middle = min((across.start + across.end) / 2, WIDTH - LEFT - text_width(axis) / 2)
    picture.text(middle, bottom + 32, axis, "grey", anchor="middle")
