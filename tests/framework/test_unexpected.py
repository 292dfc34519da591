"""Unexpected exceptions: one traceback per cause, a count for each."""

import logging

import pytest

from kubewasp.framework.observer import NoObserver
from kubewasp.framework.unexpected import UnexpectedErrors, described


class Counts(NoObserver):
    def __init__(self) -> None:
        self.places: list[str] = []

    def unexpected_error(self, where: str) -> None:
        self.places.append(where)


def raised(text: str, kind: type[Exception] = ValueError) -> Exception:
    try:
        raise kind(text)
    except kind as error:
        return error


def test_a_cause_is_logged_with_its_traceback_once_and_counted_each_time(caplog: pytest.LogCaptureFixture) -> None:
    counts = Counts()
    errors = UnexpectedErrors(counts)
    with caplog.at_level(logging.ERROR):
        for number in range(3):
            assert errors.report("attempt", raised(f"number {number}"), pod="a/b") == f"ValueError: number {number}"
        errors.report("hint", raised("x", KeyError))
    assert [bool(record.exc_info) for record in caplog.records] == [True, False, False, True]
    assert vars(caplog.records[1])["cause"] == "ValueError: number 1"
    assert vars(caplog.records[1])["pod"] == "a/b"
    assert counts.places == ["attempt", "attempt", "attempt", "hint"]


class Speechless(Exception):  # noqa: N818 - a test's
    def __str__(self) -> str:
        raise RecursionError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError(), "ValueError"),
        (ValueError("one\ntwo"), "ValueError: one"),
        (ValueError("x" * 10_000), "ValueError: " + "x" * 500),
        (Speechless(), "Speechless"),
    ],
)
def test_a_text_is_one_bounded_line(error: Exception, text: str) -> None:
    assert described(error) == text
