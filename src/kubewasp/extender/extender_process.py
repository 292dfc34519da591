"""Extender process: composition of plugins, cluster state, verbs and HTTP server."""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kubewasp.apiserver.client import ApiClient
from kubewasp.apiserver.writes import ClusterWrites
from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.extender import verb_plugins
from kubewasp.extender.plugin_versions import ExtenderReload, PluginVersions
from kubewasp.extender.sent_nodes import SentNodes
from kubewasp.extender.service import Binder, ExtenderService
from kubewasp.extender.verbs import ExtenderMetrics, Gate, create_app
from kubewasp.extender.worker import Worker
from kubewasp.framework.handle import ReadOnlyClient
from kubewasp.live.cluster_watch import NODES_AND_PODS, WATCHED, ClusterWatch
from kubewasp.live.mirror import Mirror
from kubewasp.rollout.process_version import resolved
from kubewasp.rollout.reload_source import ReloadSource
from kubewasp.rollout.reload_thread import ReloadRequests
from kubewasp.rollout.rollout_service import EventLog
from kubewasp.rollout.rollout_status import RolloutHistory
from kubewasp.rollout.staging import Stager
from kubewasp.scheduler.composition import Environment, compose
from kubewasp.server import gauges
from kubewasp.server.endpoints import create_app as operations_app
from kubewasp.server.endpoints import shown_configuration
from kubewasp.server.health import Health
from kubewasp.server.http_server import AppServer
from kubewasp.server.metrics import Metrics
from kubewasp.server.request_metrics import RequestMetrics
from kubewasp.server.rollout_endpoints import reload_routes
from kubewasp.server.rollout_metrics import RolloutMetrics
from kubewasp.server.scheduler_metrics import SchedulerMetrics
from kubewasp.wasm.guest_log import LOGGER_SINK

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from kubewasp.apiserver.auth import Credentials
    from kubewasp.framework.cluster_events import RecordedEvent
    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.rollout.rollout_events import RolloutListener
    from kubewasp.server.http_server import Address
    from kubewasp.wasm.guest_log import GuestLogSink

logger = logging.getLogger(__name__)


