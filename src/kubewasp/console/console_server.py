"""Server of a console of its own: the page and the API of one source, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kubewasp.console.api import console_app
from kubewasp.console.page import page_routes
from kubewasp.errors import KubewaspError
from kubewasp.server.connection_table import HttpLimits
from kubewasp.server.http_server import Address, AppServer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubewasp.console.console_source import ConsoleSource

_REQUESTS: Final = 64


def serve(
    source: ConsoleSource, listen: tuple[str, int], started: Callable[[str], None], *, allowed_hosts: Sequence[str] = ()
) -> None:
    """Serves; `started` gets the address of the page. Raises ServeError."""
    asyncio.run(_serve(source, listen, started, allowed_hosts))


def _prepare(source: ConsoleSource) -> None:
    """Fills the study of the first run before it is asked for."""
    study = source.study("")
    if study is not None:
        with suppress(KubewaspError):  # the first decision tells it
            study.prepare(source.picture("", None))


async def _serve(
    source: ConsoleSource, listen: tuple[str, int], started: Callable[[str], None], allowed_hosts: Sequence[str]
) -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    server = AppServer(
        console_app(source, page_routes(root=True)),
        Address(*listen),
        limits=HttpLimits(requests=_REQUESTS),
        allowed_hosts=allowed_hosts,
        grace_seconds=1,
    )
    await server.start()
    asyncio.get_running_loop().run_in_executor(None, _prepare, source)
    try:
        started(f"{server.url}/console/")
        await stopping.wait()
    finally:
        await server.stop()
