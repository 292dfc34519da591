"""Gate of the console: ASGI middleware that lets requests in by origin, credentials and rights.

The Host field is checked before, by the server (server/allowed_hosts.py). Files of the page are for everybody who
reaches the port: they have no data. Every answer with data, and every action, needs a viewer.
"""

from __future__ import annotations

import hmac
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import orjson
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from kubewasp.console.authorities import AccessUnknownError, is_token, token_key
from kubewasp.console.sessions import Sessions
from kubewasp.console.sign_in import SIGN_IN, SIGN_OUT, SignIn
from kubewasp.console.viewer import Viewer, note_viewer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from kubewasp.clock import Clock
    from kubewasp.console.authorities import Authority, Grant

# The page itself; all other paths are of the API.
_PAGE: Final = ("/", "/console")
_PAGE_FILES: Final = "/console/"
_DATA_CHANGES_NOTHING: Final = frozenset(("GET", "HEAD"))
_OWN_SITES: Final = frozenset(("same-origin", "none"))
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # without any, forms of the page would have the origin `null`
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


class Refusal(Exception):  # noqa: N818 - an answer
    """Request that is not let in: status, text, and what to do."""

    def __init__(self, status: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint


class ConsoleGate:
    """Middleware around an app with the paths of the console."""

    def __init__(self, app: ASGIApp, authority: Authority, clock: Clock, *, is_secure: bool) -> None:
        """`is_secure`: served by HTTPS."""
        self._app = app
        self._authority = authority
        self._sessions = Sessions(clock, is_secure=is_secure)
        self._sign_in = SignIn(authority, self._sessions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        request = Request(scope, receive)
        try:
            response = await self._answered_here(request)
        except Refusal as refusal:
            response = _refused(refusal)
        except ClientDisconnect:
            return
        await (response or self._app)(scope, receive, send_guarded)

    async def _answered_here(self, request: Request) -> Response | None:
        """The answer of the gate itself; None for a request that is let in."""
        path = request.scope["path"]
        is_page = path in _PAGE or path.startswith(_PAGE_FILES)
        _check_origin(request, is_page=is_page)
        if path in (SIGN_IN, SIGN_OUT):
            return await self._sign_in.respond(request)
        is_action = request.method not in _DATA_CHANGES_NOTHING
        if is_page and not is_action:
            return None
        viewer = await self._viewer(request)
        if is_action:
            _check_action(request, viewer)
        note_viewer(request.scope, viewer)
        return None

    async def _viewer(self, request: Request) -> Viewer:
        token, holder, is_signed_in = self._credential(request)
        try:
            grant = await self._authority.grant(token)
        except AccessUnknownError as error:
            raise Refusal(503, str(error)) from None
        return _viewer(grant, self._sessions.csrf(holder), is_signed_in=is_signed_in)

    def _credential(self, request: Request) -> tuple[str, str, bool]:
        """Token of a request, the holder of its CSRF token, and whether it has a session."""
        if not self._authority.asks:
            return "", "local", False
        hint = f"send a token as `Authorization: Bearer …`, or sign in at {SIGN_IN}"
        given = request.headers.getlist("authorization")
        if given:
            scheme, _, token = given[0].partition(" ")
            token = token.strip()
            if len(given) > 1 or scheme.lower() != "bearer" or not is_token(token):
                raise Refusal(401, "expected one bearer token", hint)
            return token, f"token {token_key(token).hex()}", False
        key = request.cookies.get(self._sessions.cookie_name, "")
        session = self._sessions.find(key) if key else None
        if session is None:
            raise Refusal(401, "the session has ended" if key else "not signed in", hint)
        return session.token, f"session {session.key}", True


def _viewer(grant: Grant | None, csrf: str, *, is_signed_in: bool) -> Viewer:
    if grant is None:
        raise Refusal(401, "this token is not valid", f"sign in again at {SIGN_IN}")
    if not grant.may_view:
        raise Refusal(403, f"{grant.name} may not view the console", "it needs `get` of the non-resource URL /console")
    return Viewer(grant.name, grant.may_act, csrf, is_signed_in)


def _check_origin(request: Request, *, is_page: bool) -> None:
    """Refuses requests that another site makes a browser send; a link to the page is fine."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
    is_link = is_page and origin is None and request.method in _DATA_CHANGES_NOTHING
    if site not in _OWN_SITES and not is_link:
        raise Refusal(403, "not for pages of other sites")
    if origin is not None and not _is_own(origin, request.headers.get("host", "")):
        raise Refusal(403, "not for pages of other sites")


def _is_own(origin: str, host: str) -> bool:
    try:
        return bool(host) and urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def _check_action(request: Request, viewer: Viewer) -> None:
    given = request.headers.get("x-csrf-token", "")
    if not hmac.compare_digest(given.encode(), viewer.csrf.encode()):
        raise Refusal(403, "no valid X-CSRF-Token", "the token is `csrf` in /api/v1/session")
    if not viewer.may_act:
        raise Refusal(403, f"{viewer.name} may look, but not act", "docs/console.md#access")


def _refused(refusal: Refusal) -> Response:
    error = {"code": refusal.status, "message": refusal.message, "hint": refusal.hint}
    headers = {"Cache-Control": "no-store"}
    if refusal.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="kubewasp console"'
    elif refusal.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = "2"
    return Response(orjson.dumps({"error": error}), refusal.status, headers, "application/json")
