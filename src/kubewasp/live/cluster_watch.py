"""Watch of a cluster: one reflector per resource, into the mirror. Shared by `kubewasp run` and the extender."""

from __future__ import annotations

import asyncio
import gc
import logging
from typing import TYPE_CHECKING, Final

from kubewasp.apiserver.api_resources import PODS, RESOURCES
from kubewasp.apiserver.client import wait_for_server
from kubewasp.apiserver.reflector import OutageLog, Reflector
from kubewasp.live.inbox import on_owner_thread
from kubewasp.live.mirror import MirrorFeed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.apiserver.client import ApiClient
    from kubewasp.live.inbox import Inbox
    from kubewasp.live.mirror import ObjectSink

logger = logging.getLogger(__name__)

# In the order of intake: pods last, after all objects that affect them.
WATCHED: Final = (
    "namespaces",
    "storageclasses",
    "csidrivers",
    "csinodes",
    "csistoragecapacities",
    "volumeattachments",
    "persistentvolumes",
    "persistentvolumeclaims",
    "services",
    "replicationcontrollers",
    "replicasets",
    "statefulsets",
    "poddisruptionbudgets",
    "nodes",
    "pods",
)
NODES_AND_PODS: Final = ("nodes", "pods")
NOT_FINISHED: Final = "status.phase!=Succeeded,status.phase!=Failed"

# Backpressure: number of changes in the inbox at which watches pause, and the polling interval in seconds.
_MAX_BACKLOG: Final = 10_000
_PAUSE_SECONDS: Final = 0.02


class ClusterWatch:
    """Reflectors of a cluster. `is_synced` once all objects of the first lists are in the state."""

    def __init__(
        self, client: ApiClient, mirror: ObjectSink, inbox: Inbox, *, resources: Sequence[str] = WATCHED
    ) -> None:
        self.is_synced = False
        self._client = client
        self._inbox = inbox
        outages = OutageLog()
        self.reflectors: Sequence[Reflector] = [
            Reflector(
                client,
                RESOURCES[name],
                MirrorFeed(RESOURCES[name].kind, mirror, inbox),
                field_selector=NOT_FINISHED if RESOURCES[name] is PODS else "",
                outages=outages,
                has_room=self._has_room,
            )
            for name in resources
        ]

    async def run(self) -> None:
        """Watches until cancelled. Raises ApiError or ServerTooOldError on permanent errors."""
        await wait_for_server(self._client)
        try:
            async with asyncio.TaskGroup() as tasks:
                for reflector in self.reflectors:
                    tasks.create_task(reflector.run())
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    async def synced(self) -> None:
        """Waits until the state is complete."""
        for reflector in self.reflectors:
            await reflector.synced.wait()
        await on_owner_thread(self._inbox, lambda: None)
        self.is_synced = True
        gc.freeze()  # most of the state is permanent: excluded from garbage collection

    async def _has_room(self) -> None:
        """Waits while the inbox is full, so that memory stays bounded."""
        while len(self._inbox) > _MAX_BACKLOG:
            await asyncio.sleep(_PAUSE_SECONDS)
