"""Implementation of `kubewasp http serve` and `kubewasp http routes`."""

from __future__ import annotations

import asyncio
import logging
import math
import signal
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kubewasp.cli.output import print_document, print_table
from kubewasp.input_file import StandardInput
from kubewasp.server import logs
from kubewasp.server.connection_table import HttpLimits
from kubewasp.server.endpoints import create_app as create_operations_app
from kubewasp.server.health import Health
from kubewasp.server.http_server import Address, AppServer
from kubewasp.server.rollout_endpoints import reload_routes
from kubewasp.web import ResponseAbortedError, create_app, load_web_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from kubewasp.input_file import InputFile
    from kubewasp.web import WebApp, WebConfig
    from kubewasp.web.handler_table import HandlerTable
    from kubewasp.web.web_config import GuestConfig, Listen, RouteConfig

logger = logging.getLogger(__name__)
# Bursts of connections.
_BACKLOG = 4096
_GRACE_SECONDS = 30


def serve(path: InputFile, listen: tuple[str, int] | None, log_format: logs.LogFormat, verbosity: int) -> None:
    """Serves until SIGTERM or SIGINT."""
    logs.configure(log_format, verbosity)
    read, is_file = partial(_configured, path, listen), not isinstance(path, StandardInput)
    config = read()
    asyncio.run(_serve(config, read if is_file else lambda: config, str(path) if is_file else ""))


def _configured(path: InputFile, listen: tuple[str, int] | None) -> WebConfig:
    config = load_web_config(path)
    if listen is None:
        return config
    host, port = listen
    return replace(config, listen=replace(config.listen, host=host, port=port))


def show_routes(path: InputFile, *, form: str) -> None:
    """Prints the routes, after loading the guests as a check."""
    config = load_web_config(path)
    app = create_app(replace(config, reload_seconds=0))
    app.close()
    if form != "table":
        print_document(_document(app.table), form)
        return
    rows = [
        (route.shown, ",".join(route.methods) or "*", " → ".join(route.middlewares) or "-", _handler(route, app.table))
        for route in config.routes
    ]
    print_table(("PATH", "METHODS", "MIDDLEWARES", "HANDLER"), rows)


async def _serve(config: WebConfig, read: Callable[[], WebConfig], file: str) -> None:
    app = create_app(config, read=read, file=file)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    loop.add_signal_handler(signal.SIGHUP, app.reloader.reload, "SIGHUP")
    hosts = config.allowed_hosts
    servers = [
        AppServer(
            _without_aborted(app),
            _address(config.listen),
            limits=HttpLimits(requests=config.connections),
            allowed_hosts=hosts,
            trusted_proxies=config.trusted_proxies,
            reserved_paths=(),  # health has its own listener; here, its paths belong to guests
            backlog=_BACKLOG,
            grace_seconds=_GRACE_SECONDS,
        )
    ]
    if config.operations is not None:
        operations = _operations_app(app, stopping)
        servers.append(AppServer(operations, _address(config.operations), allowed_hosts=hosts))
    started: list[AppServer] = []
    try:
        for server, subject in zip(servers, ("requests", "health and metrics"), strict=False):
            await server.start()
            started.append(server)
            logger.info("Started serving %s", subject, extra={"url": server.url})
        await stopping.wait()
        logger.info("Shutting down after requests in progress", extra={"graceSeconds": _GRACE_SECONDS})
    finally:
        for server in started:
            await server.stop()
        app.close()


def _without_aborted(app: WebApp) -> ASGIApp:
    """Suppresses ResponseAbortedError, which the app has logged; the server closes the connection anyway."""

    async def serve_one(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(ResponseAbortedError):
            await app(scope, receive, send)

    return serve_one


def _operations_app(app: WebApp, stopping: asyncio.Event) -> ASGIApp:
    health = Health()
    health.add("shutdown", lambda: "process is shutting down" if stopping.is_set() else "", to=("readyz",))
    shown = lambda: _document(app.table)  # noqa: E731
    return create_operations_app(health, app.metrics, shown, routes=reload_routes(app.reloader))


def _address(listen: Listen) -> Address:
    return Address(listen.host, listen.port, listen.certificate, listen.key)


def _handler(route: RouteConfig, table: HandlerTable) -> str:
    if route.respond is not None:
        return f"respond {route.respond.status}"
    return f"{route.handler} ({table.guests[route.handler].style})"


def _document(table: HandlerTable) -> dict[str, Any]:
    """JSON form of a configuration, without possible secrets: variables and configurations of guests."""
    config = table.config
    return {
        "guests": [
            {"name": guest.name, "file": guest.place, "style": table.guests[guest.name].style, "reuse": _reuse(guest)}
            for guest in config.guests.values()
        ],
        "routes": [
            {
                "path": route.path,
                "prefix": route.is_prefix,
                "methods": list(route.methods),
                "middlewares": list(route.middlewares),
                "handler": route.handler or None,
                "respond": route.respond.status if route.respond else None,
            }
            for route in config.routes
        ],
    }


def _reuse(guest: GuestConfig) -> bool | int:
    """As in the file: false, a number, or true."""
    return guest.reuse > 1 if guest.reuse in (1, math.inf) else int(guest.reuse)
