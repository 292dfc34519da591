"""Picture of a soak: one panel per curve over the same time, with the thirds that are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tools.bench.plots.axes import LinearAxis
from tools.bench.plots.svg import Drawing, text_width
from tools.soak.judgement import CPU, DESCRIPTORS, MEMORY, PODS, THIRDS, THREADS, Trend, thinned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools.soak.judgement import Curve, Points
    from tools.soak.samples import Sample

_WIDTH: Final = 860
_TOP, _BOTTOM, _SIDE = 44, 44, 16
_PANEL, _GAP = 84, 34
_LEFT: Final = 84
_COLOURS: Final = {MEMORY: "blue", THREADS: "purple", DESCRIPTORS: "orange", CPU: "grey", PODS: "green"}


def picture(samples: Sequence[Sample]) -> str:
    """The chart. A soak has two samples at least."""
    panels: list[tuple[str, str, Points, Callable[[float], str]]] = [
        (f"{curve.name}: {_medians(curve, samples)}", colour, thinned(curve.points(samples)), curve.text)
        for curve, colour in _COLOURS.items()
    ]
    probes = [(one.seconds, 1e3 * one.slowest_probe) for one in samples[1:]]
    panels.append(("/livez, slowest in each interval", "ink", thinned(probes, max), lambda value: f"{value:g} ms"))
    height = _TOP + len(panels) * (_PANEL + _GAP) + _BOTTOM - _GAP + 12
    minutes = samples[-1].seconds / 60
    drawing = Drawing(
        _WIDTH,
        height,
        title="Soak",
        description=f"{', '.join(name for name, _, _, _ in panels)}, over {minutes:.0f} minutes",
    )
    title = "kubewasp run under load and attack; dashed: bounds of the thirds"
    drawing.text(_SIDE, 22, title, bold=True, size=15)
    across = LinearAxis.over([minutes], _LEFT, _WIDTH - _SIDE - 8)
    for place, (name, colour, points, text) in enumerate(panels):
        top = _TOP + 12 + place * (_PANEL + _GAP)
        up = LinearAxis.over([value for _, value in points], top + _PANEL, top)
        drawing.text(_LEFT, top - 11, name, colour)
        _ticks(drawing, up, text)
        for share in THIRDS:
            x = across.at(minutes * share)
            drawing.line((x, top), (x, top + _PANEL), "bar")
        drawing.polyline([(across.at(at / 60), up.at(value)) for at, value in points], colour)
        drawing.line((across.start, top + _PANEL), (across.end, top + _PANEL), "axis")
    _minutes(drawing, across, height - _BOTTOM)
    return drawing.render()


def _medians(curve: Curve, samples: Sequence[Sample]) -> str:
    trend = Trend.of(curve.points(samples))
    return f"{curve.text(trend.middle)} in the middle third, {curve.text(trend.last)} in the last"


def _ticks(drawing: Drawing, up: LinearAxis, text: Callable[[float], str]) -> None:
    """Lowest and highest tick, and a line for each between them."""
    for value in up.ticks:
        drawing.line((_LEFT, up.at(value)), (_WIDTH - _SIDE - 8, up.at(value)), "grid")
    for value in sorted({up.ticks[0], up.ticks[-1]}):
        drawing.text(_LEFT - 8, up.at(value), text(value), "grey", anchor="end")


def _minutes(drawing: Drawing, across: LinearAxis, top: float) -> None:
    last = -1e9
    for value in across.ticks:
        text = f"{value:g}"
        x, half = across.at(value), text_width(f"{value:g}") / 2
        if x - half > last + 4:
            drawing.text(x, top + 8, text, "grey", anchor="middle")
            last = x + half
    drawing.text((across.start + across.end) / 2, top + 28, "minutes", "grey", anchor="middle")
