"""Legend of a chart: colours and names in lines above it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tools.bench.plots.svg import text_width

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.bench.plots.svg import Drawing

_LEFT: Final = 16
_LINE: Final = 20
_SQUARE: Final = 12


def legend_height(legend: Mapping[str, str], width: float) -> float:
    return _LINE * (1 + max((line for _, line in _places(legend, width).values()), default=-1)) + 8


def draw_legend(picture: Drawing, legend: Mapping[str, str], top: float) -> None:
    """Draws the names of `legend` with their colours."""
    for name, (x, line) in _places(legend, picture.width).items():
        y = top + _LINE * line
        picture.rectangle(x, y - _SQUARE / 2, _SQUARE, _SQUARE, legend[name])
        picture.text(x + _SQUARE + 6, y, name)


def _places(legend: Mapping[str, str], width: float) -> dict[str, tuple[float, int]]:
    """Horizontal position and line of each entry; full lines wrap."""
    x, line, places = float(_LEFT), 0, {}
    for name in legend:
        wide = _SQUARE + 6 + text_width(name)
        if x > _LEFT and x + wide > width - _LEFT:
            x, line = float(_LEFT), line + 1
        places[name] = (x, line)
        x += wide + 20
    return places
