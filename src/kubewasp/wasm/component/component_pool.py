"""The instances of a component: one for all pods, and a new one when that is broken or has grown too large.

An instance that has grown takes no new pods; it goes when the last of its pods is done.
"""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, cast

from kubewasp.framework.cluster_events import ALL_EVENTS
from kubewasp.wasm.component.component_instance import ComponentInstance
from kubewasp.wasm.component.node_updates import NodeView
from kubewasp.wasm.component.session import ComponentSession, SharedInstance
from kubewasp.wasm.core.instance_pool import HIGH_WATER, checked_hooks
from kubewasp.wasm.hook_runner import Description, PoolStats

if TYPE_CHECKING:
    from kubewasp.wasm.component.component_module import ComponentProgram
    from kubewasp.wasm.guest_link import Link
    from kubewasp.wasm.hook_runner import Runner
    from kubewasp.wasm.limits import Limits


class ComponentPool:
    """Implements `Pool`."""

    def __init__(self, program: ComponentProgram, limits: Limits, link: Link, *, config: str, severity: int) -> None:
        self.stats = PoolStats()
        self._program = program
        self._limits = limits
        self._link = link
        self._config = config
        self._severity = severity
        self._lock = threading.Lock()
        self._cycles = itertools.count(1)
        self._shared = self._new_instance()
        told = self._shared.instance.description
        self.description = Description(
            hooks=checked_hooks(told.hooks),
            cluster_events=told.events or ALL_EVENTS,
            signature=told.signature,
            start_logs=told.logs,
        )

    @property
    def memory_bytes(self) -> int:
        return self._shared.memory

    def acquire(self) -> ComponentSession:
        with self._lock:
            if self._shared.instance.broken or self._shared.is_retired:
                self._shared = self._new_instance()
            self._shared.sessions += 1
            return ComponentSession(self._shared, next(self._cycles), self._limits, self._link)

    def release(self, runner: Runner) -> None:
        session = cast("ComponentSession", runner)
        shared = session.shared
        with self._lock:
            shared.sessions -= 1
            if session.broken and not shared.is_counted:
                shared.instance.broken = shared.is_counted = True
                self.stats.broken += 1
            elif not shared.instance.broken:
                shared.forget.append(session.cycle)
                if shared.memory > self._limits.memory * HIGH_WATER and not shared.is_retired:
                    shared.is_retired = True
                    self.stats.recycled += 1

    def _new_instance(self) -> SharedInstance:
        instance = ComponentInstance(
            self._program, self._limits, name=self._link.plugin, config=self._config, severity=self._severity
        )
        self.stats.created += 1
        for line in instance.description.logs:
            self._link.log(line)
        return SharedInstance(instance, NodeView(with_pods=instance.description.wants_pods))
