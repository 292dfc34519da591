"""Guests published by the http-wasm project, unmodified."""

import logging

import pytest

from tests.web.client import ask, with_middlewares
from tests.web.guests import ECHO, handler, published_guest


def test_auth_asks_for_a_password() -> None:
    refused = ask(with_middlewares([published_guest("auth")]))
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, 'Basic realm="test"')
    wrong = ask(with_middlewares([published_guest("auth")]), auth=("Aladdin", "open barley"))
    assert wrong.status_code == 401
    right = ask(with_middlewares([published_guest("auth")]), auth=("Aladdin", "open sesame"))
    assert (right.status_code, right.text) == (201, "next")


def test_router_answers_by_itself_or_passes_on() -> None:
    alone = ask(with_middlewares([published_guest("router")]), path="/elsewhere")
    assert (alone.status_code, alone.text, alone.headers["content-type"]) == (200, "hello world", "text/plain")
    passed = ask(with_middlewares([published_guest("router")]), path="/host/a")
    assert (passed.status_code, passed.text) == (201, "next")


def test_redact_hides_a_secret_both_ways() -> None:
    document = with_middlewares([published_guest("redact")], handler(ECHO, memory="3"), config="open sesame")
    answer = ask(document, "POST", content=b"hello open sesame world")
    assert (answer.status_code, answer.text) == (200, "hello ########### world")


def test_redact_without_a_secret_does_not_start() -> None:
    with pytest.raises(Exception, match="redact"):
        ask(with_middlewares([published_guest("redact")]))


def test_log_reaches_our_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert ask(with_middlewares([published_guest("log")])).status_code == 201
    assert any("hello world" in record.getMessage() for record in caplog.records)


def test_config_reads_features_and_starts() -> None:
    nothing = "\0" * 8
    assert ask(with_middlewares([published_guest("config")], config=nothing)).status_code == 201


def test_wasi_prints_the_exchange(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        answer = ask(with_middlewares([published_guest("wasi")]), "POST", "/v1.0/hi?name=panda", content=b"{}")
    assert answer.status_code == 201
    logged = "\n".join(record.getMessage() for record in caplog.records)
    assert "POST /v1.0/hi?name=panda HTTP/1.1" in logged
