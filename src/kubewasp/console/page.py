"""Placeholder of the page: a list of the API's answers, until the page itself is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

_PAGE = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>kubewasp</title></head><body>{}</body></html>'
)


def page_routes(*, root: bool = False) -> list[BaseRoute]:
    """Routes of the page below `/console/`; `root` redirects from `/`."""

    async def redirect(_request: Request) -> Response:
        return RedirectResponse("/console/")

    async def page(_request: Request) -> Response:
        return HTMLResponse(_PAGE.format('<a href="/api/v1/overview">API</a>'))

    routes: list[BaseRoute] = [Route("/console/", page)]
    return [Route("/", redirect), *routes] if root else routes


def inline_page(documents: Mapping[str, Any]) -> str:
    """One HTML file with the answers of the API by their address."""
    answers = orjson.dumps(documents).decode().replace("<", "\\u003c")
    return _PAGE.format(f'<script type="application/json" id="kubewasp-answers">{answers}</script>')
