"""Runs the ASGI app beside everything else on an event loop that is there already."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import uvicorn

from kubewasp.wasm.errors import KubewaspError

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
    """Where to listen; port 0 is any free one. With a certificate and its key (files), HTTPS is spoken.

    kube-scheduler speaks HTTPS on all interfaces, with a certificate it makes and signs itself, and asks the API server
    whether a reader may see its metrics. Here the default is plain HTTP on loopback: nobody but this machine (this pod)
    can connect, and no certificate pretends to more. Listen elsewhere where a kubelet probes or Prometheus scrapes, and
    then give a certificate or leave access to a network policy: nothing served there is secret or changes anything.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    certificate: str = ""
    key: str = ""

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class AppServer:
    """An app that is served from `start` to `stop`."""

    def __init__(self, app: ASGIApp, address: Address) -> None:
        self.address = address
        self._app = app
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.address.certificate else 'http'}://{self.address}"

    async def start(self) -> None:
        """Returns when requests are taken; ServeError if that cannot be."""
        config = self._config()
        listening = _listening(self.address)
        self.address = Address(
            self.address.host, listening.getsockname()[1], self.address.certificate, self.address.key
        )
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
        """Lets requests that are under way end, a few seconds at most."""
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
        config = uvicorn.Config(
            self._app,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=_GRACE_SECONDS,
            ssl_certfile=address.certificate or None,
            ssl_keyfile=address.key or None,
        )
        try:
            config.load()
        except (OSError, ssl.SSLError) as error:
            files = f"{address.certificate} and {address.key}"
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


def _listening(address: Address) -> socket.socket:
    if not 0 <= address.port <= _LAST_PORT:
        raise ServeError(f"cannot listen on {address}: a port is a number from 0 to {_LAST_PORT}")
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        return socket.create_server((address.host, address.port), family=family, backlog=128)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            text = f"cannot listen on {address}: the port is taken; stop whoever has it, or choose another (0: any)"
        elif error.errno == errno.EACCES:
            text = f"cannot listen on {address}: not allowed; ports below 1024 need privileges"
        else:
            text = f"cannot listen on {address}: {error.strerror or error}"
        raise ServeError(text) from None
