"""Our own picture of the cluster, for requests that have only names of nodes. It reads, and never writes."""

from __future__ import annotations

import asyncio
import gc
import logging
from typing import TYPE_CHECKING, Final

from kubewasp.apiserver.api_resources import PODS, RESOURCES
from kubewasp.apiserver.client import wait_for_server
from kubewasp.apiserver.reflector import OutageLog, Reflector
from kubewasp.live.mirror import Feed, Intake
from kubewasp.live.process import NOT_FINISHED, WATCHED

if TYPE_CHECKING:
    from kubewasp.apiserver.client import ApiClient
    from kubewasp.extender.worker import Worker
    from kubewasp.scheduler.scheduler import Scheduler

logger = logging.getLogger(__name__)
NODES_AND_PODS: Final = ("nodes", "pods")
# Changes that wait to be taken in, at most (and what one read from a watch brings on top), and when to look again.
_MOST_WAITING: Final = 10_000
_LOOK_AGAIN: Final = 0.02


class ClusterWatch:
    """Follows nodes and pods, or all that plugins may look at."""

    def __init__(self, client: ApiClient, scheduler: Scheduler, worker: Worker, *, all_objects: bool) -> None:
        self.is_synced = False
        self.reflectors: list[Reflector] = []
        self._client = client.guarded(lambda: False)
        self._scheduler = scheduler
        self._worker = worker
        self._resources = WATCHED if all_objects else NODES_AND_PODS

    async def run(self) -> None:
        """Until it is cancelled; ApiError or ServerTooOldError if there is no hope of an answer."""
        await wait_for_server(self._client)
        intake, outages = Intake(self._scheduler), OutageLog()
        for name in self._resources:
            resource = RESOURCES[name]
            self.reflectors.append(
                Reflector(
                    self._client,
                    resource,
                    Feed(resource.kind, intake, self._worker.post),
                    field_selector=NOT_FINISHED if resource is PODS else "",
                    outages=outages,
                    has_room=self._has_room,
                )
            )
        async with asyncio.TaskGroup() as tasks:
            for reflector in self.reflectors:
                tasks.create_task(reflector.run())
            tasks.create_task(self._sync())

    async def _sync(self) -> None:
        for reflector in self.reflectors:
            await reflector.synced.wait()
        await self._worker.caught_up()
        self.is_synced = True
        gc.freeze()  # most of what is known now stays: the collector need not look at it over and over
        logger.info("the cluster is known: %d nodes", len(self._scheduler.table))

    async def _has_room(self) -> None:
        """Watches are read no faster than changes are taken in, so that memory stays bounded."""
        while self._worker.backlog > _MOST_WAITING:
            await asyncio.sleep(_LOOK_AGAIN)
