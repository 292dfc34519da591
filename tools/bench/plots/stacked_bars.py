"""Stacked bars of 100 %, with the total at the end of the bar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tools.bench.plots.bar_charts import LEFT, ROW, TOP, WIDTH
from tools.bench.plots.legend import draw_legend, legend_height
from tools.bench.plots.svg import Drawing, text_width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_THICK: Final = 18
_HEAD: Final = 26


@dataclass(frozen=True, slots=True)
class Stack:
    """A bar: its parts by their names in the legend."""

    name: str
    parts: Mapping[str, float]
    text: str


def shares(groups: Mapping[str, Sequence[Stack]], *, title: str, description: str, legend: Mapping[str, str]) -> str:
    """The chart: groups of bars below their headings. Absolute lengths would hide all but the slowest."""
    top = TOP + legend_height(legend, WIDTH)
    everything = [stack for stacks in groups.values() for stack in stacks]
    begin = LEFT + max(text_width(stack.name) for stack in everything) + 12
    end = WIDTH - max(text_width(stack.text) for stack in everything) - 28
    height = top + sum(_HEAD + ROW * len(stacks) for stacks in groups.values()) + 16
    picture = Drawing(WIDTH, height, title=title, description=description)
    picture.text(LEFT, 24, title, bold=True, size=15)
    draw_legend(picture, legend, TOP)
    y = top
    for heading, stacks in groups.items():
        picture.text(begin, y + _HEAD / 2, heading, "grey")
        y += _HEAD
        for stack in stacks:
            _stack(picture, stack, begin=begin, end=end, middle=y + ROW / 2, legend=legend)
            y += ROW
    return picture.render()


def _stack(
    picture: Drawing, stack: Stack, *, begin: float, end: float, middle: float, legend: Mapping[str, str]
) -> None:
    whole = sum(stack.parts.values())
    picture.text(begin - 10, middle, stack.name, anchor="end")
    x = begin
    for part, value in stack.parts.items():
        share = value / whole if whole else 0.0
        width = share * (end - begin)
        tip = f"{stack.name}, {part}: {share * 100:.0f} %"
        picture.rectangle(x, middle - _THICK / 2, max(width - 1, 0), _THICK, legend[part], tip=tip)
        if width > text_width("00 %") + 8:
            picture.text(x + width / 2, middle, f"{share * 100:.0f} %", "panel", anchor="middle")
        x += width
    picture.text(end + 8, middle, stack.text)
