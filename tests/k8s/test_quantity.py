import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.k8s.quantity import canonical, format_size, parse


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("0", "0"), ("0Ki", "0"), ("-0", "0"), ("100m", "100m"), ("1000m", "1"), ("1.5", "1500m"), ("0.5", "500m"),
        (".5", "500m"), ("5.", "5"), ("+3", "3"), ("0.0001", "100u"), ("-1.5", "-1500m"), ("12E", "12E"),
        ("1000k", "1M"), ("1000E", "1e21"), ("1Ki", "1Ki"), ("1024Mi", "1Gi"), ("1000Ki", "1000Ki"),
        ("1.5Gi", "1536Mi"), ("0.5Gi", "512Mi"), ("0.5Ki", "512"), ("1.0001Ki", "1024102400u"), ("1e3", "1e3"),
        ("1E3", "1e3"), ("12e6", "12e6"), ("100e1", "1e3"), ("1e1", "10"), ("1e-3", "1e-3"), ("1e+3", "1e3"),
        (" 1 ", "1"), (5, "5"), (2.5, "2500m"), (0.1, "100m"), (-3, "-3"), (1000, "1k"), (1e22, "10e21"),
    ],
)  # fmt: skip
def test_quantity_is_written_in_canonical_form(written: str | float, expected: str) -> None:
    assert canonical(written) == expected


def test_what_is_finer_than_nano_is_rounded_away_from_zero() -> None:
    assert [canonical("0.1n"), canonical("-0.1n"), canonical("1.0000000001")] == ["1n", "-1n", "1000000001n"]


def test_binary_quantities_are_capped_where_int64_ends() -> None:
    assert [canonical("8Ei"), canonical("-9Ei")] == ["9223372036854775807", "-9223372036854775807"]


@pytest.mark.parametrize(
    ("written", "value"), [("1500m", 2), ("-1500m", -2), ("100u", 1), ("2Ki", 2048), ("0", 0), ("3", 3)]
)
def test_integers_are_rounded_away_from_zero(written: str, value: int) -> None:
    assert parse(written).value() == value


@pytest.mark.parametrize(
    "written",
    ["", "-", ".", "Ki", "1K", "1ki", "1e", "1 Gi", "0x1", "1.5.5", "٣", "1e61", "1e1000", "9" * 101, "\ud800",
     True, float("nan"), float("inf"), 10**500],
)  # fmt: skip
def test_what_is_no_quantity_is_a_value_error(written: str | float) -> None:
    with pytest.raises(ValueError, match="quantity"):
        parse(written)


@given(st.from_regex(r"[+-]?[0-9]{1,20}(\.[0-9]{0,12})?([KMGTPE]i|[numkMGTPE]?|e[+-]?[0-9]{1,2})", fullmatch=True))
def test_canonical_form_keeps_the_amount_and_is_final(written: str) -> None:
    try:
        quantity = parse(written)
    except ValueError:
        assert "e" in written  # only an exponent leads beyond the limit
        return
    assert parse(str(quantity)).nanos == quantity.nanos
    assert canonical(str(quantity)) == str(quantity)


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1Ki"),
        (1341, "1.3Ki"),
        (65536, "64Ki"),
        (1536 * 1024, "1.5Mi"),
        (2**32, "4Gi"),
        (3 * 2**40, "3Ti"),
        (2**70, "1024Ei"),
    ],
)
def test_sizes_are_shown_in_the_units_of_quantities(count: int, shown: str) -> None:
    assert format_size(count) == shown
    if "bytes" not in shown and "." not in shown and count < 2**60:
        assert parse(shown).value() == count
