"""Picture of a soak from a reader's view."""

import pytest

from tests.tools.bench.test_plots import SVG, assert_readable
from tests.tools.soak.example import MINUTES, samples
from tools.soak.judgement import CURVES, MOST_POINTS
from tools.soak.picture import picture


def points(svg: str) -> list[list[tuple[float, float]]]:
    """Points of each curve, from top to bottom."""
    lines = [line.get("points", "") for line in assert_readable(svg).iter(f"{SVG}polyline")]
    return [[(float(x), float(y)) for x, _, y in (one.partition(",") for one in line.split())] for line in lines]


@pytest.mark.parametrize("minutes", [0.2, 1, 3, MINUTES, 600])
def test_every_curve_has_a_readable_panel(minutes: float) -> None:
    drawn = points(picture(samples(minutes=minutes)))
    assert len(drawn) == len(CURVES) + 1
    assert all(len(one) <= MOST_POINTS for one in drawn)


def test_panels_do_not_overlap_and_time_goes_right() -> None:
    drawn = points(picture(samples(memory=lambda at: at, cpu=lambda at: at, rate=lambda at: at)))
    bottoms = [max(y for _, y in one) for one in drawn]
    tops = [min(y for _, y in one) for one in drawn]
    assert all(bottom < top for bottom, top in zip(bottoms, tops[1:], strict=False))
    assert all(one == sorted(one, key=lambda point: point[0]) for one in drawn)


def test_a_growing_curve_rises() -> None:
    (memory, *_) = points(picture(samples(memory=lambda at: 100 + at)))
    assert [y for _, y in memory] == sorted((y for _, y in memory), reverse=True)
    assert memory[0][1] - memory[-1][1] > 40


def test_the_names_have_the_medians_of_both_thirds() -> None:
    svg = picture(samples(memory=lambda at: 230 if at < 1200 else 280))
    assert ">memory: 230 MiB in the middle third, 280 MiB in the last<" in svg


def test_the_same_samples_give_the_same_bytes_for_light_and_dark() -> None:
    svg = picture(samples())
    assert svg == picture(samples())
    assert "prefers-color-scheme: dark" in svg
