"""SVG writer: shapes and text with named colours, one style sheet for light and dark.

Colours are classes and not CSS variables, which several viewers of SVG do not know. A picture has its own panel:
a page may be dark where the system is light, and text must not depend on the background of the page.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    Point = tuple[float, float]

FONT_SIZE: Final = 13
# Light and dark. Hues that stay apart for the colour-blind; each has a contrast of 4.5 to its panel, so it may be text.
PALETTE: Final = {
    "blue": ("#0062a3", "#6cb6f5"),
    "orange": ("#a84300", "#ff9a5c"),
    "green": ("#00594a", "#4fe0bb"),
    "purple": ("#a3208c", "#ee8ad8"),
    "grey": ("#6e7781", "#848d97"),
    "ink": ("#1f2328", "#e6edf3"),
}
PANEL: Final = ("#ffffff", "#0d1117")
_GRID: Final = ("#d8dee4", "#30363d")
_EDGE: Final = ("#d0d7de", "#30363d")
# Wide enough for the usual fonts of a page.
_LETTER: Final = 0.62


def text_width(text: str, size: float = FONT_SIZE) -> float:
    return len(text) * size * _LETTER


def number(value: float) -> str:
    """At most one decimal digit: the same bytes on every machine."""
    rounded = round(value, 1) + 0.0
    return f"{rounded:.0f}" if rounded == int(rounded) else f"{rounded:.1f}"


class Drawing:
    """A chart under construction; `title` and `description` are for screen readers."""

    def __init__(self, width: float, height: float, *, title: str, description: str) -> None:
        self.width, self.height = width, height
        self._title, self._description = title, description
        self._parts: list[str] = []

    def rectangle(self, x: float, y: float, width: float, height: float, colour: str, *, tip: str = "") -> None:
        size = f'width="{number(max(width, 0))}" height="{number(height)}"'
        shape = f'<rect class="fill-{colour}" x="{number(x)}" y="{number(y)}" {size}'
        self._parts.append(f"{shape}><title>{escape(tip)}</title></rect>" if tip else f"{shape}/>")

    def line(self, start: Point, end: Point, style: str) -> None:
        (x1, y1), (x2, y2) = start, end
        ends = f'x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"'
        self._parts.append(f'<line class="{style}" {ends}/>')

    def polyline(self, points: Sequence[Point], colour: str, *, dashes: str = "") -> None:
        path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._parts.append(f'<polyline class="line-{colour}" points="{path}"{dashed}/>')

    def dot(self, x: float, y: float, colour: str, *, tip: str = "") -> None:
        shape = f'<circle class="fill-{colour}" cx="{number(x)}" cy="{number(y)}" r="3"'
        self._parts.append(f"{shape}><title>{escape(tip)}</title></circle>" if tip else f"{shape}/>")

    def text(
        self,
        x: float,
        y: float,
        text: str,
        colour: str = "ink",
        *,
        anchor: str = "start",
        bold: bool = False,
        size: int = FONT_SIZE,
        halo: bool = False,
    ) -> None:
        """`y` is the middle of the line, not its base. A halo keeps lines in the background off the letters."""
        place = f'x="{number(x)}" y="{number(y + size * 0.35)}"'
        more = "" if anchor == "start" else f' text-anchor="{anchor}"'
        more += ' font-weight="600"' if bold else ""
        more += "" if size == FONT_SIZE else f' font-size="{size}"'
        style = f"fill-{colour} halo" if halo else f"fill-{colour}"
        self._parts.append(f'<text class="{style}" {place}{more}>{escape(text)}</text>')

    def render(self) -> str:
        width, height = number(self.width), number(self.height)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="system-ui, sans-serif" font-size="{FONT_SIZE}" '
            'role="img" aria-labelledby="title description">'
        )
        edge = f'x="0.5" y="0.5" width="{number(self.width - 1)}" height="{number(self.height - 1)}" rx="8"'
        lines = [
            head,
            f'<title id="title">{escape(self._title)}</title>',
            f'<desc id="description">{escape(self._description)}</desc>',
            f"<style>\n{_rules(0)}\n@media (prefers-color-scheme: dark) {{\n{_rules(1)}\n}}\n</style>",
            f'<rect class="panel" {edge}/>',
            *self._parts,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"


def _rules(shade: int) -> str:
    rules = [
        f".panel {{ fill: {PANEL[shade]}; stroke: {_EDGE[shade]} }}",
        f".grid {{ stroke: {_GRID[shade]} }}",
        f".axis {{ stroke: {PALETTE['grey'][shade]} }}",
        f".leader {{ stroke: {PALETTE['grey'][shade]}; stroke-dasharray: 1 3 }}",
        f".bar {{ stroke: {PALETTE['ink'][shade]}; stroke-dasharray: 5 4 }}",
        f".whisker {{ stroke: {PALETTE['ink'][shade]}; stroke-width: 1.5 }}",
        f".under-whisker {{ stroke: {PANEL[shade]}; stroke-width: 4 }}",
        f".halo {{ stroke: {PANEL[shade]}; stroke-width: 3; paint-order: stroke }}",
        f".fill-panel {{ fill: {PANEL[shade]} }}",
    ]
    for name, shades in PALETTE.items():
        rules.append(f".fill-{name} {{ fill: {shades[shade]} }}")
        rules.append(f".line-{name} {{ fill: none; stroke: {shades[shade]}; stroke-width: 2 }}")
    return "\n".join(rules)
