"""A loaded guest: its program, its configuration, and the pool of its instances."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

from kubewasp.cluster.nodes import Nodes
from kubewasp.cluster.table import NodeTable
from kubewasp.framework.events import ALL_EVENTS, ClusterEvent
from kubewasp.framework.handle import Handle, NoScheduler
from kubewasp.wasm import payloads
from kubewasp.wasm.abi import HOOKS, MAIN_HOOKS
from kubewasp.wasm.cycle import Cycle
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.evaluation import Evaluation, evaluate
from kubewasp.wasm.instance import CLUSTER_EVENTS, GuestInstance
from kubewasp.wasm.limits import Limits
from kubewasp.wasm.link import Link
from kubewasp.wasm.program import Program, load_program
from kubewasp.wasm.source import fetch

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from kubewasp.k8s.pods import Pod

logger = logging.getLogger(__name__)

FailurePolicy = Literal["Fail", "Ignore"]
# Above this share of its memory limit an instance is replaced between cycles: some allocators never give anything back.
_HIGH_WATER = 0.75
_MAX_IDLE = 4


@dataclass(slots=True)
class PoolStats:
    """How instances came and went."""

    created: int = 0
    broken: int = 0
    recycled: int = 0


class Guest:
    """A wasm plugin, loaded once and used for many pods, from any thread.

    >>> guest = Guest.load("nodenumber.wasm")                          # doctest: +SKIP
    >>> guest.evaluate(pod, nodes).best                                # doctest: +SKIP
    'node-7'
    """

    def __init__(
        self,
        program: Program,
        *,
        name: str = "guest",
        config: str = "",
        args: Sequence[str] = (),
        log_severity: int = 0,
        limits: Limits | None = None,
        failure_policy: FailurePolicy = "Fail",
        handle: Handle | None = None,
    ) -> None:
        if failure_policy not in ("Fail", "Ignore"):
            raise ValueError(f"failurePolicy: expected Fail or Ignore, got {failure_policy!r}")
        self.program = program
        self.name = name
        self.limits = limits or Limits()
        self.failure_policy = failure_policy
        self._link = Link(name, handle or NoScheduler(), program.engine.resources)
        self.stats = PoolStats()
        self._args = tuple(args)
        self._severity = log_severity
        self._idle: list[GuestInstance] = []
        self._lock = threading.Lock()
        heap = program.engine.heap
        text = config.encode()
        with heap.lock:
            self._config = (heap.place(text), len(text)) if text else (0, 0)
        first = self.new_instance()
        # Set in its start function, a signature holds for all pods.
        self.signature = first.take_signature()
        self.hooks = _hooks(program, first.implemented)
        self.start_logs = tuple(first.start_logs)
        self.cluster_events = self._ask_events(first)
        self.release(first)

    @classmethod
    def load(
        cls,
        source: str | os.PathLike[str] | bytes,
        *,
        sha256: str | None = None,
        name: str | None = None,
        limits: Limits | Mapping[str, Any] | None = None,
        use_cache: bool = True,
        **settings: Any,
    ) -> Guest:
        """Loads a guest from a path, a `file://`, `http://` or `https://` address, or from the wasm itself.

        Settings are those of the constructor: `config`, `args`, `log_severity`, `failure_policy`, `handle`.
        """
        bounds = limits if isinstance(limits, Limits) else Limits.from_mapping(limits or {})
        wasm = source if isinstance(source, bytes) else fetch(source, sha256=sha256, max_bytes=bounds.guest_size)
        if name is None:
            name = "guest" if isinstance(source, bytes) else PurePath(str(source).split("?")[0]).stem or "guest"
        return cls(load_program(wasm, bounds, use_cache=use_cache), name=name, limits=bounds, **settings)

    @property
    def handle(self) -> Handle:
        """The scheduler that guests may ask; a guest is loaded before there is one."""
        return self._link.handle

    @handle.setter
    def handle(self, handle: Handle) -> None:
        self._link.handle = handle

    def waiting_pods(self) -> bytes:
        """The pods that wait for permission, as the items of a PodList."""
        return self._link.waiting_pods()

    def cycle(
        self, pod: Pod | Mapping[str, Any] | bytes, nodes: NodeTable | Nodes | Iterable[Mapping[str, Any]] = ()
    ) -> Cycle:
        """A scheduling cycle for one pod: an instance of its own until it is closed. Use it in a `with` statement.

        A table has pods on its nodes and is kept up to date; nodes alone are read anew for every cycle.
        """
        if isinstance(nodes, NodeTable):
            return Cycle(self, pod, nodes.objects, nodes)
        given = nodes if isinstance(nodes, Nodes) else Nodes(nodes)
        return Cycle(self, pod, given, NodeTable.of(given) if self.program.uses_numbers else None)

    def evaluate(
        self, pod: Pod | Mapping[str, Any] | bytes, nodes: NodeTable | Nodes | Iterable[Mapping[str, Any]]
    ) -> Evaluation:
        """What the guest makes of a pod: the nodes it lets pass and their scores, as a scheduler would ask."""
        with self.cycle(pod, nodes) as cycle:
            return evaluate(cycle)

    # ------------------------------------------------------------------ pool

    def acquire(self) -> GuestInstance:
        """An instance for one pod. Give it back with `release` when the pod's binding cycle is over."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self.new_instance()

    def release(self, instance: GuestInstance) -> None:
        instance.clear()
        with self._lock:
            if instance.broken:
                self.stats.broken += 1
            elif instance.memory_bytes > self.limits.memory * _HIGH_WATER:
                self.stats.recycled += 1
            elif len(self._idle) < _MAX_IDLE:
                self._idle.append(instance)

    def new_instance(self) -> GuestInstance:
        instance = GuestInstance(
            self.program,
            self.limits,
            link=self._link,
            args=self._args,
            severity=self._severity,
            config_place=self._config[0] | self._config[1] << 32,
        )
        with self._lock:
            self.stats.created += 1
        for line in instance.start_logs:
            self.log(line.level, line.text)
        return instance

    def log(self, level: int, text: str) -> None:
        logger.log(level, "%s: %s", self.name, text)

    def _ask_events(self, instance: GuestInstance) -> tuple[ClusterEvent, ...]:
        if "enqueue" not in self.hooks:
            return ALL_EVENTS
        calls = instance.call(HOOKS["enqueue"])
        if calls.failure is not None:
            raise GuestLoadError(calls.failure.text)
        try:
            return payloads.cluster_events(calls.received.get(CLUSTER_EVENTS, b"")) or ALL_EVENTS
        except payloads.PayloadError as error:
            raise GuestLoadError(f'wasm: enqueue error: {error} (plugin "{self.name}")') from None

    def __del__(self) -> None:
        address, length = getattr(self, "_config", (0, 0))
        if length:
            heap = self.program.engine.heap
            with heap.lock:
                heap.retire(address, length)


def _hooks(program: Program, implemented: int | None) -> tuple[str, ...]:
    """Those that are exported and that the guest, if it says so, implements."""
    if implemented is None:
        return tuple(program.hooks)
    found = tuple(name for name, hook in program.hooks.items() if implemented >> hook.index & 1)
    if not any(name in MAIN_HOOKS for name in found) and found != ("prefilter",):
        raise GuestLoadError(
            "wasm: guest says that it implements "
            f"{', '.join(found) or 'nothing'}; it takes one of {', '.join(MAIN_HOOKS)}, or prefilter alone"
        )
    return found
