import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.bench.statistics import Range, amount, duration, figure, overlap, paired, percent, size, time, times


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0793, "0.079"),
        (0.996, "1.00"),
        (1.236, "1.24"),
        (9.999, "10.0"),
        (99.96, "100"),
        (56_700, "56,700"),
    ],
)
def test_a_figure_has_the_digits_that_matter(value: float, text: str) -> None:
    assert figure(value) == text


@given(st.floats(1e-9, 1e12))
def test_a_figure_is_near_its_value(value: float) -> None:
    assert float(figure(value).replace(",", "")) == pytest.approx(value, rel=0.06)


@given(st.floats(0.1, 0.9994))
def test_what_is_below_one_never_reads_as_one(ratio: float) -> None:
    assert times(ratio) < "1.000×"


def test_amounts_are_told_in_the_unit_that_suits() -> None:
    assert [time(0.21), time(1_050), time(2.1, "s"), time(0.4, "ms")] == ["0.21 µs", "1.05 ms", "2.10 s", "400 µs"]
    assert [size(512), size(3 << 20), amount(5.5, "pods/s")] == ["512 B", "3.00 MiB", "5.50 pods/s"]
    assert [duration(45), duration(720), duration(6_000)] == ["45 s", "12 min", "1 h 40 min"]
    assert [percent(0.041), percent(-0.0001), percent(0.123)] == ["4.1 %", "0 %", "12 %"]


def test_repetitions_are_paired_and_not_mixed() -> None:
    assert paired((10, 40), (5, 10)) == (2, 4)
    assert paired((10, 40, 90), (5, 0)) == (2,)


def test_ranges_that_touch_overlap() -> None:
    one, other = Range.of((1, 2, 3)), Range.of((3, 4, 5))
    assert overlap(one, other)
    assert overlap(other, one)
    assert not overlap(one, Range.of((3.1, 4)))
    assert one.spread == 0.5
