"""Fuzz target of the HTTP server: its seeds and fixed changes of them."""

import random
from collections.abc import Iterator

import pytest

from tools.fuzz.targets.http_heads import HttpHeads, fuzz_one, seeds


@pytest.fixture(scope="module")
def target() -> Iterator[HttpHeads]:
    with HttpHeads() as made:
        yield made


@pytest.mark.parametrize("seed", list(seeds()), ids=lambda seed: repr(seed[:60]))
def test_a_seed_is_answered_or_refused(target: HttpHeads, seed: bytes) -> None:
    target.check(seed)
    target.check(seed[: len(seed) // 2])


def test_changed_seeds_are_answered_or_refused(target: HttpHeads) -> None:
    chance = random.Random(20261116)
    corpus = list(seeds())
    for _ in range(300):
        data = bytearray(chance.choice(corpus))
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(data))
            data[at : at + chance.randint(0, 3)] = chance.choice([b"", b"\r", b"\n", b"\r\n", b" ", b"\0", b":", b"5"])
        target.check(bytes(data) + chance.choice(corpus))


def test_a_response_too_many_would_be_found(target: HttpHeads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.fuzz.targets.http_heads._framed", lambda data: (0, False))
    with pytest.raises(AssertionError, match="1 responses to 0 requests"):
        target.check(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 1\r\n\r\na\r\n\r\n")


def test_one_input_without_further_set_up() -> None:
    fuzz_one(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
