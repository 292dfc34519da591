"""`kubewasp run`: a scheduler for a real cluster, with health checks, metrics and recorded decisions."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import uuid
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kubewasp.apiserver.client import ApiClient
from kubewasp.apiserver.event_series import Reference
from kubewasp.cli import connection
from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.live.process import ClusterProcess
from kubewasp.live.recording.recorder import Recording
from kubewasp.rollout.reload_source import reload_source
from kubewasp.scheduler.attempt import AttemptListener
from kubewasp.scheduler.composition import tune_garbage_collector
from kubewasp.scheduler.configuration import configure
from kubewasp.server import gauges, logs
from kubewasp.server.decisions import DecisionSettings, DecisionStore
from kubewasp.server.endpoints import create_app, shown_configuration
from kubewasp.server.guest_log_writer import GuestLogWriter
from kubewasp.server.health import Health
from kubewasp.server.http_server import Address, AppServer
from kubewasp.server.metrics import Metrics
from kubewasp.server.pod_log import PodLog
from kubewasp.server.request_metrics import RequestMetrics
from kubewasp.server.rollout_endpoints import rollout_routes
from kubewasp.server.rollout_metrics import RolloutMetrics
from kubewasp.server.scheduler_metrics import SchedulerMetrics
from kubewasp.state.node_table import NodeTable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kubewasp.cli.run_console import ConsoleOptions, RunConsole
    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.input_file import InputFile
    from kubewasp.rollout.reload_source import ReloadSource
    from kubewasp.rollout.rollout_events import RolloutListener
    from kubewasp.wasm.guest_log import GuestLogSink

logger = logging.getLogger(__name__)


def run(
    *,
    config: InputFile | None,
    kubeconfig: Path | None,
    leader_elect: bool | None,
    address: tuple[str, int],
    allowed_hosts: Sequence[str],
    decisions: float,
    record: Path | None,
    record_size: int,
    console: ConsoleOptions | None,
    log_format: logs.LogFormat,
    verbosity: int,
    fold_logs: bool,
) -> None:
    """Serves a cluster until SIGTERM or SIGINT."""
    handler = logs.configure(log_format, verbosity)
    run_console = None if console is None else _run_console(console)
    source = reload_source(config, partial(_configured, config, kubeconfig, leader_elect))
    settings = source.read()
    for warning in settings.warnings:
        logger.warning("%s", warning)
    tune_garbage_collector()
    recording = None if record is None else Recording(record, record_size, SYSTEM_CLOCK)
    guest_logs = GuestLogWriter(handler, log_format, fold=fold_logs)
    serving = partial(_serve, decisions=decisions, logs=guest_logs, recording=recording, console=run_console)
    try:
        if recording is not None:
            recording.writer.start()
        asyncio.run(serving(settings, source, Address(*address), allowed_hosts))
    finally:
        guest_logs.close()
        if recording is not None:
            recording.close()


def _run_console(options: ConsoleOptions) -> RunConsole:
    from kubewasp.cli.run_console import RunConsole  # here: a scheduler without a console starts faster

    return RunConsole(options)


def _configured(config: InputFile | None, kubeconfig: Path | None, leader_elect: bool | None) -> SchedulerConfig:
    """The configuration of the file, with the options of the command line."""
    settings, _ = configure(config)
    if leader_elect is not None:
        settings = replace(settings, leader_election=replace(settings.leader_election, leader_elect=leader_elect))
    if kubeconfig is not None:
        connected = replace(settings.client_connection, kubeconfig=str(kubeconfig))
        settings = replace(settings, client_connection=connected)
    return settings


async def _serve(
    settings: SchedulerConfig,
    source: ReloadSource,
    address: Address,
    allowed_hosts: Sequence[str],
    *,
    decisions: float,
    logs: GuestLogSink,
    recording: Recording | None,
    console: RunConsole | None,
) -> None:
    access, loop, stop = settings.client_connection, asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):  # first: guests may take long to load
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, lambda: None)  # by default it ends the process
    credentials = await connection.credentials(access.kubeconfig)
    metrics = Metrics()
    place = urlsplit((await credentials.fresh()).server).netloc
    requests = RequestMetrics(metrics, place)
    async with ApiClient(credentials, qps=access.qps, burst=access.burst, observer=requests) as client:
        table, listeners = NodeTable(), list[AttemptListener]([PodLog()])
        store = DecisionStore(DecisionSettings(share=decisions), table, SYSTEM_CLOCK) if decisions else None
        if store is not None:
            listeners.append(store)
        rollout_metrics, observer = RolloutMetrics(metrics), SchedulerMetrics(metrics)
        rollout_listeners: list[RolloutListener] = [rollout_metrics]
        if console is not None:
            listeners.append(console.statistics)
            rollout_listeners.append(console.statistics)
        process = ClusterProcess(
            settings,
            client,
            f"{socket.gethostname()}_{uuid.uuid4()}",
            stop=stop,
            table=table,
            observer=observer,
            recorder=store,
            listeners=listeners,
            guest_logs=logs,
            source=source,
            own_pod=_own_pod(),
            rollout_listeners=rollout_listeners,
            recording=recording,
        )
        rollout = process.rollout
        rollout_metrics.watch(lambda: rollout.running)
        loop.add_signal_handler(signal.SIGHUP, rollout.reload, "SIGHUP")
        _add_gauges(metrics, process, settings)
        if recording is not None:
            gauges.add_recording(metrics, recording.writer)
            logger.info("Recording", extra={"folder": str(recording.writer.folder)})
        health = _health(process, has_lease=settings.leader_election.leader_elect)
        server = AppServer(
            create_app(
                health,
                metrics,
                lambda: shown_configuration(rollout.config, rollout.profiles, rollout.status()),
                store,
                rollout_routes(rollout),
            ),
            address,
            allowed_hosts=allowed_hosts,
        )
        async with AsyncExitStack() as serving:
            await server.start()
            serving.push_async_callback(server.stop)
            logger.info("Serving health and metrics", extra={"url": server.url})
            if console is not None:
                live = console.beside(process, observer, client, place, store)
                await live.start()
                serving.push_async_callback(live.stop)
                logger.info("Serving the console", extra={"url": live.url})
            await process.run()


def _add_gauges(metrics: Metrics, process: ClusterProcess, settings: SchedulerConfig) -> None:
    gauges.add_scheduler(metrics, process.scheduler)
    gauges.add_plugins(metrics, process.scheduler)
    gauges.add_reflectors(metrics, process.watch.reflectors)
    lease = settings.leader_election
    if lease.leader_elect:
        gauges.add_leadership(metrics, lease.resource_name, lambda: process.leads)


def _own_pod() -> Reference | None:
    """The pod of this process, if the downward API names it."""
    name, namespace = os.environ.get("POD_NAME", ""), os.environ.get("POD_NAMESPACE", "")
    return Reference("Pod", namespace, name, os.environ.get("POD_UID", "")) if name and namespace else None


def _health(process: ClusterProcess, *, has_lease: bool) -> Health:
    """The checks of kube-scheduler, by its names, and `scheduler`, for its thread.

    A standby is ready: its state is synced, and it can take over.
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
