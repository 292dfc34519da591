"""Log lines of events that come in any number."""

import logging

import pytest

from kubewasp.server.limited_log import INTERVAL_SECONDS, LimitedLog


class Clock:
    time = 0.0

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_one_line_per_interval_and_the_number_of_those_left_out(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    log = LimitedLog(logging.getLogger("limited"), clock)
    for _ in range(1000):
        log.event("Refused", "host", reason="host")
    log.event("Refused", "size", reason="size")
    assert [(item.message, item.reason) for item in caplog.records] == [("Refused", "host"), ("Refused", "size")]  # type: ignore[attr-defined]
    clock.time = INTERVAL_SECONDS
    log.event("Refused", "host", reason="host")
    assert caplog.records[-1].leftOut == 999  # type: ignore[attr-defined]
    assert len(caplog.records) == 3


def test_the_end_shows_what_no_line_has_shown(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    log = LimitedLog(logging.getLogger("limited"), clock)
    for _ in range(3):
        log.event("Refused", "host", reason="host")
    log.close()
    assert [getattr(item, "leftOut", 0) for item in caplog.records] == [0, 2]
