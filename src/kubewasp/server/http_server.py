"""Runs the ASGI app beside everything else on an event loop that is there already."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import uvicorn

from kubewasp.errors import KubewaspError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp

logger = logging.getLogger(__name__)
# The port of kube-scheduler.
DEFAULT_PORT: Final = 10259
_GRACE_SECONDS = 5
_LAST_PORT = 65535


class ServeError(KubewaspError):
    """Nothing can be served there; the text says what to change."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 is any free one. With a certificate and its key (files), HTTPS is spoken; with a CA of
    clients (a file), only to those that have a certificate of it.

    kube-scheduler speaks HTTPS on all interfaces, with a certificate it makes and signs itself, and asks the API server
    whether a reader may see its metrics. Here the default is plain HTTP on loopback: nobody but this machine (this pod)
    can connect, and no certificate pretends to more. Listen elsewhere where a kubelet probes or Prometheus scrapes, and
    then give a certificate or leave access to a network policy: nothing served there is secret or changes anything.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    certificate: str = ""
    key: str = ""
    client_ca: str = ""

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def host_and_port(text: str) -> tuple[str, int]:
    """`HOST:PORT`; an IPv6 address stands in brackets, no host means all interfaces."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > _LAST_PORT or (":" in host and host[:1] + host[-1:] != "[]"):
        raise ServeError(f"cannot listen on {text!r}: expected HOST:PORT, such as 127.0.0.1:8888 or [::1]:8888")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104


class AppServer:
    """An app that is served from `start` to `stop`."""

    def __init__(
        self, app: ASGIApp, address: Address, *, backlog: int = 128, grace_seconds: int = _GRACE_SECONDS
    ) -> None:
        """`backlog`: how many connections may come at once; `grace_seconds`: how long requests may take to end."""
        self.address = address
        self._app = app
        self._backlog = backlog
        self._grace_seconds = grace_seconds
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.address.certificate else 'http'}://{self.address}"

    async def start(self) -> None:
        """Returns when requests are taken; ServeError if that cannot be."""
        config = self._config()
        listening = _listening(self.address, self._backlog)
        self.address = replace(self.address, port=listening.getsockname()[1])
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listening]), name="kubewasp-serve")
        ready = asyncio.create_task(self._server.ready.wait())
        await asyncio.wait((self._task, ready), return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if self._task.done():
            listening.close()
            raise ServeError(f"cannot serve on {self.address}: {self._task.exception() or 'the server ended at once'}")
        self._task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Lets requests that are under way end, for as long as they are given."""
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            await asyncio.wait((self._task,))
            self._server = self._task = None

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            logger.error("%s is served no more", self.url, exc_info=task.exception())

    def _config(self) -> uvicorn.Config:
        address = self.address
        if bool(address.certificate) != bool(address.key):
            raise ServeError(f"cannot serve on {address}: HTTPS takes both a certificate and its key")
        if address.client_ca and not address.certificate:
            raise ServeError(f"cannot serve on {address}: clients have certificates with HTTPS only: give our own too")
        config = uvicorn.Config(
            self._app,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            ws="none",
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
    """Leaves signals to the process, and tells when it is ready."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _listening(address: Address, backlog: int) -> socket.socket:
    if not 0 <= address.port <= _LAST_PORT:
        raise ServeError(f"cannot listen on {address}: a port is a number from 0 to {_LAST_PORT}")
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        made = socket.create_server((address.host, address.port), family=family, backlog=backlog)
        # asyncio switches Nagle's delay off only for sockets that say they are TCP: 40 ms an answer, if they do not.
        return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=made.detach())
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            text = f"cannot listen on {address}: the port is taken; stop whoever has it, or choose another (0: any)"
        elif error.errno == errno.EACCES:
            text = f"cannot listen on {address}: not allowed; ports below 1024 need privileges"
        else:
            text = f"cannot listen on {address}: {error.strerror or error}"
        raise ServeError(text) from None
