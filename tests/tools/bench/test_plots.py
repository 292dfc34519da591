"""Plots from a reader's view: positions of text and points, and colours."""

import math
import re
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.bench import example
from tools.bench.plots.axes import LinearAxis, LogAxis, apart
from tools.bench.plots.bar_charts import Bar, GroupedBar, grouped, logarithmic
from tools.bench.plots.curves import Series, growth
from tools.bench.plots.pictures import pictures
from tools.bench.plots.stacked_bars import Stack, shares
from tools.bench.plots.svg import PALETTE, PANEL, text_width
from tools.bench.statistics import Range

SVG = "{http://www.w3.org/2000/svg}"
positive = st.floats(1e-3, 1e9)
words = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=24)
Box = tuple[float, float, float, float]


def boxes(root: ET.Element) -> list[tuple[str, Box]]:
    """The room that each text takes: left, top, right, bottom."""
    found = []
    for text in root.iter(f"{SVG}text"):
        size = float(text.get("font-size", 13))
        width, x, y = text_width(text.text or "", size), float(text.get("x", 0)), float(text.get("y", 0))
        left = x - width * {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor", "start")]
        found.append((text.text or "", (left, y - size * 0.8, left + width, y + size * 0.2)))
    return found


def assert_readable(svg: str) -> ET.Element:
    """No text is cut off or lies on another one; nothing is drawn outside."""
    root = ET.fromstring(svg)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    texts = boxes(root)
    for text, (left, top, right, bottom) in texts:
        assert left >= 0, text
        assert top >= 0, text
        assert right <= width + 1, text
        assert bottom <= height, text
    for (one, a), (other, b) in combinations(texts, 2):
        assert a[2] <= b[0] + 1 or b[2] <= a[0] + 1 or a[3] <= b[1] + 1 or b[3] <= a[1] + 1, (one, other)
    for shape in root.iter(f"{SVG}rect"):
        assert -0.1 <= float(shape.get("x", 0)) <= float(shape.get("x", 0)) + float(shape.get("width", 0)) <= width
    for dot in root.iter(f"{SVG}circle"):
        assert 0 <= float(dot.get("cx", -1)) <= width
        assert 0 <= float(dot.get("cy", -1)) <= height
    return root


@given(st.lists(st.floats(-1e4, 1e4), max_size=30), st.floats(1, 40), st.floats(0, 500))
def test_labels_keep_their_distance_and_their_order(wanted: list[float], gap: float, spare: float) -> None:
    low, high = 10.0, 10.0 + max(len(wanted) - 1, 0) * gap + spare
    places = apart(wanted, gap, low, high)
    by_place = sorted(range(len(wanted)), key=lambda index: places[index])
    assert [wanted[index] for index in by_place] == sorted(wanted)
    assert all(places[b] - places[a] >= gap - 1e-6 for a, b in pairwise(by_place))
    assert all(low - 1e-6 <= place <= high + 1e-6 for place in places)


def test_labels_with_room_stay_where_they_belong() -> None:
    assert apart([100.0, 50.0, 200.0], 17, 0, 300) == [100.0, 50.0, 200.0]
    assert apart([100.0, 100.0], 20, 0, 300) == [90.0, 110.0]


@given(st.lists(positive, min_size=1, max_size=20), st.booleans(), st.booleans())
def test_every_value_lies_on_a_logarithmic_axis(values: list[float], from_decade: bool, to_decade: bool) -> None:
    axis = LogAxis.over(values, 50, 700, from_decade=from_decade, to_decade=to_decade)
    assert all(50 - 1e-6 <= axis.at(value) <= 700 + 1e-6 for value in values)
    assert all(50 - 1e-3 <= axis.at(tick) <= 700 + 1e-3 for tick in axis.ticks)
    assert all(math.log10(tick) == pytest.approx(round(math.log10(tick)), abs=1e-9) for tick in axis.ticks)
    if from_decade and to_decade:
        assert len(axis.ticks) >= 2


@given(st.lists(st.floats(-1e6, 1e9).filter(lambda value: value == 0 or abs(value) > 1e-6), max_size=20))
def test_every_value_and_zero_lie_on_a_linear_axis(values: list[float]) -> None:
    axis = LinearAxis.over(values, 700, 50)
    assert all(50 - 1e-6 <= axis.at(value) <= 700 + 1e-6 for value in [0.0, *values, *axis.ticks])
    assert 2 <= len(axis.ticks) <= 8 or len(set(values)) <= 1


points = st.dictionaries(st.integers(1, 100_000), positive, min_size=1, max_size=6).map(
    lambda found: sorted(found.items())
)


@given(st.lists(st.tuples(words, points), min_size=1, max_size=30))
def test_curves_stay_inside_and_their_names_apart(drawn: list[tuple[str, list[tuple[int, float]]]]) -> None:
    series = [Series(name, "blue", found) for name, found in drawn]
    root = assert_readable(growth(series, title="Growth", description="of things"))
    assert len(list(root.iter(f"{SVG}circle"))) == sum(len(found) for _, found in drawn)


@given(st.lists(st.tuples(words, positive, st.booleans()), min_size=1, max_size=20))
def test_longer_bars_are_greater_values(drawn: list[tuple[str, float, bool]]) -> None:
    bars = [Bar(name, value, "blue", f"{value:.3g} µs", bold) for name, value, bold in drawn]
    svg = logarithmic(
        bars, title="Bars", description="", axis="µs", tick=lambda value: f"{value:g}", legend={"x": "blue"}
    )
    widths = [float(shape.get("width", 0)) for shape in assert_readable(svg).iter(f"{SVG}rect")][2:]
    assert all(width > 0 for width in widths)
    for (one, a), (other, b) in combinations(zip(widths, (value for _, value, _ in drawn), strict=True), 2):
        assert (a - b) * (one - other) >= 0 or abs(one - other) < 0.11


ranges = st.lists(st.floats(-0.5, 500), min_size=1, max_size=5).map(Range.of)


@given(st.dictionaries(words, st.lists(ranges, min_size=1, max_size=3), min_size=1, max_size=9))
def test_grouped_bars_keep_their_whiskers_inside(drawn: dict[str, list[Range]]) -> None:
    groups = {name: [GroupedBar("green", found, "123") for found in bars] for name, bars in drawn.items()}
    legend = {"one": "green", "another with a long name": "blue"}
    svg = grouped(
        groups, title="Groups", description="", axis="pods", tick=lambda value: f"{value:g}", legend=legend, mark=1.0
    )
    root = assert_readable(svg)
    for line in root.iter(f"{SVG}line"):
        assert all(0 <= float(line.get(name, -1)) <= float(root.get("width", 0)) for name in ("x1", "x2"))


@given(st.lists(st.tuples(words, st.lists(st.floats(0, 1e6), min_size=3, max_size=3)), min_size=1, max_size=8))
def test_parts_fill_their_bar(drawn: list[tuple[str, list[float]]]) -> None:
    legend = {"a": "blue", "b": "green", "c": "grey"}
    stacks = [Stack(name, dict(zip(legend, parts, strict=True)), "1 ms") for name, parts in drawn]
    assert_readable(shares({"first": stacks, "second": stacks}, title="Parts", description="", legend=legend))


@pytest.mark.parametrize("peers", [True, False])
def test_pictures_of_a_result_are_readable_and_say_what_they_show(peers: bool) -> None:
    drawn = pictures(example.result(peers=peers))
    assert {one.name for one in drawn} >= {
        "bench-headline.svg",
        "bench-growth-nodenumber.svg",
        "bench-where-label-cpu.svg",
        "bench-scheduling-5000.svg",
        "bench-overhead-5000.svg",
    }
    for one in drawn:
        root = assert_readable(one.svg)
        title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
        assert title is not None
        assert title.text == one.caption
        assert description is not None
        assert len(description.text or "") > 40
        assert root.get("role") == "img"


def test_a_picture_is_the_same_every_time() -> None:
    assert pictures(example.result()) == pictures(example.result())


def test_a_picture_has_no_more_digits_than_can_be_seen() -> None:
    for one in pictures(example.result()):
        places = re.findall(r' (?:x|y|x1|y1|x2|y2|cx|cy|width|height)="([^"]*)"', one.svg)
        assert places
        assert all(re.fullmatch(r"-?\d+(\.\d)?", place) for place in places)


def test_a_result_without_figures_has_no_pictures() -> None:
    assert pictures(example.result(plugin=False, scheduler=False)) == []


def test_names_cannot_break_out_of_a_picture() -> None:
    svg = growth([Series("<script>&\"'", "blue", [(1, 2.0)])], title="<b>", description="a & b")
    assert "<script" not in svg
    assert assert_readable(svg).findtext(f"{SVG}title") == "<b>"


def test_peers_are_in_the_headline_once_they_are_measured() -> None:
    with_peers, without = (
        next(one.svg for one in pictures(example.result(peers=peers)) if one.name == "bench-headline.svg")
        for peers in (True, False)
    )
    assert "wazero (stand-in)" in with_peers
    assert "wazero" not in without


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("shade", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", PALETTE)
def test_every_colour_can_be_read_as_text(name: str, shade: int) -> None:
    low, high = sorted((luminance(PALETTE[name][shade]), luminance(PANEL[shade])))
    assert (high + 0.05) / (low + 0.05) >= 4.5


# How the three kinds of colour-blindness mix red, green and blue (linear light).
BLIND = {
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
}


@pytest.mark.parametrize("shade", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("kind", BLIND)
def test_colours_stay_apart_for_the_colour_blind(kind: str, shade: int) -> None:
    def seen(colour: str) -> tuple[float, ...]:
        parts = [(int(colour[place : place + 2], 16) / 255) ** 2.2 for place in (1, 3, 5)]
        mixed = (sum(share * part for share, part in zip(row, parts, strict=True)) for row in BLIND[kind])
        return tuple(min(max(value, 0.0), 1.0) ** (1 / 2.2) * 255 for value in mixed)

    for one, other in combinations((name for name in PALETTE if name != "ink"), 2):
        distance = math.dist(seen(PALETTE[one][shade]), seen(PALETTE[other][shade]))
        assert distance >= 35, (one, other, distance)
