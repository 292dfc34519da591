"""Supervisor of `kubewasp http serve --workers N`: workers, signals, and the operations listener for all of them."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

from kubewasp.cli import http_serve
from kubewasp.cli.http_worker import WorkerSettings
from kubewasp.input_file import StandardInput
from kubewasp.server.endpoints import create_app as create_operations_app
from kubewasp.server.health import Health
from kubewasp.server.http_server import listening_sockets
from kubewasp.server.rollout_endpoints import reload_routes
from kubewasp.web.worker_group import WorkerGroup
from kubewasp.web.worker_metrics import exposition

if TYPE_CHECKING:
    from kubewasp.input_file import InputFile
    from kubewasp.server.http_server import AppServer
    from kubewasp.web import WebConfig

_REPORT_SECONDS = 1.0
_METRICS_SECONDS = 30.0


async def supervise(path: InputFile, config: WebConfig, options: http_serve.ServeOptions) -> None:
    """Serves with several workers until SIGTERM or SIGINT. WorkersError if they do not start, or end too often."""
    is_file = not isinstance(path, StandardInput)
    with path.open("rb") as file:
        content = b"" if is_file else file.read()

    def command(listening: int, control: int) -> list[str]:
        return WorkerSettings(str(path) if is_file else "", options, listening, control).command()

    stopping = http_serve.stop_signals()
    sockets = listening_sockets(http_serve.address(config.listen), http_serve.BACKLOG, config.workers)
    group = WorkerGroup(sockets, command, standard_input=content, grace_seconds=http_serve.GRACE_SECONDS)
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, group.reload, "SIGHUP")
    http_serve.log_start("requests", await group.start())
    reports = asyncio.create_task(_collect(group))
    operations: AppServer | None = None
    try:
        if config.operations is not None:
            operations = _operations(group, config, stopping)
            await operations.start()
            http_serve.log_start("health and metrics", operations.url)
        ended = asyncio.create_task(stopping.wait())
        await asyncio.wait((ended, group.failed), return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        http_serve.log_shutdown()
    finally:
        reports.cancel()
        await group.stop()
        if operations is not None:
            await operations.stop()
    if group.failed.done():
        raise group.failed.result()


async def _collect(group: WorkerGroup) -> None:
    """Keeps reports fresh: counters of a crashed worker are those of its last one."""
    while True:
        await group.collect()
        await asyncio.sleep(_REPORT_SECONDS)


def _operations(group: WorkerGroup, config: WebConfig, stopping: asyncio.Event) -> AppServer:
    health = Health()
    health.add("shutdown", lambda: "process is shutting down" if stopping.is_set() else "", to=("readyz",))
    health.add("workers", lambda: "" if group.ready else "no worker is ready", to=("readyz",))
    routes = reload_routes(group)
    app = create_operations_app(health, _Metrics(group), group.configuration, routes=routes)
    listen = config.operations or config.listen
    return http_serve.operations_server(app, listen, config)


class _Metrics:
    """Metrics of all workers, asked for at each scrape. Called on a thread of the operations listener."""

    def __init__(self, group: WorkerGroup) -> None:
        self._group = group
        self._loop = asyncio.get_running_loop()

    def exposed(self, accept: str = "") -> tuple[bytes, str]:
        found = asyncio.run_coroutine_threadsafe(self._group.metrics(), self._loop)
        return exposition(found.result(_METRICS_SECONDS), accept)
