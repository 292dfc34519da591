"""Charts as SVG: well-formed for any figures, bounded in size."""

import math
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from kubewasp.lab.comparisons.charts import Dot, Series, dot_chart, heat_strip, line_chart

FIGURES = st.floats(-1e12, 1e12)
POINTS = st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e12)), min_size=1, max_size=30).map(sorted)


def numbers(chart: str) -> list[float]:
    """All coordinates of a chart."""
    tree = ET.fromstring(chart)
    found = [each.get(name) for each in tree.iter() for name in ("x", "y", "cx", "cy")]
    return [float(each) for each in found if each is not None]


@given(st.lists(POINTS, min_size=1, max_size=4), st.booleans())
def test_lines_are_inside_the_picture(lines: list[list[tuple[float, float]]], is_step: bool) -> None:
    series = [Series(str(place), place, points) for place, points in enumerate(lines)]
    chart = line_chart("title <", series, x_text=str, y_text=str, is_step=is_step)
    assert all(-1 <= number <= 341 for number in numbers(chart))
    for path in ET.fromstring(chart).iter("path"):
        assert "nan" not in path.get("d", "")
        assert "inf" not in path.get("d", "")


@given(st.lists(st.tuples(FIGURES, st.floats(0, 1e6)), min_size=1, max_size=5))
def test_dots_are_inside_the_picture(values: list[tuple[float, float]]) -> None:
    dots = [Dot(str(place), place, mean, mean - margin, mean + margin) for place, (mean, margin) in enumerate(values)]
    assert all(0 <= number <= 340 for number in numbers(dot_chart("title", dots, str)) if math.isfinite(number))


def test_many_points_are_thinned_and_the_last_one_is_kept() -> None:
    points = [(float(x), float(x % 7)) for x in range(100_000)]
    chart = line_chart("title", [Series("a", 0, points)], x_text=str, y_text=str, is_step=True)
    assert len(chart) < 10_000
    assert "H330.0V" in chart


def test_a_heat_strip_has_a_cell_per_node() -> None:
    assert heat_strip("title", [0.0, 0.5, 1.0, 1.2]).count("h5v5h-5z") == 4
    assert 'class="h0"' in heat_strip("title", [0.0])
    assert 'class="h10"' in heat_strip("title", [1.2])


def test_a_heat_strip_of_very_many_nodes_is_bounded() -> None:
    chart = heat_strip("title", [0.5] * 100_000)
    assert 1000 < chart.count("h5v5h-5z") <= 6000
