"""HTTP server for an ASGI app, on the running event loop, with limits for its clients."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import uvicorn

from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.errors import KubewaspError
from kubewasp.server.allowed_hosts import AllowedHosts
from kubewasp.server.connection_table import ConnectionTable, HttpLimits
from kubewasp.server.health import ENDPOINTS
from kubewasp.server.http_protocol import Guard
from kubewasp.server.immediate import forwarded
from kubewasp.server.limited_log import LimitedLog
from kubewasp.server.listener import Listener

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from starlette.types import ASGIApp

    from kubewasp.clock import Clock
    from kubewasp.server.immediate import Immediate

logger = logging.getLogger(__name__)
# Port of kube-scheduler.
DEFAULT_PORT: Final = 10259
HEALTH_PATHS: Final = tuple(f"/{endpoint}" for endpoint in ENDPOINTS)
_GRACE_SECONDS = 5
_MAX_PORT = 65535
_TICKS_PER_CHECK = 10  # of 0.1 s


class ServeError(KubewaspError):
    """Address or certificate that cannot be used; the text has the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class Address:
    """Listen address; port 0 is any free port. `certificate` and `key` (files) mean HTTPS, `client_ca` (a file)
    requires client certificates of that CA.

    kube-scheduler serves HTTPS on all interfaces, with a self-signed certificate, and authorizes readers of its metrics
    through the API server. Here the default is plain HTTP on loopback, reachable from this machine (this pod) only.
    Probes of a kubelet and scrapes of Prometheus need another address, with a certificate or a network policy. All
    endpoints are read-only and without secrets.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    certificate: str = ""
    key: str = ""
    client_ca: str = ""

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def host_and_port(text: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`; an IPv6 address is in brackets, an empty host means all interfaces."""
    host, colon, port = text.rpartition(":")
    if (
        not colon
        or not port.isdecimal()
        or len(port) > 5
        or int(port) > _MAX_PORT
        or (":" in host and host[:1] + host[-1:] != "[]")
    ):
        raise ServeError(f"cannot listen on {text!r}: expected HOST:PORT, such as 127.0.0.1:8888 or [::1]:8888")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104


