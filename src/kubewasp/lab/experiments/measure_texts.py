"""Measures as text: values in their units, changes with signs, intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.k8s.duration import format_duration
from kubewasp.lab.experiments.measures import describe

if TYPE_CHECKING:
    from kubewasp.lab.experiments.intervals import Estimate


def value_text(name: str, value: float) -> str:
    """A value in its unit: `1,204`, `62.6%`, `1m3s`.

    >>> value_text("requested.end.cpu", 0.6262), value_text("pods.placed", 1204)
    ('62.6%', '1,204')
    """
    if value < 0:
        return f"−{value_text(name, -value)}"
    unit = describe(name).unit
    if unit == "share":
        return _share(value, name)
    if unit == "seconds":
        return format_duration(round(value, 0 if value >= 60 else 1 if value >= 1 else 3))
    if unit == "cost":
        return f"{value:,.2f}" if value >= 1 or not value else f"{value:.4f}"
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def change_text(name: str, value: float) -> str:
    """A change with its sign; shares in percentage points."""
    text = value_text(name, abs(value))
    return text if not value else f"{'+' if value > 0 else '−'}{text.replace('%', ' pp')}"


def estimate_text(name: str, found: Estimate) -> str:
    """A mean with the margin of its interval, if it has one."""
    text = value_text(name, found.mean)
    return f"{text} ±{_margin(name, found)}" if found.margin else text


def difference_text(name: str, found: Estimate) -> str:
    """A mean change with the margin of its interval, in parentheses if it is not significant."""
    if not found.mean and not found.margin:
        return "="
    text = change_text(name, found.mean)
    if found.margin is None:
        return text
    text = f"{text} ±{_margin(name, found)}"
    return text if found.is_significant else f"({text})"


def _margin(name: str, found: Estimate) -> str:
    return value_text(name, found.margin or 0.0).replace("%", "")


def _share(value: float, name: str) -> str:
    return f"{value:.3f}" if name.startswith("fairness.") else f"{100 * value:.1f}%"
