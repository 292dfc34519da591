"""Picture of a tuning as SVG: two objectives with the front, or one objective by trial."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

from kubewasp.lab.studies.search_space import described

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.lab.studies.tuning import TuningResults

_WIDTH, _HEIGHT = 720, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 20, 50, 60
_COLOURS: Final = {"usable": "#6b7f99", "violating": "#c9302c", "front": "#1a7f37", "base": "#b8860b"}
_LEGEND: Final = {"usable": "trial", "violating": "violates a constraint", "front": "best", "base": "base"}
_TICKS: Final = 5


@dataclass(frozen=True, slots=True)
class _Dot:
    x: float
    y: float
    kind: str
    text: str


def svg(results: TuningResults) -> str:
    """The picture. Each trial has its values as a tooltip."""
    plan = results.plan
    objectives = plan.tuning.objectives
    front = {trial.number for trial, _ in results.front()}
    dots: list[_Dot] = []
    for trial in results.trials:
        standing = plan.standing(trial, plan.training)
        if standing.values is None:
            continue
        by_trial = len(objectives) == 1
        x, y = (trial.number, standing.values[0]) if by_trial else standing.values[:2]
        kind = "front" if trial.number in front else "usable" if standing.is_feasible else "violating"
        if not trial.number and kind != "front":
            kind = "base"
        name = (
            "base" if trial.point is None else f"trial {trial.number}: {described(plan.tuning.parameters, trial.point)}"
        )
        values = ", ".join(f"{one.name} {value:.4g}" for one, value in zip(objectives, standing.values, strict=True))
        dots.append(_Dot(x, y, kind, f"{name}; {values}"))
    labels = ("trial", objectives[0].name) if len(objectives) == 1 else (objectives[0].name, objectives[1].name)
    return _drawing(dots, labels, has_line=len(objectives) > 1)


def _drawing(dots: Sequence[_Dot], labels: tuple[str, str], *, has_line: bool) -> str:
    xs, ys = _scale([dot.x for dot in dots]), _scale([dot.y for dot in dots])

    def place(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + (x - xs[0]) / (xs[1] - xs[0]) * (_WIDTH - _LEFT - _RIGHT)
        down = _HEIGHT - _BOTTOM - (y - ys[0]) / (ys[1] - ys[0]) * (_HEIGHT - _TOP - _BOTTOM)
        return round(across, 1), round(down, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" font-family="sans-serif" font-size="12" role="img">',
        f"<title>{escape(labels[1])} over {escape(labels[0])}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
    ]
    for step in range(_TICKS):
        share = step / (_TICKS - 1)
        x, y = xs[0] + share * (xs[1] - xs[0]), ys[0] + share * (ys[1] - ys[0])
        across, down = place(x, y)
        parts.append(
            f'<path d="M{_LEFT} {down}H{_WIDTH - _RIGHT}M{across} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="#dddddd"/>'
        )
        parts.append(f'<text x="{_LEFT - 8}" y="{down + 4}" text-anchor="end">{y:.4g}</text>')
        parts.append(f'<text x="{across}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{x:.4g}</text>')
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    parts.append(
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 16}" text-anchor="middle">{escape(labels[0])}</text>'
    )
    parts.append(
        f'<text x="18" y="{middle}" text-anchor="middle" transform="rotate(-90 18 {middle})">{escape(labels[1])}</text>'
    )
    line = sorted((dot.x, dot.y) for dot in dots if dot.kind == "front")
    if has_line and len(line) > 1:
        points = " ".join(f"{x},{y}" for x, y in (place(*point) for point in line))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{_COLOURS["front"]}" stroke-width="1.5"/>')
    order = list(_COLOURS)
    for dot in sorted(dots, key=lambda dot: order.index(dot.kind)):
        x, y = place(dot.x, dot.y)
        size = 6 if dot.kind in ("front", "base") else 4
        parts.append(
            f'<circle cx="{x}" cy="{y}" r="{size}" fill="{_COLOURS[dot.kind]}" fill-opacity="0.8">'
            f"<title>{escape(dot.text)}</title></circle>"
        )
    for index, kind in enumerate(kind for kind in order if any(dot.kind == kind for dot in dots)):
        x = _LEFT + 160 * index
        parts.append(f'<circle cx="{x + 6}" cy="26" r="5" fill="{_COLOURS[kind]}"/>')
        parts.append(f'<text x="{x + 16}" y="30">{_LEGEND[kind]}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _scale(values: Sequence[float]) -> tuple[float, float]:
    """Ends of an axis, a little beyond the values."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = (high - low) * 0.05 or abs(low) * 0.05 or 1.0
    return low - room, high + room
