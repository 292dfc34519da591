"""`kubewasp run`: a scheduler for a real cluster."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import uuid
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kubewasp.cluster.api import auth
from kubewasp.cluster.api.client import ApiClient
from kubewasp.cluster.api.errors import ApiConfigError, ApiError
from kubewasp.framework.config_reading import default_config, load_config
from kubewasp.scheduler.process import ClusterProcess, ProcessError
from kubewasp.serve import logs, sources
from kubewasp.serve.app import create_app, shown_configuration
from kubewasp.serve.health import Health
from kubewasp.serve.metrics import Metrics
from kubewasp.serve.server import Address, AppServer
from kubewasp.wasm.errors import KubewaspError
from kubewasp.wasm.limits import limits_problem

if TYPE_CHECKING:
    from pathlib import Path

    from kubewasp.cluster.api.auth import Credentials
    from kubewasp.framework.config import SchedulerConfig

logger = logging.getLogger(__name__)


class RunError(KubewaspError):
    """The scheduler cannot begin or go on."""


def run(
    *,
    config: Path | None,
    kubeconfig: Path | None,
    leader_elect: bool | None,
    host: str,
    port: int,
    log_format: logs.LogFormat,
    verbosity: int,
) -> None:
    """Serves a cluster until SIGTERM or SIGINT."""
    logs.configure(log_format, verbosity)
    settings = load_config(config, check_limits=limits_problem) if config is not None else default_config()
    if leader_elect is not None:
        settings = replace(settings, leader_election=replace(settings.leader_election, leader_elect=leader_elect))
    for warning in settings.warnings:
        logger.warning("%s", warning)
    files = str(kubeconfig) if kubeconfig is not None else settings.client_connection.kubeconfig
    try:
        asyncio.run(_serve(settings, files, Address(host, port)))
    except (ApiConfigError, ApiError, ProcessError) as error:
        raise RunError(str(error)) from None


async def _serve(settings: SchedulerConfig, kubeconfig: str, address: Address) -> None:
    connection = settings.client_connection
    async with ApiClient(await _credentials(kubeconfig), qps=connection.qps, burst=connection.burst) as client:
        identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        metrics = Metrics()
        process = ClusterProcess(settings, client, identity, on_made=partial(sources.connect, metrics=metrics))
        lease = settings.leader_election
        sources.show_leadership(metrics, lease.resource_name, lambda: process.is_leader)
        shown = partial(shown_configuration, settings, ())
        server = AppServer(create_app(_health(process), metrics, shown), address)
        await server.start()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, process.stop)
        try:
            await process.run()
        finally:
            await server.stop()


def _health(process: ClusterProcess) -> Health:
    """A standby is ready: it knows the cluster, and takes over when it must."""
    health = Health()
    health.add("scheduler", lambda: "" if process.is_alive else "its thread has ended")
    health.add("cluster-known", lambda: "" if process.is_synced else "lists are under way", to=("readyz",))
    return health


async def _credentials(kubeconfig: str) -> Credentials:
    """Of the file that was given, else of $KUBECONFIG, else of the pod, else of ~/.kube/config."""
    files = kubeconfig or os.environ.get("KUBECONFIG", "")
    if files:
        return await auth.from_kubeconfig(files)
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return await auth.in_cluster()
    return await auth.from_kubeconfig(os.path.expanduser("~/.kube/config"))  # noqa: PTH111 - as the library takes it
