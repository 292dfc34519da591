"""Watch of a cluster: one reflector per resource feeds the mirror. Shared by `kubewasp run` and the extender."""

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
    from kubewasp.live.mirror import Mirror

logger = logging.getLogger(__name__)

# In the order of intake: pods last, after everything that decides on them.
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

# Backpressure: changes in the inbox at which watches pause, and the interval of looking again, in seconds.
_MAX_BACKLOG: Final = 10_000
_PAUSE: Final = 0.02


class ClusterWatch:
    """Follows resources of a cluster. `is_synced` once everything that existed at the start is in the state."""

    def __init__(self, client: ApiClient, mirror: Mirror, inbox: Inbox, *, resources: Sequence[str] = WATCHED) -> None:
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
        """Watches until cancelled; ApiError or ServerTooOldError where no answer can be expected."""
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
        gc.freeze()  # most of the state is permanent: the collector need not visit it again

    async def _has_room(self) -> None:
        """Watches are read no faster than their changes are taken in, so that memory stays bounded."""
        while len(self._inbox) > _MAX_BACKLOG:
            await asyncio.sleep(_PAUSE)
