"""Measures as text."""

import pytest

from kubewasp.lab.experiments.intervals import Estimate
from kubewasp.lab.experiments.measure_texts import change_text, difference_text, estimate_text, value_text


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("pods.placed", 1204, "1,204"),
        ("pods.placed", 0.5, "0.5"),
        ("wait.mean", 0.0, "0s"),
        ("wait.mean", 0.0123, "12ms"),
        ("wait.mean", 23.34, "23.3s"),
        ("wait.mean", -336.2, "−5m36s"),
        ("wait.max", 1341.1, "22m21s"),
        ("requested.mean.cpu", 0.6262, "62.6%"),
        ("fairness.wait", 0.5508, "0.551"),
        ("cost.total", 1234.5, "1,234.50"),
        ("cost.hour", 0.0123, "0.0123"),
    ],
)
def test_values_are_in_their_units(name: str, value: float, text: str) -> None:
    assert value_text(name, value) == text


def test_changes_have_signs_and_shares_change_by_points() -> None:
    assert change_text("requested.mean.cpu", 0.051) == "+5.1 pp"
    assert change_text("wait.mean", -6.9) == "−6.9s"
    assert change_text("pods.placed", 0) == "0"


def test_what_is_not_significant_is_in_parentheses() -> None:
    assert difference_text("pods.placed", Estimate(3.0, 1.0)) == "+3 ±1"
    assert difference_text("pods.placed", Estimate(3.0, 4.0)) == "(+3 ±4)"
    assert difference_text("pods.placed", Estimate(3.0)) == "+3"
    assert difference_text("pods.placed", Estimate(0.0, 0.0)) == difference_text("pods.placed", Estimate(0.0)) == "="


def test_means_have_their_margins() -> None:
    assert estimate_text("requested.mean.cpu", Estimate(0.5, 0.01)) == "50.0% ±1.0"
    assert estimate_text("requested.mean.cpu", Estimate(0.5)) == "50.0%"
