"""Requests to an ASGI app, without a network."""

import asyncio
from typing import Any

import httpx
from starlette.types import ASGIApp


class Client:
    """`host` is where the questions come from."""

    def __init__(self, app: ASGIApp, host: str = "127.0.0.1") -> None:
        self._app = app
        self._host = host

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.ask("GET", path, **more)

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(self._app, raise_app_exceptions=False, client=(self._host, 50_000))
            async with httpx.AsyncClient(transport=transport, base_url="http://kubewasp") as client:
                return await client.request(method, path, **more)

        return asyncio.run(asked())
