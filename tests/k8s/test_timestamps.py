import pytest

from kubewasp.k8s import timestamps


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01.5Z", 1_500_000),
        ("1970-01-01T00:00:00.1234567Z", 123_456),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T23:59:59Z", -1_000_000),
        ("0001-01-01T00:00:00Z", timestamps.ZERO),
    ],
)
def test_rfc_3339_times_are_read(text: str, microseconds: int) -> None:
    assert timestamps.parse(text) == microseconds


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026-01-02", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z", "2026-02-30T00:00:00Z",
     "2026-01-02T03:04:60Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"],
)  # fmt: skip
def test_other_texts_are_no_times(text: str) -> None:
    with pytest.raises(ValueError, match=r"time|day|second|offset|year"):
        timestamps.parse(text)


def test_times_are_written_in_utc_with_the_digits_kubernetes_writes() -> None:
    assert timestamps.in_seconds(1767323045) == "2026-01-02T03:04:05Z"
    assert timestamps.in_microseconds(1767323045_000600) == "2026-01-02T03:04:05.000600Z"
    assert timestamps.in_microseconds(timestamps.ZERO) == "0001-01-01T00:00:00.000000Z"


def test_times_outside_the_calendar_are_refused() -> None:
    with pytest.raises(ValueError, match="years 1 to 9999"):
        timestamps.in_seconds(2**62)
