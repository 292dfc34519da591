"""What the instances of a guest share: the way to the scheduler, and which resources the guest has asked for.

Not the guest itself: an instance that knew it would keep it alive for ever.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kubewasp.wasm.core.node_records import TooManyResourcesError, pod_list

if TYPE_CHECKING:
    from kubewasp.framework.handle import Handle
    from kubewasp.wasm.core.node_records import ResourceIds
    from kubewasp.wasm.klog import LogLine

logger = logging.getLogger("kubewasp.guest")

_MOST_RESOURCES = 64


@dataclass(slots=True)
class Link:
    """The handle may change: a guest is loaded before there is a scheduler."""

    plugin: str
    handle: Handle
    _asked: set[str] = field(default_factory=set)

    def resource(self, name: str, ids: ResourceIds) -> int:
        """The number of a resource. A guest may ask for some, not for any number of them: all guests share the room."""
        self._asked.add(name)
        if len(self._asked) > _MOST_RESOURCES:
            self._asked.discard(name)
            raise TooManyResourcesError(f"resource: more than {_MOST_RESOURCES} names were asked for")
        return ids.id(name)

    def log(self, line: LogLine) -> None:
        logger.log(line.level, "%s: %s", self.plugin, line.text, extra={"plugin": self.plugin, "guest_line": line.text})

    def now_ns(self) -> int:
        return int(self.handle.clock.wall() * 1e9)

    def waiting_pods(self) -> bytes:
        return pod_list(self.handle.waiting_pods())

    def allow(self, uid: str) -> bool:
        return self.handle.allow_waiting_pod(uid, self.plugin)

    def reject(self, uid: str, reason: str) -> bool:
        return self.handle.reject_waiting_pod(uid, self.plugin, reason)
