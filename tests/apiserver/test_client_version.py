"""First request to an API server: availability and version."""

import json
import logging

import pytest

from kubewasp.apiserver.auth import Credentials
from kubewasp.apiserver.client import ApiClient, wait_for_server
from kubewasp.apiserver.errors import ApiError, ServerTooOldError
from kubewasp.apiserver.http_connection import Access
from tests.apiserver.fake_server import Answer, Drop, FakeServer, status_answer
from tests.apiserver.running import FakeClock, asynchronous, client_of


def version(minor: str, major: str = "1") -> Answer:
    told = {"major": major, "minor": minor, "gitVersion": f"v{major}.{minor}.0"}
    return Answer(json.dumps(told).encode(), content_type="application/json")


@pytest.mark.parametrize("minor", ["24", "36", "27+"])
def test_a_server_that_is_new_enough_is_fine(minor: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kubewasp")

    @asynchronous
    async def contact() -> None:
        async with FakeServer() as server, client_of(server) as client:
            server.on("GET", "/version", version(minor))
            await wait_for_server(client)
            assert server.requests[0].headers["accept"] == "application/json"

    contact()
    (record,) = caplog.records
    assert record.message == "Connected to the API server"
    assert record.__dict__["version"] == f"v1.{minor}.0"


@asynchronous
async def test_an_old_server_is_refused() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.on("GET", "/version", version("23"))
        with pytest.raises(
            ServerTooOldError, match=r"is Kubernetes v1\.23\.0: .* too old; kubewasp needs 1\.24 or newer"
        ):
            await wait_for_server(client)


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"major":"1","minor":"","gitVersion":"v1"}'])
def test_something_else_is_refused(body: bytes) -> None:
    @asynchronous
    async def contact() -> None:
        async with FakeServer() as server, client_of(server) as client:
            server.on("GET", "/version", Answer(body))
            with pytest.raises(
                ApiError, match=r"not an answer of a Kubernetes API server: is http://\S+ its address\?"
            ):
                await wait_for_server(client)

    contact()


def test_trouble_that_may_pass_is_waited_for_longer_and_longer(caplog: pytest.LogCaptureFixture) -> None:
    @asynchronous
    async def contact() -> None:
        clock = FakeClock()
        async with FakeServer() as server, client_of(server) as client:
            troubles = (Drop(), Drop(), status_answer(503, "ServiceUnavailable"), status_answer(429, "TooMany"))
            server.on("GET", "/version", *troubles, version("36"))
            await wait_for_server(client, clock=clock)
        assert len(clock.sleeps) == 4
        assert all(seconds >= 2**number for number, seconds in enumerate(clock.sleeps))

    contact()
    told = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert {record.message for record in told} == {"API server unavailable"}


@asynchronous
async def test_who_may_not_ask_for_the_version_goes_on() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.on("GET", "/version", status_answer(403, "Forbidden"))
        await wait_for_server(client)


@asynchronous
async def test_credentials_that_never_change_are_refused_for_good() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.always("GET", "/version", status_answer(401, "Unauthorized"))
        with pytest.raises(ApiError, match="does not accept the credentials"):
            await wait_for_server(client)


@asynchronous
async def test_credentials_that_may_change_are_tried_again() -> None:
    async with FakeServer() as server:
        server.on("GET", "/version", status_answer(401, "Unauthorized"), version("36"))
        async with ApiClient(_Same(server.url), qps=-1) as client:
            await wait_for_server(client, clock=FakeClock())
        assert len(server.requests) == 2


class _Same(Credentials):
    """Credentials that may change, and have not yet."""

    def __init__(self, url: str) -> None:
        self.may_change = True
        self._only = Access(url)

    async def fresh(self) -> Access:
        return self._only

    async def renewed(self, refused: Access) -> Access:
        return self._only
