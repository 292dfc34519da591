"""Instances of a core module: one per pod in progress, and idle ones for the next pods."""

from __future__ import annotations

import itertools
import threading
from time import monotonic
from typing import TYPE_CHECKING, cast

from kubewasp.framework.cluster_events import ALL_EVENTS, ClusterEvent
from kubewasp.wasm import payloads
from kubewasp.wasm.core.core_instance import CoreInstance
from kubewasp.wasm.core.node_records import GuestResources
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest_runner import HIGH_WATER, GuestDescription, PoolStats, checked_hooks, declared_normalization
from kubewasp.wasm.hooks import CLUSTER_EVENTS, HOOKS, STATE_HOOKS

if TYPE_CHECKING:
    from kubewasp.framework.handle import Handle
    from kubewasp.wasm.core.core_module import CoreModule
    from kubewasp.wasm.guest_log import GuestLogSink
    from kubewasp.wasm.guest_runner import GuestRunner, GuestSettings
    from kubewasp.wasm.limits import Limits

# Idle instances: a few, and more while they take little memory. Pods that are being bound need many.
_FEW_IDLE, _MOST_IDLE, _IDLE_BYTES = 4, 64, 128 * 1024 * 1024
# Seconds after which an idle instance beyond the few is dropped: the peak of pods that needed it is over.
_IDLE_SECONDS = 60.0


class CorePool:
    """Implements `RunnerPool`."""

    def __init__(
        self, module: CoreModule, limits: Limits, settings: GuestSettings, handle: Handle, logs: GuestLogSink
    ) -> None:
        self.stats = PoolStats()
        self.memory_bytes = 0
        self._module = module
        self._limits = limits
        self._settings = settings
        self._handle = handle
        self._logs = logs
        self._resources = GuestResources(module.engine.resources)
        self._idle: list[CoreInstance] = []
        self._is_closed = False
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        heap = module.engine.heap
        text = settings.config.encode()
        with heap.lock:
            self._config = (heap.place(text), len(text)) if text else (0, 0)
        first = self._new_instance()
        hooks = _hooks(module, first.implemented)
        # Set in a start function, a signature holds for all pods.
        signature = first.take_signature()
        # An SDK imports `pod_signature` and exports `signpod` for all plugins, of which few implement the hook.
        signs_by_import = module.uses_signatures and "signpod" not in module.hooks
        declared = first.normalization
        self.description = GuestDescription(
            hooks=hooks,
            signature=signature,
            may_sign=bool(signature) or signs_by_import or "signpod" in hooks,
            purity=first.purity,
            normalization=None if declared is None else declared_normalization(*declared, hooks),
            start_log=first.start_log,
            cluster_events=self._events(first) if "enqueue" in hooks else ALL_EVENTS,
        )
        self.release(first)

    def acquire(self) -> CoreInstance:
        with self._lock:
            instance = self._idle.pop() if self._idle else None
        instance = instance or self._new_instance()
        instance.served += 1
        return instance

    def release(self, runner: GuestRunner) -> None:
        instance = cast("CoreInstance", runner)
        instance.inputs.clear()
        instance.cycle_time.left = self._limits.cycle_timeout
        with self._lock:
            if instance.broken:
                self.stats.broken += 1
            elif self._measure(instance) > self._limits.memory * HIGH_WATER:
                self.stats.recycled += 1
            elif self._may_be_kept(instance):
                self._keep(instance)
                return
            self.memory_bytes -= instance.measured

    def _may_be_kept(self, instance: CoreInstance) -> bool:
        """Whether the instance may serve another pod, and there is room for it."""
        if 0 < self._limits.pods_per_instance <= instance.served:
            return False
        return not self._is_closed and len(self._idle) < self._room_for(instance.memory_bytes)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            self.memory_bytes -= sum(instance.measured for instance in idle)

    def _keep(self, instance: CoreInstance) -> None:
        """Keeps an idle instance, and drops the longest idle one after a while, except in a simulation."""
        instance.idle_since = now = monotonic() if self._settings.repeatable is None else 0.0
        self._idle.append(instance)
        if len(self._idle) > _FEW_IDLE and now - self._idle[0].idle_since > _IDLE_SECONDS:
            self.memory_bytes -= self._idle.pop(0).measured

    def _measure(self, instance: CoreInstance) -> int:
        """Updates the memory of all instances: one in use counts with its size at its last release."""
        size = instance.memory_bytes
        self.memory_bytes += size - instance.measured
        instance.measured = size
        return size

    def _room_for(self, size: int) -> int:
        """Number of idle instances of that size to keep."""
        return min(max(_IDLE_BYTES // max(size, 1), _FEW_IDLE), _MOST_IDLE)

    def _new_instance(self) -> CoreInstance:
        instance = CoreInstance(
            self._module,
            self._limits,
            self._settings,
            handle=self._handle,
            logs=self._logs,
            resources=self._resources,
            config_place=self._config[0] | self._config[1] << 32,
            source=self._settings.source(next(self._numbers)),
        )
        with self._lock:
            self.stats.created += 1
            self._measure(instance)
        return instance

    def _events(self, instance: CoreInstance) -> tuple[ClusterEvent, ...]:
        """The cluster events of the guest's `enqueue`."""
        outcome = instance.call(HOOKS["enqueue"])
        if outcome.failure is not None:
            raise GuestLoadError(outcome.failure.text)
        try:
            return payloads.cluster_events(outcome.received.get(CLUSTER_EVENTS, b"")) or ALL_EVENTS
        except payloads.PayloadError as error:
            raise GuestLoadError(f'wasm: enqueue error: {error} (plugin "{self._settings.name}")') from None

    def __del__(self) -> None:
        address, length = getattr(self, "_config", (0, 0))
        if length:
            heap = self._module.engine.heap
            with heap.lock:
                heap.retire(address, length)


def _hooks(module: CoreModule, implemented: int | None) -> tuple[str, ...]:
    """The exported hooks that the guest implements."""
    if implemented is None:
        found = tuple(module.hooks)
    else:
        found = checked_hooks(tuple(name for name, hook in module.hooks.items() if implemented >> hook.index & 1))
    if 0 < sum(name in found for name in STATE_HOOKS) < len(STATE_HOOKS):
        raise GuestLoadError(f"wasm: {', '.join(STATE_HOOKS)} go together: a guest has all of them or none")
    return found
