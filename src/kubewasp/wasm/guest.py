"""A loaded guest: what it says of itself, and the cycles of its pods."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

from kubewasp.framework.handle import DetachedHandle, Handle
from kubewasp.framework.observer import NO_OBSERVER, SchedulerObserver
from kubewasp.state.node_objects import Nodes
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.core.guest_module import AnyProgram, load_program
from kubewasp.wasm.evaluation import Evaluation, evaluate
from kubewasp.wasm.guest_cycle import Cycle
from kubewasp.wasm.guest_link import Link
from kubewasp.wasm.limits import Limits
from kubewasp.wasm.source import fetch

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from kubewasp.wasm.hook_runner import AnyPod, PoolStats

FailurePolicy = Literal["Fail", "Ignore"]


class Guest:
    """A wasm plugin, loaded once and used for many pods, from any thread.

    >>> guest = Guest.load("nodenumber.wasm")                          # doctest: +SKIP
    >>> guest.evaluate(pod, nodes).best                                # doctest: +SKIP
    'node-7'
    """

    def __init__(
        self,
        program: AnyProgram,
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
        self.observer: SchedulerObserver = NO_OBSERVER
        self.link = Link(name, handle or DetachedHandle())
        self.pool = program.pool(self.limits, self.link, config=config, args=args, severity=log_severity)
        described = self.pool.description
        self.hooks = described.hooks
        self.cluster_events = described.cluster_events
        self.signature = described.signature
        self.start_logs = described.start_logs

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
        return self.link.handle

    @handle.setter
    def handle(self, handle: Handle) -> None:
        self.link.handle = handle

    @property
    def stats(self) -> PoolStats:
        return self.pool.stats

    def cycle(self, pod: AnyPod, nodes: NodeTable | Nodes | Iterable[Mapping[str, Any]] = ()) -> Cycle:
        """A scheduling cycle for one pod: an instance of its own until it is closed. Use it in a `with` statement.

        A table has pods on its nodes and is kept up to date; nodes alone are read anew for every cycle.
        """
        if isinstance(nodes, NodeTable):
            return Cycle(self, pod, nodes.objects, nodes)
        given = nodes if isinstance(nodes, Nodes) else Nodes(nodes)
        return Cycle(self, pod, given, NodeTable.of(given) if self.program.uses_numbers else None)

    def evaluate(self, pod: AnyPod, nodes: NodeTable | Nodes | Iterable[Mapping[str, Any]]) -> Evaluation:
        """What the guest makes of a pod: the nodes it lets pass and their scores, as a scheduler would ask."""
        with self.cycle(pod, nodes) as cycle:
            return evaluate(cycle)