class ExtenderProcess:
    """Verbs of an extender on the plugins of a configuration and a scheduler's state without its queue."""

    def __init__(
        self,
        config: SchedulerConfig,
        added: Collection[str],
        *,
        all_plugins: bool,
        managed: Sequence[str],
        guest_logs: GuestLogSink = LOGGER_SINK,
        source: ReloadSource | None = None,
    ) -> None:
        self._limits = config.client_connection
        self._managed = managed
        self._metrics = Metrics()
        self._source = ReloadSource(lambda: config) if source is None else source
        observer = SchedulerMetrics(self._metrics)
        self._stager = Stager(self._source.ledger, observer, guest_logs)
        version = resolved(config, self._stager.stage(config, ()), observer, added=added)
        for plugin, points in verb_plugins.unused_points(version.setup.profiles).items():
            logger.warning("Extension points without a verb are not called", extra={"plugin": plugin, "points": points})
        environment = Environment(clock=SYSTEM_CLOCK, client=ReadOnlyClient(), record_event=_log_event)
        self._scheduler = compose(environment, observer=observer)
        self._requests, self._history = ReloadRequests(), RolloutHistory(SYSTEM_CLOCK.wall)
        rollout_metrics = RolloutMetrics(self._metrics)
        self._listeners: list[RolloutListener] = [self._history, EventLog(), rollout_metrics]
        self._versions = PluginVersions(
            version,
            self._scheduler.handle,
            observer=observer,
            added=added,
            all_plugins=all_plugins,
            background=self._requests.do,
            listeners=self._listeners,
        )
        versions = self._versions
        rollout_metrics.watch(lambda: versions.running)
        gauges.add_scheduler(self._metrics, self._scheduler)
        gauges.add_evaluations(self._metrics, lambda: versions.frameworks)
        versions.on_ended(gauges.PluginGauges(self._metrics, versions.plugins).ended)

    async def serve(
        self,
        address: Address,
        credentials: Awaitable[Credentials] | None,
        *,
        bind: bool,
        max_body: int,
        allowed_hosts: Sequence[str] = (),
    ) -> None:
        """Serves until SIGTERM or SIGINT; with credentials, on a watched cluster."""
        worker, stopped = Worker(), asyncio.Event()
        worker.start()
        async with AsyncExitStack() as stack:
            stack.callback(worker.stop)
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, stopped.set)
            client = await self._client(await credentials, stack) if credentials is not None else None
            watch = self._watch(client, worker) if client is not None else None
            reload = self._reload(worker, stack)
            loop.add_signal_handler(signal.SIGHUP, reload.reload, "SIGHUP")
            answers = self._answers(worker, watch)
            if client is not None and bind:
                answers["bind"] = Binder(ClusterWrites(client)).bind
            app = create_app(
                answers,
                operations_app(
                    _health(worker, watch, stopped),
                    self._metrics,
                    lambda: self._shown(reload),
                    routes=reload_routes(reload),
                ),
                ExtenderMetrics(self._metrics),
                Gate(partial(_problem, worker, watch), max_body),
            )
            server = AppServer(app, address, allowed_hosts=allowed_hosts)
            await server.start()
            stack.push_async_callback(server.stop)
            verbs = verb_plugins.verbs(self._versions.profiles, bind="bind" in answers)
            fields = {"url": server.url, "verbs": list(verbs), "nodes": "names" if watch is not None else "whole"}
            logger.info("Serving as an extender", extra=fields)
            await self._until(stopped, watch)

    async def _client(self, credentials: Credentials, stack: AsyncExitStack) -> ApiClient:
        limits = self._limits
        observer = RequestMetrics(self._metrics, urlsplit((await credentials.fresh()).server).netloc)
        return await stack.enter_async_context(
            ApiClient(credentials, qps=limits.qps, burst=limits.burst, observer=observer)
        )

    def _reload(self, worker: Worker, stack: AsyncExitStack) -> ExtenderReload:
        reload = ExtenderReload(
            self._versions,
            self._requests,
            source=self._source,
            stager=self._stager,
            history=self._history,
            post=worker.post,
            listeners=self._listeners,
        )
        reload.start()
        stack.callback(reload.stop)
        return reload

    def _shown(self, reload: ExtenderReload) -> Mapping[str, Any]:
        running = self._versions.running
        return shown_configuration(running.version.config, self._versions.profiles, reload.status())

    def _watch(self, client: ApiClient, worker: Worker) -> ClusterWatch:
        mirror = Mirror(self._scheduler.events, self._scheduler.store)
        resources = WATCHED if self._versions.needs_all_objects else NODES_AND_PODS
        watch = ClusterWatch(client.guarded(lambda: False), mirror, worker, resources=resources)
        gauges.add_reflectors(self._metrics, watch.reflectors)
        return watch

    def _answers(self, worker: Worker, watch: ClusterWatch | None) -> dict[str, Callable[[bytes], Awaitable[bytes]]]:
        sent = SentNodes(self._scheduler.events, self._scheduler.clock) if watch is None else None
        if sent is not None:
            self._metrics.read_counter("kubewasp_extender_sent_nodes_total", sent.counts)
        service = ExtenderService(self._scheduler.table, self._versions.frameworks, sent=sent, managed=self._managed)
        self._versions.subscribe(service.replace)
        return {
            "filter": partial(worker.ask, service.filter),
            "prioritize": partial(worker.ask, service.prioritize),
            "preempt": partial(worker.ask, service.preempt),
        }

    async def _until(self, stopped: asyncio.Event, watch: ClusterWatch | None) -> None:
        """Waits for a signal or the failure of a watch."""
        if watch is None:
            await stopped.wait()
            return
        tasks = [
            asyncio.create_task(stopped.wait()),
            asyncio.create_task(watch.run()),
            asyncio.create_task(self._log_sync(watch, stopped)),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _log_sync(self, watch: ClusterWatch, stopped: asyncio.Event) -> None:
        await watch.synced()
        logger.info("Cluster state synced", extra={"nodes": len(self._scheduler.table)})
        await stopped.wait()


def _problem(worker: Worker, watch: ClusterWatch | None) -> str:
    """The reason for refusing requests; empty if there is none."""
    if worker.problem:
        return f"a cluster change failed, restart the extender: {worker.problem}"
    return "the cluster state is not synced yet: try again" if watch is not None and not watch.is_synced else ""


def _health(worker: Worker, watch: ClusterWatch | None, stopped: asyncio.Event) -> Health:
    health = Health()
    health.add("worker", lambda: worker.problem)
    health.add("shutdown", lambda: "process is shutting down" if stopped.is_set() else "", to=("readyz",))
    if watch is not None:
        health.add("cluster-sync", lambda: "" if watch.is_synced else "cluster state not synced", to=("readyz",))
    return health


def _log_event(event: RecordedEvent) -> None:
    """Events of plugins go to the log, as an extender does not write to the cluster."""
    logger.info("Plugin event not recorded in the cluster", extra={"event": str(event)})
