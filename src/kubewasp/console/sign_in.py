"""Sign-in form: exchanges a token for a cookie, so that no page's script ever has the token."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, RedirectResponse, Response

from kubewasp.console.authorities import AccessUnknownError, is_token

if TYPE_CHECKING:
    from starlette.requests import Request

    from kubewasp.console.authorities import Authority
    from kubewasp.console.sessions import Sessions

SIGN_IN: Final = "/console/sign-in"
SIGN_OUT: Final = "/console/sign-out"
HOME: Final = "/console/"
_MOST_BODY: Final = 32 * 1024
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
_PAGE: Final = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in – kubewasp</title><link rel="stylesheet" href="style.css"></head>
<body><main>
<h1>kubewasp console</h1>
<form method="post" action="{action}">
<p><label for="token">Token</label><br>
<input id="token" name="token" type="password" autocomplete="off" required autofocus size="60"
 aria-describedby="about{described}"></p>
<p id="about">{about}</p>
{problem}<p><button type="submit">Sign in</button></p>
</form>
</main></body></html>
"""


class SignIn:
    """Answers to the two paths."""

    def __init__(self, authority: Authority, sessions: Sessions) -> None:
        self._authority = authority
        self._sessions = sessions

    async def respond(self, request: Request) -> Response:
        """GET shows the form, POST uses it. The origin of the request has been checked."""
        if not self._authority.asks:
            return RedirectResponse(HOME, 303)
        if request.scope["path"] == SIGN_OUT:
            return self._signed_out(request)
        return await self._signed_in(request) if request.method == "POST" else self._form()

    def _signed_out(self, request: Request) -> Response:
        if request.method != "POST":
            return RedirectResponse(SIGN_IN, 303)
        self._sessions.end(request.cookies.get(self._sessions.cookie_name, ""))
        return RedirectResponse(SIGN_IN, 303, headers={"Set-Cookie": self._sessions.cookie(None)})

    async def _signed_in(self, request: Request) -> Response:
        token = await _token_of_form(request)
        if token is None:
            return self._form("Expected a form with a token.", 400)
        try:
            grant = await self._authority.grant(token) if is_token(token) else None
        except AccessUnknownError as error:
            return self._form(str(error), 503)
        if grant is None:
            return self._form("This token is not valid.", 401)
        if not grant.may_view:
            return self._form(f"{grant.name} may not view the console.", 403)
        cookie = self._sessions.cookie(self._sessions.begin(token))
        return RedirectResponse(HOME, 303, headers={"Set-Cookie": cookie})

    def _form(self, problem: str = "", status: int = 200) -> Response:
        shown = f'<p id="problem" role="alert">{html.escape(problem)}</p>\n' if problem else ""
        page = _PAGE.format(
            action=SIGN_IN,
            about=html.escape(self._authority.sign_in),
            problem=shown,
            described=" problem" if problem else "",
        )
        return HTMLResponse(page, status, headers=_HEADERS)


async def _token_of_form(request: Request) -> str | None:
    """The field of the form; None if there is no such form."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        return None
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _MOST_BODY:
            return None
    try:
        found = parse_qs(body.decode("ascii"), max_num_fields=4).get("token", [])
    except ValueError:
        return None
    return found[0].strip() if len(found) == 1 else None
