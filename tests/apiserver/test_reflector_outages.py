"""What the log is told of troubles with the API server."""

import logging

import pytest

from kubewasp.apiserver.api_resources import request_info
from kubewasp.apiserver.errors import UNREACHABLE, ApiError
from tests.apiserver.running import FakeClock


def error(resource: str, status: int = 0, message: str = "the server is gone") -> ApiError:
    return ApiError(request_info("GET", f"/api/v1/{resource}"), status, UNREACHABLE if not status else "", message)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.__dict__["resource"] for record in caplog.records if record.levelno == logging.WARNING]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def troubles(clock: FakeClock, caplog: pytest.LogCaptureFixture) -> Troubles:
    caplog.set_level(logging.DEBUG, "kubewasp")
    return Troubles(clock)


@pytest.mark.parametrize("status", [0, 401, 429, 500, 503])
def test_what_concerns_all_is_told_once(troubles: Troubles, caplog: pytest.LogCaptureFixture, status: int) -> None:
    for resource in ("pods", "nodes", "pods"):
        troubles.met(resource, error(resource, status), 1.0)
    assert warnings(caplog) == ["pods"]
    assert len(caplog.records) == 3  # the others with -v=10


def test_it_is_told_again_after_a_while(troubles: Troubles, clock: FakeClock, caplog: pytest.LogCaptureFixture) -> None:
    troubles.met("pods", error("pods"), 1.0)
    clock.time += 31
    troubles.met("nodes", error("nodes"), 1.0)
    assert warnings(caplog) == ["pods", "nodes"]


def test_what_concerns_a_resource_is_told_each_time(troubles: Troubles, caplog: pytest.LogCaptureFixture) -> None:
    for resource in ("pods", "nodes", "pods"):
        troubles.met(resource, error(resource, 403), 1.0)
    assert warnings(caplog) == ["pods", "nodes", "pods"]


def test_a_version_that_is_too_old_is_no_trouble(troubles: Troubles, caplog: pytest.LogCaptureFixture) -> None:
    troubles.met("pods", error("pods", 410), 1.0)
    troubles.ended("pods")
    assert [record.levelno for record in caplog.records] == [logging.DEBUG]


def test_the_end_is_told_once_and_only_if_there_was_trouble(
    troubles: Troubles, caplog: pytest.LogCaptureFixture
) -> None:
    troubles.ended("pods")
    for resource in ("pods", "nodes"):
        troubles.met(resource, error(resource), 1.0)
    for resource in ("pods", "nodes"):
        troubles.ended(resource)
    told = [record.__dict__["resource"] for record in caplog.records if record.levelno == logging.INFO]
    assert told == ["pods"]
    troubles.met("nodes", error("nodes"), 1.0)
    assert warnings(caplog) == ["pods", "nodes"]  # a new one