class AppServer:
    """Server of one app, from `start` to `stop`."""

    def __init__(
        self,
        app: ASGIApp,
        address: Address,
        *,
        limits: HttpLimits | None = None,
        allowed_hosts: Sequence[str] = (),
        trusted_proxies: Sequence[str] = (),
        reserved_paths: Sequence[str] = HEALTH_PATHS,
        backlog: int = 128,
        grace_seconds: int = _GRACE_SECONDS,
        listening: socket.socket | None = None,
        immediate: Immediate | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`allowed_hosts`: beside loopback names, on loopback addresses; `*`: all.

        `trusted_proxies`: addresses and networks whose X-Forwarded-For and X-Forwarded-Proto count.
        `reserved_paths`: answered however many other requests are in progress.
        `backlog`: connections not yet accepted; `grace_seconds`: time for open requests at the end.
        `listening`: a socket of `listening_sockets` in place of a new one.
        `immediate`: asked first, for requests without a body.
        """
        self.address = address
        self._app = app
        self._limits = limits or HttpLimits()
        self._allowed_hosts = AllowedHosts([*allowed_hosts, address.host])
        self._trusted_proxies = list(trusted_proxies)
        self._reserved_paths = tuple(path.encode() for path in reserved_paths)
        self._backlog = backlog
        self._grace_seconds = grace_seconds
        self._listening = listening
        self._immediate = immediate
        self._clock = clock
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.address.certificate else 'http'}://{self.address}"

    async def start(self) -> None:
        """Starts the server; returns once it accepts requests. Raises ServeError."""
        config = self._config()
        listening = self._listening or _listening(self.address, self._backlog)
        self.address = replace(self.address, port=listening.getsockname()[1])
        guard = Guard(
            ConnectionTable(self._limits.within_open_files(), self._clock.now()),
            LimitedLog(logger, self._clock),
            self._allowed_hosts,
            self._reserved_paths,
            self._immediate and forwarded(self._immediate, self._trusted_proxies),
        )
        self._server = _Server(config, guard, self._clock)
        self._task = asyncio.create_task(self._server.serve(sockets=[listening]), name="kubewasp-serve")
        ready = asyncio.create_task(self._server.ready.wait())
        await asyncio.wait((self._task, ready), return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if self._task.done():
            listening.close()
            raise ServeError(f"cannot serve on {self.address}: {self._task.exception() or 'it ended immediately'}")
        self._task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Stops the server; open requests have `grace_seconds` to end."""
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            await asyncio.wait((self._task,))
            self._server = self._task = None

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            logger.error("HTTP server failed", extra={"url": self.url}, exc_info=task.exception())

    def _config(self) -> uvicorn.Config:
        address = self.address
        if bool(address.certificate) != bool(address.key):
            raise ServeError(f"cannot serve on {address}: HTTPS needs both a certificate and its key")
        if address.client_ca and not address.certificate:
            raise ServeError(f"cannot serve on {address}: client certificates need HTTPS: add a server certificate")
        config = uvicorn.Config(
            self._app,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            ws="none",
            proxy_headers=bool(self._trusted_proxies),
            forwarded_allow_ips=self._trusted_proxies,
            timeout_graceful_shutdown=self._grace_seconds,
            ssl_certfile=address.certificate or None,
            ssl_keyfile=address.key or None,
            ssl_ca_certs=address.client_ca or None,
            ssl_cert_reqs=ssl.CERT_REQUIRED if address.client_ca else ssl.CERT_NONE,
        )
        try:
            config.load()
        except (OSError, ssl.SSLError) as error:
            files = " and ".join(filter(None, (address.certificate, address.key, address.client_ca)))
            raise ServeError(f"cannot serve on {address}: cannot use {files}: {error.strerror or error}") from None
        return config


class _Server(uvicorn.Server):
    """Uvicorn server with guarded connections and a `ready` event, without signal handlers."""

    def __init__(self, config: uvicorn.Config, guard: Guard, clock: Clock) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self.servers = []
        self._guard = guard
        self._clock = clock
        self._listener: Listener | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        listening = (sockets or [])[0]
        await self.lifespan.startup()
        self._listener = Listener(listening, self.config, self.server_state, self._guard)
        self.started = True
        self.ready.set()

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS_PER_CHECK == 0:
            self._guard.table.check(self._clock.now())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._listener is not None:
            self._listener.close()
        await super().shutdown(sockets)
        self._guard.table.drop_all()
        self._guard.log.close()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listening_sockets(address: Address, backlog: int, count: int) -> list[socket.socket]:
    """Sockets of several processes for one address, over which the system spreads connections.

    One socket for all where the system does not: a process then takes the connections that it is the first to accept.
    """
    if sys.platform != "linux":
        first = _listening(address, backlog)
        return [first, *(first.dup() for _ in range(count - 1))]
    first = _listening(address, backlog, shared=True)
    address = replace(address, port=first.getsockname()[1])
    return [first, *(_listening(address, backlog, shared=True) for _ in range(count - 1))]


def _listening(address: Address, backlog: int, *, shared: bool = False) -> socket.socket:
    if not 0 <= address.port <= _MAX_PORT:
        raise ServeError(f"cannot listen on {address}: expected a port from 0 to {_MAX_PORT}")
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        place = address.host, address.port
        made = socket.create_server(place, family=family, backlog=backlog, reuse_port=shared)
        # asyncio sets TCP_NODELAY only on sockets with an explicit protocol; without it, a response takes 40 ms.
        return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=made.detach())
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            text = f"cannot listen on {address}: the port is in use; choose another (0: any free port)"
        elif error.errno == errno.EACCES:
            text = f"cannot listen on {address}: not allowed; ports below 1024 need privileges"
        else:
            text = f"cannot listen on {address}: {error.strerror or error}"
        raise ServeError(text) from None
