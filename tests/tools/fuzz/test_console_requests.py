"""Fuzz target of the console: seeds, changed seeds, and what counts as a finding."""

import random
import re

import pytest

from tools.fuzz.targets import console_requests
from tools.fuzz.targets.console_requests import TOKEN, one, seeds

WORDS = [b"%00", b"/", b"..", b"=", b"&", b"\xff", b"Bearer ", b"0", b"9" * 20, b";", b":", b"\r\n", b"?"]


def test_requests_of_pages_and_programs_are_answered() -> None:
    labels = {one(seed) for seed in seeds()}
    assert {"GET 200 401", "GET 200 200", "POST 303 303", "POST 403 401"} <= labels
    assert "no request" not in labels


def test_changed_requests_are_answered_or_refused() -> None:
    dice, corpus = random.Random(20261118), list(seeds())
    for _ in range(300):
        data = bytearray(dice.choice(corpus))
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(data))
            data[at : at + dice.randint(0, 3)] = dice.choice(WORDS)
        one(bytes(data))


def test_an_answer_without_a_token_would_be_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_requests, "_PAGE", re.compile("nothing"))
    with pytest.raises(AssertionError, match="an answer without a token"):
        one(b"GET /console/app.js\r\nHost: localhost\r\n\r\n")


def test_the_token_gives_data() -> None:
    request = b"GET /api/v1/overview\r\nHost: localhost\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n\r\n"
    assert one(request) == "GET 200 200"
