"""Instances of a component: one for all pods, replaced when it is broken or has grown too large.

An instance that has grown takes no new pods, and is dropped with the last of its pods.
"""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, cast

from kubewasp.framework.cluster_events import ALL_EVENTS
from kubewasp.wasm.component.component_instance import ComponentInstance
from kubewasp.wasm.component.node_updates import NodeView
from kubewasp.wasm.component.session import ComponentSession, SharedInstance
from kubewasp.wasm.guest_log import NO_LOG, START, HookLog
from kubewasp.wasm.guest_runner import HIGH_WATER, GuestDescription, PoolStats, Purity, checked_hooks

if TYPE_CHECKING:
    from kubewasp.clock import Clock
    from kubewasp.wasm.component.component_module import ComponentModule
    from kubewasp.wasm.guest_log import GuestLogSink
    from kubewasp.wasm.guest_runner import GuestRunner, GuestSettings
    from kubewasp.wasm.limits import Limits


_WATCHED_CYCLES = 64


class ComponentPool:
    """Implements `RunnerPool`."""

    def __init__(
        self, module: ComponentModule, limits: Limits, settings: GuestSettings, clock: Clock, logs: GuestLogSink
    ) -> None:
        self.stats = PoolStats()
        self._module = module
        self._limits = limits
        self._settings = settings
        self._clock = clock
        self._logs = logs
        self._lock = threading.Lock()
        self._cycles = itertools.count(1)
        self._watched_until = 0
        self._shared = self._new_instance()
        described = self._shared.instance.description
        self.description = GuestDescription(
            hooks=checked_hooks(described.hooks),
            cluster_events=described.events or ALL_EVENTS,
            signature=described.signature,
            may_sign=described.signs or bool(described.signature),
            purity=Purity(reports=True) if described.pure else None,
            normalization=described.normalization,
            start_log=described.log,
        )

    @property
    def memory_bytes(self) -> int:
        return self._shared.memory

    def acquire(self) -> ComponentSession:
        with self._lock:
            if self._shared.instance.broken or self._shared.is_retired or self._is_used_up(self._shared):
                self._shared = self._new_instance(watched=_should_be_watched(self._shared))
            self._shared.sessions += 1
            self._shared.served += 1
            return ComponentSession(self._shared, next(self._cycles), self._limits, self._settings.name)

    def release(self, runner: GuestRunner) -> None:
        session = cast("ComponentSession", runner)
        shared = session.shared
        with self._lock:
            shared.sessions -= 1
            if session.broken and not shared.is_counted:
                shared.instance.broken = shared.is_counted = True
                self.stats.broken += 1
            elif not shared.instance.broken:
                shared.forget.append(session.cycle)
                shared.is_retired |= shared.instance.watched and session.cycle >= self._watched_until
                if shared.memory > self._limits.memory * HIGH_WATER and not shared.is_retired:
                    shared.is_retired = True
                    self.stats.recycled += 1

    def _is_used_up(self, shared: SharedInstance) -> bool:
        return 0 < self._limits.pods_per_instance <= shared.served

    def close(self) -> None:
        """Nothing to free: the only instance is the sessions' own, and ends with the pool."""

    def _new_instance(self, *, watched: bool = False) -> SharedInstance:
        """An instance; a watched one serves some pods only, for it is slow."""
        if watched:
            self._watched_until = next(self._cycles) + _WATCHED_CYCLES
        source = self._settings.source(self.stats.created)
        instance = ComponentInstance(self._module, self._limits, self._settings, source, watched=watched)
        self.stats.created += 1
        log = instance.description.log
        if log is not NO_LOG:
            self._logs.write(HookLog(self._settings.name, START, "", self._clock.wall(), log))
        least = self._module.footprint.initial
        view = NodeView(with_pods=instance.description.wants_pods)
        return SharedInstance(instance, view, memory=least, least_memory=least)


def _should_be_watched(ended: SharedInstance) -> bool:
    """Whether the successor of an instance should publish its position: the time limit ended it, and it did not."""
    return ended.failure is not None and ended.failure.kind == "timeout" and not ended.instance.watched
