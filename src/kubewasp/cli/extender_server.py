"""`kubewasp extender`: an HTTP extender for kube-scheduler."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import typer

from kubewasp.apiserver import auth
from kubewasp.apiserver.client import ApiClient
from kubewasp.apiserver.errors import ApiConfigError, ApiError, ServerTooOldError
from kubewasp.apiserver.writes import ClusterWrites
from kubewasp.cli import connection
from kubewasp.cli.extender_config import check, managed_resources
from kubewasp.cli.simulate import configured
from kubewasp.clock import SystemClock
from kubewasp.errors import KubewaspError
from kubewasp.extender import verb_plugins as asked_plugins
from kubewasp.extender import verbs as extender_app
from kubewasp.extender.cluster_watch import ClusterWatch
from kubewasp.extender.sent_nodes import SentNodes
from kubewasp.extender.service import Binder, ExtenderService
from kubewasp.extender.worker import Worker
from kubewasp.framework.config.model import Extender
from kubewasp.framework.handle import Onlooker
from kubewasp.scheduler.profiles import resolve
from kubewasp.scheduler.scheduler import COLLECT_AFTER, Scheduler
from kubewasp.server import logs, sources
from kubewasp.server.endpoints import create_app as operations_app
from kubewasp.server.endpoints import shown_configuration
from kubewasp.server.health import Health
from kubewasp.server.http_server import Address, AppServer, host_and_port
from kubewasp.server.metrics import Metrics
from kubewasp.server.request_metrics import RequestMetrics

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from kubewasp.apiserver.auth import Credentials
    from kubewasp.framework.cluster_events import RecordedEvent
    from kubewasp.framework.config.model import Profile, SchedulerConfig
    from kubewasp.framework.runtime import Framework

logger = logging.getLogger(__name__)


class ExtenderError(KubewaspError):
    """The extender cannot begin or go on."""


def run(
    *,
    config: Path | None,
    plugins: Sequence[str],
    plugin_configs: Mapping[str, str],
    listen: str,
    certificate: str,
    key: str,
    client_ca: str,
    kubeconfig: Path | None,
    in_cluster: bool,
    bind: bool,
    all_plugins: bool,
    managed: Sequence[str],
    max_body: int,
    log_format: logs.LogFormat,
    verbosity: int,
) -> None:
    """Serves until SIGTERM or SIGINT."""
    if config is None and not plugins:
        raise typer.BadParameter("give --config FILE or --plugin GUEST: there is nothing to ask without a plugin")
    watches = kubeconfig is not None or in_cluster
    if kubeconfig is not None and in_cluster:
        raise typer.BadParameter("give --kubeconfig or --in-cluster, not both", param_hint="--in-cluster")
    for is_given, option in ((bind, "--bind"), (all_plugins, "--all-plugins")):
        if is_given and not watches:
            raise typer.BadParameter("needs a cluster: give --kubeconfig FILE or --in-cluster", param_hint=option)
    address = Address(*host_and_port(listen), certificate, key, client_ca)
    resources = managed_resources(managed)
    check(Extender(url_prefix="http://localhost", managed_resources=resources))
    logs.configure(log_format, verbosity)
    settings, named = configured(config, plugins, plugin_configs)
    for warning in settings.warnings:
        logger.warning("%s", warning)
    if settings.extenders:
        logger.warning("extenders of this configuration are not called: this is one itself")
    gc.set_threshold(*COLLECT_AFTER)
    made = _Extender(settings, named, all_plugins=all_plugins, managed=[item.name for item in resources])
    where = connection.credentials(str(kubeconfig or "")) if watches else None
    if in_cluster:
        where = auth.in_cluster()
    try:
        asyncio.run(made.serve(address, where, bind=bind, max_body=max_body))
    except (ApiConfigError, ApiError, ServerTooOldError) as error:
        raise ExtenderError(str(error)) from None


class _Extender:
    """The plugins, and the parts that answer for them."""

    def __init__(
        self, settings: SchedulerConfig, named: Collection[str], *, all_plugins: bool, managed: Sequence[str]
    ) -> None:
        self._settings = settings
        self._managed = managed
        registry, everything = resolve(settings, added=named)
        self._profiles: Sequence[Profile] = asked_plugins.asked(
            everything, all_plugins=all_plugins, source=settings.source
        )
        for plugin, points in asked_plugins.not_asked(everything).items():
            logger.warning("%s has extension points that no extender is asked at: %s", plugin, ", ".join(points))
        self._metrics = Metrics()
        self._scheduler = Scheduler(SystemClock(), Onlooker())
        self._scheduler.on_event = _tell
        self._frameworks: Mapping[str, Framework] = asked_plugins.frameworks(registry, self._profiles, self._scheduler)
        sources.connect(self._scheduler, self._metrics)
        sources.connect_plugins(self._frameworks, self._metrics)

    async def serve(self, address: Address, where: Awaitable[Credentials] | None, *, bind: bool, max_body: int) -> None:
        worker = Worker()
        async with AsyncExitStack() as stack:
            stack.callback(worker.stop)
            stopped = asyncio.Event()
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, stopped.set)
            client = await self._client(await where, stack) if where is not None else None
            watch = self._watch(client, worker) if client is not None else None
            answers = self._answers(worker, watch)
            if client is not None and bind:
                answers["bind"] = Binder(ClusterWrites(client)).bind
            app = extender_app.create_app(
                answers,
                operations_app(
                    _health(worker, watch, stopped),
                    self._metrics,
                    lambda: shown_configuration(self._settings, self._profiles),
                ),
                self._metrics,
                extender_app.Gate(partial(_problem, worker, watch), max_body),
            )
            server = AppServer(app, address)
            await server.start()
            stack.push_async_callback(server.stop)
            offered = asked_plugins.verbs(self._profiles, bind="bind" in answers)
            told = {"url": server.url, "verbs": list(offered), "nodes": "names" if watch is not None else "whole"}
            logger.info("Serving as an extender", extra=told)
            await _until(stopped, watch)

    async def _client(self, credentials: Credentials, stack: AsyncExitStack) -> ApiClient:
        limits = self._settings.client_connection
        observer = RequestMetrics(self._metrics, urlsplit((await credentials.fresh()).server).netloc)
        return await stack.enter_async_context(
            ApiClient(credentials, qps=limits.qps, burst=limits.burst, observer=observer)
        )

    def _watch(self, client: ApiClient, worker: Worker) -> ClusterWatch:
        all_objects = asked_plugins.needs_all_objects(self._profiles)
        watch = ClusterWatch(client, self._scheduler, worker, all_objects=all_objects)
        sources.show_reflectors(self._metrics, watch.reflectors)
        return watch

    def _answers(self, worker: Worker, watch: ClusterWatch | None) -> dict[str, Callable[[bytes], Awaitable[bytes]]]:
        sent = SentNodes(self._scheduler) if watch is None else None
        if sent is not None:
            sources.show_sent_nodes(self._metrics, sent)
        service = ExtenderService(self._scheduler, self._frameworks, sent=sent, managed=self._managed)
        return {
            "filter": partial(worker.ask, service.filter),
            "prioritize": partial(worker.ask, service.prioritize),
            "preempt": partial(worker.ask, service.preempt),
        }


async def _until(stopped: asyncio.Event, watch: ClusterWatch | None) -> None:
    """Until it is told to stop, or the cluster cannot be watched."""
    if watch is None:
        await stopped.wait()
        return
    waiting, watching = asyncio.create_task(stopped.wait()), asyncio.create_task(watch.run())
    await asyncio.wait((waiting, watching), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if watching.done():
        watching.result()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


def _problem(worker: Worker, watch: ClusterWatch | None) -> str:
    """Why nothing can be decided."""
    if worker.problem:
        return f"a change of the cluster could not be taken in: {worker.problem}"
    return "the cluster is not known yet: try again" if watch is not None and not watch.is_synced else ""


def _health(worker: Worker, watch: ClusterWatch | None, stopped: asyncio.Event) -> Health:
    health = Health()
    health.add("worker", lambda: worker.problem)
    health.add("shutdown", lambda: "process is shutting down" if stopped.is_set() else "", to=("readyz",))
    if watch is not None:
        health.add("cluster-sync", lambda: "" if watch.is_synced else "the cluster is not known yet", to=("readyz",))
    return health


def _tell(event: RecordedEvent) -> None:
    """An extender only reads: what a guest would record in the cluster goes to the log."""
    logger.info("Event of a plugin, not recorded in the cluster", extra={"event": str(event)})
