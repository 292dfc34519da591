"""Authorities of the console: open access, tokens of files, reviews by an API server."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from kubewasp.console.authorities import (
    AccessUnknownError,
    ConsoleAccessError,
    Grant,
    OpenAuthority,
    TokenAuthority,
    is_token,
    new_token,
    token_of_file,
)
from kubewasp.console.kubernetes_authority import KubernetesAuthority
from tests.apiserver.fake_server import Answer, FakeServer, Request, status_answer
from tests.apiserver.running import FakeClock, asynchronous, client_of

REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
RIGHTS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
ANNA = {"username": "anna", "uid": "7", "groups": ["team"], "extra": {"scopes": ["view"]}}


def json_answer(document: dict[str, Any]) -> Answer:
    return Answer(orjson.dumps(document), 201, content_type="application/json")


def known(request: Request) -> Answer:
    token = orjson.loads(request.body)["spec"]["token"]
    return json_answer({"status": {"authenticated": token == "good", "user": ANNA if token == "good" else {}}})


def may(*verbs: str) -> Callable[[Request], Answer]:
    def answer(request: Request) -> Answer:
        asked = orjson.loads(request.body)["spec"]["nonResourceAttributes"]
        return json_answer({"status": {"allowed": asked["path"] == "/console" and asked["verb"] in verbs}})

    return answer


def test_open_access_is_for_everybody() -> None:
    grant = asyncio.run(OpenAuthority().grant(""))
    assert grant == Grant("local", may_act=True)


def test_a_token_lets_look_and_another_one_act() -> None:
    authority = TokenAuthority("v" * 20, "a" * 20)
    assert asyncio.run(authority.grant("v" * 20)) == Grant("token", may_act=False)
    assert asyncio.run(authority.grant("a" * 20)) == Grant("action token", may_act=True)
    for wrong in ("", "v" * 19, "v" * 21, "x"):
        assert asyncio.run(authority.grant(wrong)) is None


def test_one_token_for_both_is_refused() -> None:
    with pytest.raises(ConsoleAccessError, match="two different ones"):
        TokenAuthority("v" * 20, "v" * 20)


def test_a_token_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("  0123456789abcdefghij\n")
    assert token_of_file(file) == "0123456789abcdefghij"


@pytest.mark.parametrize("content", [b"", b"short", b"two words of some length", "ä".encode() * 30, b"a" * 20_000])
def test_a_file_without_a_good_token_is_refused_and_not_shown(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(ConsoleAccessError, match="expected a token of 20") as caught:
        token_of_file(file)
    assert "words" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConsoleAccessError, match="token: cannot be read: No such file"):
        token_of_file(tmp_path / "token")


def test_made_tokens_differ_and_have_the_form_of_tokens() -> None:
    assert is_token(new_token())
    assert new_token() != new_token()


@asynchronous
async def test_a_cluster_knows_name_and_rights_of_a_token() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.always("POST", REVIEWS, known)
        server.always("POST", RIGHTS, may("get"))
        assert await KubernetesAuthority(client, FakeClock()).grant("good") == Grant("anna", may_act=False)
        spec = orjson.loads(server.requests[1].body)["spec"]
        assert (spec["user"], spec["uid"], spec["groups"], spec["extra"]) == (
            "anna",
            "7",
            ["team"],
            {"scopes": ["view"]},
        )
        server.always("POST", RIGHTS, may("get", "update"))
        assert await KubernetesAuthority(client, FakeClock()).grant("good") == Grant("anna", may_act=True)
        server.always("POST", RIGHTS, may("update"))
        refused = await KubernetesAuthority(client, FakeClock()).grant("good")
        assert refused == Grant("anna", may_view=False, may_act=False)


@asynchronous
async def test_an_unknown_token_has_no_rights_and_no_second_question() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.always("POST", REVIEWS, known)
        assert await KubernetesAuthority(client, FakeClock()).grant("bad") is None
        assert [request.path for request in server.requests] == [REVIEWS]


@asynchronous
async def test_verdicts_are_kept_for_a_short_time() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.always("POST", REVIEWS, known)
        server.always("POST", RIGHTS, may("get"))
        clock = FakeClock()
        authority = KubernetesAuthority(client, clock)
        await asyncio.gather(*(authority.grant("good") for _ in range(20)))
        assert len(server.requests) == 3
        clock.time += 29
        await authority.grant("good")
        assert len(server.requests) == 3
        clock.time += 2
        server.always("POST", REVIEWS, json_answer({"status": {"authenticated": False}}))
        assert await authority.grant("good") is None
        assert len(server.requests) == 4


@asynchronous
async def test_a_scheduler_without_the_right_to_ask_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.always("POST", REVIEWS, status_answer(403, "Forbidden", "tokenreviews is forbidden"))
        authority = KubernetesAuthority(client, FakeClock())
        with pytest.raises(AccessUnknownError, match="see the scheduler's log"):
            await authority.grant("s3cret-token")
        (record,) = (record for record in caplog.records if "Console access" in record.message)
        assert "`create` of tokenreviews and subjectaccessreviews" in record.__dict__["err"]
        assert "s3cret" not in caplog.text + str(record.__dict__)


@asynchronous
async def test_an_answer_that_makes_no_sense_gives_no_rights() -> None:
    async with FakeServer() as server, client_of(server) as client:
        for body in (b"", b"[]", b"{}", b'{"status": []}', b'{"status": {"authenticated": "true", "user": {}}}'):
            server.always("POST", REVIEWS, Answer(body, 201, content_type="application/json"))
            assert await KubernetesAuthority(client, FakeClock()).grant("good") is None


@asynchronous
async def test_a_flood_of_wrong_tokens_is_refused_and_does_not_delay_a_known_one() -> None:
    async with FakeServer() as server, client_of(server) as client:
        server.always("POST", REVIEWS, known)
        server.always("POST", RIGHTS, may("get"))
        clock = FakeClock()
        authority = KubernetesAuthority(client, clock)
        assert await authority.grant("good") is not None
        clock.time += 31
        flood = [asyncio.create_task(authority.grant(f"wrong-{number}")) for number in range(40)]
        await asyncio.sleep(0)
        assert await authority.grant("good") is not None
        found = await asyncio.gather(*flood, return_exceptions=True)
        assert sum(isinstance(item, AccessUnknownError) for item in found) == 24
