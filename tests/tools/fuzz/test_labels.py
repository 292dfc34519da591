"""Labels of outcomes: equal for errors that differ in their values only, so one input of each is kept as a seed."""

import pytest

from tools.fuzz.labels import error_label


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("line 7: the tag !a b!c has no meaning", "line #: the tag # has no meaning"),
        ("*x-1 has no anchor &x-1 before it", "# has no anchor # before it"),
        ("  trust.a-b: unknown field\n  c: unknown field", "  #: unknown field\n  #: unknown field"),
        ('spec: Invalid value: "x": got [1, 2] and {a}', "spec: Invalid value: #: got # and #"),
    ],
)
def test_values_are_left_out(text: str, shape: str) -> None:
    assert error_label(ValueError(text)) == f"ValueError: {shape}"


def test_a_text_that_cannot_be_printed_is_a_crash() -> None:
    with pytest.raises(UnicodeEncodeError):
        error_label(ValueError("\ud800"))


def test_a_long_text_takes_no_time_worth_mentioning() -> None:
    """The pattern alone would take minutes."""
    assert error_label(ValueError("x/" * 100_000)) == f"ValueError: {'x/' * 80}"
