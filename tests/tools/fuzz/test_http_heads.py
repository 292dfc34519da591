"""Fuzz target of the HTTP server: half requests, line ends in wrong places, and what counts as a finding."""

import logging
import random
from collections.abc import Iterator

import pytest
from starlette.types import Receive, Scope, Send

from tools.fuzz.targets.http_heads import HttpHeads, seeds

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def target() -> Iterator[HttpHeads]:
    with HttpHeads() as made:
        yield made


def test_half_requests_are_answered_or_refused(target: HttpHeads) -> None:
    for seed in seeds():
        target.check(seed[: len(seed) // 2])


def test_line_ends_and_separators_in_any_place_are_answered_or_refused(target: HttpHeads) -> None:
    chance = random.Random(20261116)
    corpus = list(seeds())
    for _ in range(300):
        data = bytearray(chance.choice(corpus))
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(data))
            data[at : at + chance.randint(0, 3)] = chance.choice([b"", b"\r", b"\n", b"\r\n", b" ", b"\0", b":", b"5"])
        target.check(bytes(data) + chance.choice(corpus))


@pytest.mark.parametrize(
    ("data", "label"),
    [
        (GET, "1 requests, [200]"),
        (GET * 5, "3 requests, [200]"),
        (b"", "0 requests, []"),
        (GET[:-2], "0 requests, []"),
        (GET + b"GET / HTTP/3.0\r\n\r\n", "RequestError: HTTP version; 1 requests, [200, 505]"),
        (GET.replace(b"localhost", b"example.com"), "1 requests, [421]"),
    ],
)
def test_the_label_has_requests_statuses_and_refusal(target: HttpHeads, data: bytes, label: str) -> None:
    assert target.check(data) == label


def test_more_requests_than_buffers_hold_are_all_answered(target: HttpHeads) -> None:
    assert target.check(GET * 3000) == "3 requests, [200]"


def test_a_response_too_many_would_be_found(target: HttpHeads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.fuzz.targets.http_heads._framed", lambda data: (0, None))
    with pytest.raises(AssertionError, match="1 responses to 0 requests"):
        target.check(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 1\r\n\r\na\r\n\r\n")


def test_an_error_in_the_log_would_be_found() -> None:
    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError

    with HttpHeads(failing) as target, pytest.raises(AssertionError, match="Exception in ASGI application"):
        target.check(GET)


def test_an_error_in_the_log_before_an_input_is_not_its_own(target: HttpHeads) -> None:
    logging.getLogger("uvicorn.error").error("by something else")
    assert target.check(GET) == "1 requests, [200]"
