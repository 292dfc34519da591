"""Requests to the ASGI app, without a server."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from kubewasp.web import WebApp, create_app, read_web_config

# Header of a body without content-length.
CHUNKED = [(b"transfer-encoding", b"chunked")]


# Default of every guest: a busy machine must not turn another result into a timeout.
PATIENT = {"timeout": "10m", "startTimeout": "10m", "clientTimeout": "10m"}


def app_of(document: dict[str, Any]) -> WebApp:
    """The app for a configuration, without reloading and with long timeouts by default."""
    guests = {
        name: {**guest, "limits": PATIENT | guest.get("limits", {})}
        for name, guest in document.get("guests", {}).items()
    }
    return create_app(read_web_config({"reload": "0", **document, "guests": guests}))


def one_handler(file: Path, style: str = "module", **settings: Any) -> dict[str, Any]:
    """Everything goes to one guest."""
    return {
        "guests": {"main": {"file": str(file), "style": style, **settings}},
        "routes": [{"prefix": "/", "handler": "main"}],
    }


def with_middlewares(files: Iterable[Path], handler: Path | None = None, **settings: Any) -> dict[str, Any]:
    """Middlewares before a handler, or before the fixed response `next`."""
    guests: dict[str, Any] = {
        f"middleware{index}": {"file": str(file), "style": "http-wasm", **settings} for index, file in enumerate(files)
    }
    route: dict[str, Any] = {"prefix": "/", "middlewares": list(guests)}
    if handler is None:
        route["respond"] = {"status": 201, "headers": {"x-from": "handler"}, "body": "next"}
    else:
        guests["main"] = {"file": str(handler), "style": "module"}
        route["handler"] = "main"
    return {"guests": guests, "routes": [route]}


@asynccontextmanager
async def client_of(app: WebApp) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=("192.0.2.1", 1234))
    async with httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60) as client:
        yield client


def ask(document: dict[str, Any], method: str = "GET", path: str = "/", **settings: Any) -> httpx.Response:
    """One request to a fresh app."""

    async def run() -> httpx.Response:
        app = app_of(document)
        try:
            async with client_of(app) as client:
                return await client.request(method, path, **settings)
        finally:
            app.close()

    return asyncio.run(run())
