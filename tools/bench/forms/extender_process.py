"""Extender service with a cluster in its table: `python -m tools.bench.forms.extender_process WHAT ADDRESS`.

From HTTP to the guest it is `kubewasp extender --kubeconfig`. Nodes and pods do not come from a watch: they are put
into the table, and `POST /bench/change` changes some of them.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route

from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.extender import verb_plugins
from kubewasp.extender import verbs as extender_app
from kubewasp.extender.service import ExtenderService
from kubewasp.extender.worker import Worker
from kubewasp.framework.config.reading import read_config
from kubewasp.framework.handle import ReadOnlyClient
from kubewasp.scheduler.composition import Environment, compose, set_up
from kubewasp.server.endpoints import create_app as operations_app
from kubewasp.server.health import Health
from kubewasp.server.http_server import Address, AppServer, host_and_port
from kubewasp.server.metrics import Metrics
from tools.bench.forms.extender import config
from tools.bench.policies.clusters import Cluster

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from kubewasp.scheduler.scheduler import Scheduler


def main(what: dict[str, Any], address: str) -> None:
    cluster = Cluster(**what["cluster"])
    scheduler = compose(Environment(clock=SYSTEM_CLOCK, client=ReadOnlyClient()))
    setup = set_up(read_config(config(what["policy"], what["wasm"])))
    profiles = verb_plugins.restricted(setup.profiles, all_plugins=False)
    service = ExtenderService(scheduler.table, verb_plugins.frameworks(setup.registry, profiles, scheduler.handle))
    cluster.fill(scheduler.events.put_node, scheduler.table.add_pod)
    gc.collect()
    gc.freeze()  # like a watch after its first list
    asyncio.run(_serve(_app(service, scheduler, cluster), Address(*host_and_port(address))))


def _app(service: ExtenderService, scheduler: Scheduler, cluster: Cluster) -> ASGIApp:
    worker, metrics = Worker(), Metrics()
    worker.start()
    answers = {verb: partial(worker.ask, getattr(service, verb)) for verb in ("filter", "prioritize")}
    asked = extender_app.create_app(
        answers,
        operations_app(Health(), metrics, dict[str, Any]),
        extender_app.ExtenderMetrics(metrics),
        extender_app.Gate(),
    )

    def change(body: bytes) -> bytes:
        cluster.change(orjson.loads(body), scheduler.events.put_node, scheduler.table.add_pod)
        return b"{}"

    async def changed(request: Request) -> Response:
        return Response(await worker.ask(change, await request.body()))

    return Starlette(routes=[Route("/bench/change", changed, methods=["POST"]), Mount("/", asked)])


async def _serve(app: ASGIApp, address: Address) -> None:
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    server = AppServer(app, address)
    await server.start()
    await stopped.wait()
    await server.stop()


if __name__ == "__main__":
    main(orjson.loads(sys.argv[1]), sys.argv[2])
