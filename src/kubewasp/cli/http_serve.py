"""Implementation of `kubewasp http serve` and `kubewasp http routes`."""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import signal
from contextlib import suppress
from dataclasses import dataclass, replace
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
    import socket
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from kubewasp.input_file import InputFile
    from kubewasp.web import WebApp, WebConfig
    from kubewasp.web.handler_table import HandlerTable
    from kubewasp.web.web_config import GuestConfig, Listen, RouteConfig

logger = logging.getLogger(__name__)
# Bursts of connections.
BACKLOG = 4096
GRACE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options of the command line; `listen` and `workers` replace those of the file."""

    listen: tuple[str, int] | None = None
    workers: int | None = None
    log_format: logs.LogFormat = "text"
    verbosity: int = 0


def serve(path: InputFile, options: ServeOptions) -> None:
    """Serves until SIGTERM or SIGINT."""
    logs.configure(options.log_format, options.verbosity)
    read, is_file = partial(configured, path, options), not isinstance(path, StandardInput)
    config = read()
    if config.workers > 1:
        from kubewasp.cli import http_supervisor

        asyncio.run(http_supervisor.supervise(path, config, options))
        return
    asyncio.run(_serve(config, read if is_file else lambda: config, str(path) if is_file else ""))


def configured(path: InputFile, options: ServeOptions) -> WebConfig:
    """The configuration in a file, with the options."""
    config = load_web_config(path)
    if options.workers is not None:
        config = replace(config, workers=options.workers)
    if options.listen is None:
        return config
    host, port = options.listen
    return replace(config, listen=replace(config.listen, host=host, port=port))


def show_routes(path: InputFile, *, form: str) -> None:
    """Prints the routes, after loading the guests as a check."""
    config = load_web_config(path)
    app = create_app(replace(config, reload_seconds=0))
    app.close()
    if form != "table":
        print_document(document(app.table), form)
        return
    rows = [
        (route.shown, ",".join(route.methods) or "*", " → ".join(route.middlewares) or "-", _handler(route, app.table))
        for route in config.routes
    ]
    print_table(("PATH", "METHODS", "MIDDLEWARES", "HANDLER"), rows)


async def _serve(config: WebConfig, read: Callable[[], WebConfig], file: str) -> None:
    app = create_app(config, read=read, file=file)
    stopping = stop_signals()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, app.reloader.reload, "SIGHUP")
    servers = [public_server(app, config)]
    if config.operations is not None:
        health = Health()
        health.add("shutdown", lambda: "process is shutting down" if stopping.is_set() else "", to=("readyz",))
        shown = lambda: document(app.table)  # noqa: E731
        operations = create_operations_app(health, app.metrics, shown, routes=reload_routes(app.reloader))
        servers.append(operations_server(operations, config.operations, config))
    started: list[AppServer] = []
    try:
        for server, subject in zip(servers, ("requests", "health and metrics"), strict=False):
            await server.start()
            started.append(server)
            log_start(subject, server.url)
        gc.freeze()  # the server and its guests are permanent: excluded from garbage collection
        await stopping.wait()
        log_shutdown()
    finally:
        for server in started:
            await server.stop()
        app.close()


def stop_signals() -> asyncio.Event:
    """Set by SIGTERM and Ctrl-C."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    return stopping


def log_start(subject: str, url: str) -> None:
    logger.info("Started serving %s", subject, extra={"url": url})


def log_shutdown() -> None:
    logger.info("Shutting down after requests in progress", extra={"graceSeconds": GRACE_SECONDS})


def public_server(app: WebApp, config: WebConfig, listening: socket.socket | None = None) -> AppServer:
    """Server of the routes. Workers share the number of requests in progress."""
    return AppServer(
        _without_aborted(app),
        address(config.listen),
        limits=HttpLimits(requests=-(-config.connections // config.workers)),
        allowed_hosts=config.allowed_hosts,
        trusted_proxies=config.trusted_proxies,
        reserved_paths=(),  # health has its own listener; here, its paths belong to guests
        backlog=BACKLOG,
        grace_seconds=GRACE_SECONDS,
        listening=listening,
        immediate=app.immediate,
    )


def operations_server(app: ASGIApp, listen: Listen, config: WebConfig) -> AppServer:
    return AppServer(app, address(listen), allowed_hosts=config.allowed_hosts)


def _without_aborted(app: WebApp) -> ASGIApp:
    """Suppresses ResponseAbortedError, which the app has logged; the server closes the connection anyway."""

    async def serve_one(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(ResponseAbortedError):
            await app(scope, receive, send)

    return serve_one


def address(listen: Listen) -> Address:
    return Address(listen.host, listen.port, listen.certificate, listen.key)


def _handler(route: RouteConfig, table: HandlerTable) -> str:
    if route.respond is not None:
        return f"respond {route.respond.status}"
    return f"{route.handler} ({table.guests[route.handler].style})"


def document(table: HandlerTable) -> dict[str, Any]:
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
