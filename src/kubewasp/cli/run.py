"""`kubewasp run`: a scheduler for a real cluster."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import uuid
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kubewasp.apiserver.client import ApiClient
from kubewasp.apiserver.errors import ApiConfigError, ApiError
from kubewasp.cli import connection
from kubewasp.errors import KubewaspError
from kubewasp.framework.config.reading import default_config, load_config
from kubewasp.live.process import ClusterProcess, ProcessError
from kubewasp.scheduler.scheduler import COLLECT_AFTER
from kubewasp.server import logs, sources
from kubewasp.server.decisions import DecisionSettings, DecisionStore
from kubewasp.server.endpoints import create_app, shown_configuration
from kubewasp.server.health import Health
from kubewasp.server.http_server import Address, AppServer
from kubewasp.server.metrics import Metrics
from kubewasp.server.pod_log import log_attempt
from kubewasp.server.request_metrics import RequestMetrics
from kubewasp.wasm.limits import limits_problem

if TYPE_CHECKING:
    from pathlib import Path

    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.scheduler.scheduler import Attempt, Scheduler

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
    decisions: float,
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
    gc.set_threshold(*COLLECT_AFTER)
    files = str(kubeconfig) if kubeconfig is not None else settings.client_connection.kubeconfig
    try:
        asyncio.run(_serve(settings, files, Address(host, port), decisions))
    except (ApiConfigError, ApiError, ProcessError) as error:
        raise RunError(str(error)) from None


async def _serve(settings: SchedulerConfig, kubeconfig: str, address: Address, decisions: float) -> None:
    limits = settings.client_connection
    credentials = await connection.credentials(kubeconfig)
    metrics = Metrics()
    observer = RequestMetrics(metrics, urlsplit((await credentials.fresh()).server).netloc)
    async with ApiClient(credentials, qps=limits.qps, burst=limits.burst, observer=observer) as client:
        identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        connect = partial(sources.connect, metrics=metrics)
        process = ClusterProcess(settings, client, identity, on_made=connect, on_attempt=log_attempt)
        store = _recording(process, decisions) if decisions else None
        lease = settings.leader_election
        if lease.leader_elect:
            sources.show_leadership(metrics, lease.resource_name, lambda: process.leads)
        sources.show_reflectors(metrics, process.reflectors)
        health = _health(process, has_lease=lease.leader_elect)
        server = AppServer(
            create_app(health, metrics, lambda: shown_configuration(settings, process.profiles), store), address
        )
        await server.start()
        logger.info("Serving health and metrics", extra={"url": server.url})
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, process.stop)
        try:
            await process.run()
        finally:
            await server.stop()


def _recording(process: ClusterProcess, share: float) -> DecisionStore:
    """Has the process keep a share of its decisions."""
    store, connected, told = DecisionStore(DecisionSettings(share=share)), process.on_made, process.on_attempt

    def connect(scheduler: Scheduler) -> None:
        connected(scheduler)
        store.connect(scheduler)

    def take(attempt: Attempt) -> None:
        told(attempt)
        store.take(attempt)

    process.on_made, process.on_attempt = connect, take
    return store


def _health(process: ClusterProcess, *, has_lease: bool) -> Health:
    """The checks of kube-scheduler, by its names, and one of our own: `scheduler`.

    A standby is ready: it knows the cluster, and takes over when it must.
    """
    health = Health()
    if has_lease:
        lost = "the lease was not renewed in time"
        health.add("leaderElection", lambda: lost if process.has_lost_lease else "", to=("healthz", "readyz"))
    health.add("shutdown", lambda: "process is shutting down" if process.is_stopping else "", to=("readyz",))
    unknown = "handlers are not fully synchronized"
    health.add("sched-handler-sync", lambda: "" if process.is_synced else unknown, to=("readyz",))
    health.add("scheduler", lambda: "" if process.is_alive else "its thread has ended")
    return health
