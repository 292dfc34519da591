"""Log of outages: once for all watches."""

import logging

import pytest

from kubewasp.apiserver.api_resources import request_info
from kubewasp.apiserver.errors import UNREACHABLE, ApiError
from kubewasp.apiserver.reflector import OutageLog
from tests.apiserver.running import FakeClock


def error(resource: str, status: int = 0, message: str = "the server is gone") -> ApiError:
    return ApiError(request_info("GET", f"/api/v1/{resource}"), status, UNREACHABLE if not status else "", message)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.__dict__["resource"] for record in caplog.records if record.levelno == logging.WARNING]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def outages(clock: FakeClock, caplog: pytest.LogCaptureFixture) -> OutageLog:
    caplog.set_level(logging.DEBUG, "kubewasp")
    return OutageLog(clock)


@pytest.mark.parametrize("status", [0, 401, 429, 500, 503])
def test_what_concerns_all_is_logged_once(outages: OutageLog, caplog: pytest.LogCaptureFixture, status: int) -> None:
    for resource in ("pods", "nodes", "pods"):
        outages.lost(resource, error(resource, status), 1.0)
    assert warnings(caplog) == ["pods"]
    assert len(caplog.records) == 3  # the others with -v=10


def test_it_is_logged_again_after_a_while(
    outages: OutageLog, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    outages.lost("pods", error("pods"), 1.0)
    clock.time += 31
    outages.lost("nodes", error("nodes"), 1.0)
    assert warnings(caplog) == ["pods", "nodes"]


def test_what_concerns_a_resource_is_logged_each_time(outages: OutageLog, caplog: pytest.LogCaptureFixture) -> None:
    for resource in ("pods", "nodes", "pods"):
        outages.lost(resource, error(resource, 403), 1.0)
    assert warnings(caplog) == ["pods", "nodes", "pods"]


def test_a_version_that_is_too_old_is_no_outage(outages: OutageLog, caplog: pytest.LogCaptureFixture) -> None:
    outages.lost("pods", error("pods", 410), 1.0)
    outages.recovered("pods")
    assert [record.levelno for record in caplog.records] == [logging.DEBUG]


def test_the_end_is_logged_once_and_only_if_there_was_an_outage(
    outages: OutageLog, caplog: pytest.LogCaptureFixture
) -> None:
    outages.recovered("pods")
    for resource in ("pods", "nodes"):
        outages.lost(resource, error(resource), 1.0)
    for resource in ("pods", "nodes"):
        outages.recovered(resource)
    logged = [record.__dict__["resource"] for record in caplog.records if record.levelno == logging.INFO]
    assert logged == ["pods"]
    outages.lost("nodes", error("nodes"), 1.0)
    assert warnings(caplog) == ["pods", "nodes"]  # a new one
