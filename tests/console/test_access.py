"""Gate of the console: origins, credentials, sessions, CSRF tokens and rights."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from kubewasp.console.access import ConsoleGate
from kubewasp.console.authorities import AccessUnknownError, Authority, Grant, OpenAuthority, TokenAuthority
from kubewasp.console.sessions import LIFETIME, Sessions
from kubewasp.console.viewer import viewer_of
from kubewasp.simulation.embedded_cluster import SimulatedClock

LOOK, ACT = "l" * 24, "a" * 24
HOST = "console.example"


async def session(request: Request) -> Response:
    viewer = viewer_of(request.scope)
    return JSONResponse({"name": viewer.name, "csrf": viewer.csrf, "actions": viewer.may_act})


async def page(_: Request) -> Response:
    return PlainTextResponse("page")


APP = Starlette(
    routes=[
        Route("/console/", page),
        Route("/console/app.js", page),
        Route("/api/v1/session", session),
        Route("/api/v1/plugins/{name}/promote", page, methods=["POST"]),
    ]
)


class Browser:
    """Requests with cookies, as from one page."""

    def __init__(self, authority: Authority, clock: SimulatedClock | None = None, *, is_secure: bool = True) -> None:
        self.gate = ConsoleGate(APP, authority, clock or SimulatedClock(), is_secure=is_secure)
        self.cookies = httpx.Cookies()
        self._base = f"{'https' if is_secure else 'http'}://{HOST}"

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(self.gate)
            async with httpx.AsyncClient(
                transport=transport, base_url=self._base, cookies=self.cookies, follow_redirects=False
            ) as client:
                answer = await client.request(method, path, **more)
                self.cookies = client.cookies
                return answer

        return asyncio.run(asked())

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        return self.ask("GET", path, headers=headers)

    def sign_in(self, token: str) -> httpx.Response:
        origin = {"Origin": self._base, "Sec-Fetch-Site": "same-origin"}
        return self.ask("POST", "/console/sign-in", data={"token": token}, headers=origin)

    def promote(self, **headers: str) -> httpx.Response:
        return self.ask("POST", "/api/v1/plugins/p/promote", headers=headers)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def tokens(**more: Any) -> Browser:
    return Browser(TokenAuthority(LOOK, ACT), **more)


class Unknown:
    asks = True
    sign_in = ""

    async def grant(self, token: str) -> Grant | None:
        if token == LOOK:
            return Grant("<b>anna</b>", may_view=False)
        raise AccessUnknownError("nobody knows")


def test_on_loopback_nobody_is_asked() -> None:
    browser = Browser(OpenAuthority(), is_secure=False)
    found = browser.get("/api/v1/session").json()
    assert (found["name"], found["actions"]) == ("local", True)
    assert browser.get("/console/").text == "page"
    assert browser.get("/console/sign-in").headers["location"] == "/console/"


def test_without_a_token_there_is_no_data() -> None:
    answer = tokens().get("/api/v1/session")
    assert answer.status_code == 401
    assert answer.json()["error"]["hint"].endswith("sign in at /console/sign-in")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/api/v1/session", "/API/v1/session", "//api/v1/session", "/other", "/api"])
def test_every_path_but_those_of_the_page_needs_a_credential(path: str) -> None:
    assert tokens().get(path).status_code == 401


def test_files_of_the_page_need_no_credential() -> None:
    browser = tokens()
    assert browser.get("/console/app.js").text == "page"
    assert browser.get("/console/").text == "page"
    assert browser.get("/console/", {"Sec-Fetch-Site": "cross-site"}).text == "page"


@pytest.mark.parametrize(
    "value",
    ["Bearer", "Bearer ", f"Basic {LOOK}", LOOK, "Bearer ä", "Bearer a b", f"Bearer {LOOK}x", "Bearer " + "a" * 20_000],
)
def test_other_credentials_are_refused(value: str) -> None:
    answer = tokens().ask("GET", "/api/v1/session", headers=[("Authorization", value.encode("latin-1"))])
    assert answer.status_code == 401
    assert LOOK not in answer.text


def test_two_credentials_are_refused() -> None:
    twice = [("Authorization", f"Bearer {LOOK}")] * 2
    assert tokens().ask("GET", "/api/v1/session", headers=twice).status_code == 401


def test_a_bearer_token_is_a_credential() -> None:
    assert tokens().get("/api/v1/session", bearer(LOOK)).json()["name"] == "token"


def test_the_form_gives_a_cookie_that_no_script_can_read() -> None:
    browser = tokens()
    assert "default-src 'none'" in browser.get("/console/sign-in").headers["content-security-policy"]
    answer = browser.sign_in(LOOK)
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-kubewasp-console=")
    assert {"Path=/", "HttpOnly", "SameSite=Strict", "Secure"} <= set(cookie.split("; "))
    assert LOOK not in cookie
    assert browser.get("/api/v1/session").json()["name"] == "token"
    assert browser.get("/console/").text == "page"


@pytest.mark.parametrize("token", ["", "x", "ä", LOOK + "x", "a b"])
def test_the_form_refuses_other_tokens(token: str) -> None:
    answer = tokens().sign_in(token)
    assert answer.status_code in (400, 401)
    assert "set-cookie" not in answer.headers


def test_the_form_takes_one_small_form() -> None:
    browser = tokens()
    for more in (
        {"data": {"token": "a" * 40_000}},
        {"json": {"token": LOOK}},
        {"data": {"token": [LOOK, LOOK]}},
        {"data": {"token": LOOK, **{str(number): "" for number in range(9)}}},
    ):
        assert browser.ask("POST", "/console/sign-in", **more).status_code == 400


def test_a_token_that_cannot_be_checked_or_has_no_right_is_explained() -> None:
    browser = Browser(Unknown())
    assert browser.sign_in("x" * 20).status_code == 503
    assert "nobody knows" in browser.sign_in("x" * 20).text
    refused = browser.sign_in(LOOK)
    assert refused.status_code == 403
    assert "&lt;b&gt;anna&lt;/b&gt; may not view" in refused.text
    assert browser.get("/api/v1/session", bearer("x" * 20)).status_code == 503
    assert "`get` of the non-resource URL /console" in browser.get("/api/v1/session", bearer(LOOK)).text


def test_a_session_ends() -> None:
    clock = SimulatedClock()
    browser = tokens(clock=clock)
    browser.sign_in(LOOK)
    clock.advance_to(LIFETIME + 1)
    assert "the session has ended" in browser.get("/api/v1/session").text
    browser.sign_in(LOOK)
    kept = dict(browser.cookies)
    answer = browser.ask("POST", "/console/sign-out")
    assert "Max-Age=0" in answer.headers["set-cookie"]
    browser.cookies = httpx.Cookies(kept)
    assert browser.get("/api/v1/session").status_code == 401


def test_nothing_is_signed_out_by_a_link() -> None:
    browser = tokens()
    browser.sign_in(LOOK)
    assert browser.get("/console/sign-out").status_code == 303
    assert browser.get("/api/v1/session").status_code == 200


def test_the_number_of_sessions_is_bounded() -> None:
    sessions = Sessions(SimulatedClock(), is_secure=True)
    first, second = sessions.begin("one"), sessions.begin("two")
    for _ in range(998):
        sessions.begin("more")
    assert sessions.find(first.key) is not None
    sessions.begin("more")
    assert sessions.find(second.key) is None
    assert sessions.find(first.key) is not None
    assert "one" not in repr(first)


def test_an_action_needs_the_right_and_the_token_of_the_session() -> None:
    browser = tokens()
    browser.sign_in(ACT)
    csrf = browser.get("/api/v1/session").json()["csrf"]
    assert browser.promote().status_code == 403
    assert browser.promote(**{"X-CSRF-Token": "0" * 64}).status_code == 403
    assert browser.promote(**{"X-CSRF-Token": csrf}).text == "page"
    other = Browser(TokenAuthority(LOOK, ACT))
    other.gate = browser.gate
    other.sign_in(ACT)
    assert other.promote(**{"X-CSRF-Token": csrf}).status_code == 403


def test_who_may_only_look_may_not_act() -> None:
    browser = tokens()
    browser.sign_in(LOOK)
    found = browser.get("/api/v1/session").json()
    assert found["actions"] is False
    answer = browser.promote(**{"X-CSRF-Token": found["csrf"]})
    assert answer.status_code == 403
    assert answer.json()["error"]["message"] == "token may look, but not act"


def test_an_action_on_loopback_needs_a_csrf_token_as_well() -> None:
    browser = Browser(OpenAuthority(), is_secure=False)
    csrf = browser.get("/api/v1/session").json()["csrf"]
    assert browser.promote().status_code == 403
    assert browser.promote(**{"X-CSRF-Token": csrf}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://[::bad"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "same-origin", "Origin": f"https://{HOST}:8443"},
    ],
)
def test_pages_of_other_sites_get_nothing_and_do_nothing(headers: dict[str, str]) -> None:
    browser = Browser(OpenAuthority())
    csrf = browser.get("/api/v1/session").json()["csrf"]
    assert browser.get("/api/v1/session", headers).status_code == 403
    assert browser.promote(**headers, **{"X-CSRF-Token": csrf}).status_code == 403
    assert browser.ask("POST", "/console/sign-in", headers=headers).status_code == 403


def test_every_answer_forbids_embedding_and_guessing() -> None:
    for path in ("/console/app.js", "/api/v1/session", "/console/sign-in"):
        headers = tokens().get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cross-origin-resource-policy"] == "same-origin"


def test_tokens_are_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    browser = tokens()
    browser.sign_in(ACT)
    browser.sign_in("w" * 30)
    browser.get("/api/v1/session", bearer(LOOK))
    assert not {LOOK, ACT, "w" * 30} & set(caplog.text.split())
    assert LOOK not in caplog.text
    assert ACT not in caplog.text
