"""The instances of a core module: one for each pod that is under way, some kept for the next ones."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

from kubewasp.framework.cluster_events import ALL_EVENTS, ClusterEvent
from kubewasp.wasm import payloads
from kubewasp.wasm.core.abi import HOOKS, MAIN_HOOKS, STATE_HOOKS
from kubewasp.wasm.core.instance import GuestInstance
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.hook_runner import CLUSTER_EVENTS, Description, PoolStats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.wasm.core.guest_module import Program
    from kubewasp.wasm.guest_link import Link
    from kubewasp.wasm.hook_runner import Runner
    from kubewasp.wasm.limits import Limits

# Above this share of its memory limit an instance is replaced between cycles: some allocators never give anything back.
HIGH_WATER = 0.75
# Instances that wait for the next pods: some, and more while they take little memory. Pods being bound need many.
_FEW_IDLE, _MOST_IDLE, _IDLE_BYTES = 4, 64, 128 * 1024 * 1024


class InstancePool:
    """Implements `Pool`."""

    def __init__(
        self, program: Program, limits: Limits, link: Link, *, config: str, args: Sequence[str], severity: int
    ) -> None:
        self.stats = PoolStats()
        self.memory_bytes = 0
        self._program = program
        self._limits = limits
        self._link = link
        self._args = tuple(args)
        self._severity = severity
        self._idle: list[GuestInstance] = []
        self._lock = threading.Lock()
        heap = program.engine.heap
        text = config.encode()
        with heap.lock:
            self._config = (heap.place(text), len(text)) if text else (0, 0)
        first = self._new_instance()
        hooks = _hooks(program, first.implemented)
        self.description = Description(
            hooks=hooks,
            # Set in its start function, a signature holds for all pods.
            signature=first.take_signature(),
            start_logs=tuple(first.start_logs),
            cluster_events=self._ask_events(first) if "enqueue" in hooks else ALL_EVENTS,
        )
        self.release(first)

    def acquire(self) -> GuestInstance:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._new_instance()

    def release(self, runner: Runner) -> None:
        instance = cast("GuestInstance", runner)
        instance.clear()
        with self._lock:
            if instance.broken:
                self.stats.broken += 1
            elif self._measure(instance) > self._limits.memory * HIGH_WATER:
                self.stats.recycled += 1
            elif len(self._idle) < self._room_for(instance.memory_bytes):
                self._idle.append(instance)
                return
            self.memory_bytes -= instance.measured

    def _measure(self, instance: GuestInstance) -> int:
        """An instance that is in use cannot be asked: it counts with what it had when it was last given back."""
        size = instance.memory_bytes
        self.memory_bytes += size - instance.measured
        instance.measured = size
        return size

    def _room_for(self, size: int) -> int:
        """How many idle instances of that size are kept."""
        return min(max(_IDLE_BYTES // max(size, 1), _FEW_IDLE), _MOST_IDLE)

    def _new_instance(self) -> GuestInstance:
        instance = GuestInstance(
            self._program,
            self._limits,
            link=self._link,
            args=self._args,
            severity=self._severity,
            config_place=self._config[0] | self._config[1] << 32,
        )
        with self._lock:
            self.stats.created += 1
            self._measure(instance)
        for line in instance.start_logs:
            self._link.log(line)
        return instance

    def _ask_events(self, instance: GuestInstance) -> tuple[ClusterEvent, ...]:
        calls = instance.call(HOOKS["enqueue"])
        if calls.failure is not None:
            raise GuestLoadError(calls.failure.text)
        try:
            return payloads.cluster_events(calls.received.get(CLUSTER_EVENTS, b"")) or ALL_EVENTS
        except payloads.PayloadError as error:
            raise GuestLoadError(f'wasm: enqueue error: {error} (plugin "{self._link.plugin}")') from None

    def __del__(self) -> None:
        address, length = getattr(self, "_config", (0, 0))
        if length:
            heap = self._program.engine.heap
            with heap.lock:
                heap.retire(address, length)


def _hooks(program: Program, implemented: int | None) -> tuple[str, ...]:
    """Those that are exported and that the guest, if it says so, implements."""
    if implemented is None:
        found = tuple(program.hooks)
    else:
        found = checked_hooks(tuple(name for name, hook in program.hooks.items() if implemented >> hook.index & 1))
    if 0 < sum(name in found for name in STATE_HOOKS) < len(STATE_HOOKS):
        raise GuestLoadError(f"wasm: {', '.join(STATE_HOOKS)} go together: a guest has all of them or none")
    return found


def checked_hooks(found: tuple[str, ...]) -> tuple[str, ...]:
    """What a guest says it implements, if a plugin can be made of it."""
    if not any(name in MAIN_HOOKS for name in found) and found != ("prefilter",):
        raise GuestLoadError(
            "wasm: guest says that it implements "
            f"{', '.join(found) or 'nothing'}; it takes one of {', '.join(MAIN_HOOKS)}, or prefilter alone"
        )
    return found
