"""Worker process of `kubewasp http serve --workers N`; started by http_serve.py, and of no use alone."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import socket
import sys
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.cli import http_serve
from kubewasp.errors import KubewaspError
from kubewasp.input_file import StandardInput
from kubewasp.server import logs
from kubewasp.web import create_app
from kubewasp.web.worker_group import Report
from kubewasp.web.worker_link import WorkerLink
from kubewasp.web.worker_metrics import families_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.input_file import InputFile
    from kubewasp.web import WebApp, WebConfig


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Command line of a worker: the options of the server, and the descriptors of its sockets."""

    config: str  # empty: standard input
    options: http_serve.ServeOptions
    listening: int
    control: int

    def command(self) -> list[str]:
        return [sys.executable, "-m", __name__, json.dumps(asdict(self))]

    @classmethod
    def parse(cls, text: str) -> WorkerSettings:
        given = json.loads(text)
        listen = given["options"]["listen"]
        options = given["options"] | {"listen": tuple(listen) if listen else None}
        return cls(**given | {"options": http_serve.ServeOptions(**options)})


def main() -> None:
    settings = WorkerSettings.parse(sys.argv[1])
    logs.configure(settings.options.log_format, settings.options.verbosity)
    sys.exit(asyncio.run(_serve(settings)))


async def _serve(settings: WorkerSettings) -> int:
    link = await WorkerLink.over(socket.socket(fileno=settings.control))
    stopping = _stopping()
    path: InputFile = Path(settings.config) if settings.config else StandardInput()
    try:
        read: Callable[[], WebConfig] = partial(http_serve.configured, path, settings.options)
        config = read()
        app = create_app(config, read=read if settings.config else lambda: config, file=settings.config)
        server = http_serve.public_server(app, config, listening=socket.socket(fileno=settings.listening))
        await server.start()
    except KubewaspError as error:
        link.send("failed", str(error))
        await link.close()
        return 1
    gc.freeze()  # as in http_serve.py
    link.send("ready", server.url)
    commands = asyncio.create_task(_obey(link, app, stopping))
    await stopping.wait()
    await server.stop()
    app.close()
    link.send("report", _report(app))
    commands.cancel()
    await link.close()
    return 0


def _stopping() -> asyncio.Event:
    """Set by SIGTERM. Ctrl-C and a hangup reach the supervisor, too, which tells its workers."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stopping.set)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return stopping


async def _obey(link: WorkerLink, app: WebApp, stopping: asyncio.Event) -> None:
    """Follows the supervisor; its end is the end of the worker."""
    while (message := await link.receive()) is not None:
        kind, content = message
        if kind == "stop":
            break
        if kind == "reload":
            app.reloader.reload(content)
        elif kind == "report":
            link.send("report", _report(app))
    stopping.set()


def _report(app: WebApp) -> dict[str, object]:
    configuration = http_serve.document(app.table)
    return asdict(Report(families_of(app.metrics.registry), app.reloader.status(), configuration))


if __name__ == "__main__":
    main()
