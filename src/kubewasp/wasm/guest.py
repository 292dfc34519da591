"""A loaded guest: its program, its configuration, and the pool of its instances."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

from kubewasp.cluster.nodes import Nodes
from kubewasp.framework.events import ALL_EVENTS, ClusterEvent
from kubewasp.framework.handle import Handle, NoScheduler
from kubewasp.k8s.codec import encode
from kubewasp.wasm import payloads
from kubewasp.wasm.abi import HOOKS
from kubewasp.wasm.cycle import Cycle
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.evaluation import Evaluation, evaluate
from kubewasp.wasm.instance import CLUSTER_EVENTS, GuestInstance
from kubewasp.wasm.limits import Limits
from kubewasp.wasm.program import Program, load_program
from kubewasp.wasm.source import fetch

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

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
        self._link = _Link(handle or NoScheduler())
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

    @property
    def hooks(self) -> tuple[str, ...]:
        return tuple(self.program.hooks)

    def cycle(self, pod: Mapping[str, Any] | bytes, nodes: Nodes | Iterable[Mapping[str, Any]] = ()) -> Cycle:
        """A scheduling cycle for one pod: an instance of its own until it is closed. Use it in a `with` statement."""
        encoded = pod if isinstance(pod, bytes) else encode("Pod", pod)
        return Cycle(self, encoded, nodes if isinstance(nodes, Nodes) else Nodes(nodes))

    def evaluate(self, pod: Mapping[str, Any] | bytes, nodes: Nodes | Iterable[Mapping[str, Any]]) -> Evaluation:
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
            name=self.name,
            args=self._args,
            severity=self._severity,
            config_place=self._config[0] | self._config[1] << 32,
            waiting_pods=partial(_waiting_pod, self._link),  # not bound to the guest, which would never be freed
        )
        with self._lock:
            self.stats.created += 1
        for line in instance.start_logs:
            self.log(line.level, line.text)
        return instance

    def log(self, level: int, text: str) -> None:
        logger.log(level, "%s: %s", self.name, text)

    def _ask_events(self, instance: GuestInstance) -> tuple[ClusterEvent, ...]:
        if "enqueue" not in self.program.hooks:
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


@dataclass(slots=True)
class _Link:
    """What instances know of their guest: the handle of the day."""

    handle: Handle


def _waiting_pod(link: _Link, reject: bool, uid: str) -> bytes | None:
    if reject:
        return b"\1" if link.handle.reject_waiting_pod(uid) else None
    return link.handle.get_waiting_pod(uid)
