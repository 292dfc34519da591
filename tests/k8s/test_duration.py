import pytest

from kubewasp.k8s.duration import format_duration, parse_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (15, "15s"),
        (90, "1m30s"),
        (600, "10m0s"),
        (3600, "1h0m0s"),
        (1.5, "1.5s"),
        (0.999, "999ms"),
        (0.0015, "1.5ms"),
        (1e-6, "1µs"),
        (2e-9, "2ns"),
        (-90.25, "-1m30.25s"),
    ],
)
def test_a_duration_is_written_as_go_writes_it(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
    assert parse_duration(text) == pytest.approx(seconds)
