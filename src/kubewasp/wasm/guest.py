"""`Guest`: a loaded wasm plugin. Public API, with `Limits` (limits.py) and `Evaluation` (evaluation.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from kubewasp.errors import KubewaspError
from kubewasp.framework.handle import DetachedHandle, Handle
from kubewasp.framework.unexpected import described
from kubewasp.state.node_objects import Nodes
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.evaluation import Evaluation, evaluate
from kubewasp.wasm.event_policy import EventPolicy
from kubewasp.wasm.guest_cycle import GuestCycle
from kubewasp.wasm.guest_log import LOGGER_SINK
from kubewasp.wasm.guest_module import GuestModule, load_guest_module
from kubewasp.wasm.guest_runner import GuestSettings
from kubewasp.wasm.hook_caller import NO_OBSERVER, GuestObserver
from kubewasp.wasm.limits import Limits
from kubewasp.wasm.source import GuestSources, default_name

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from kubewasp.input_file import StandardInput
    from kubewasp.registry.settings import PullPolicy
    from kubewasp.wasm.guest_log import GuestLogSink
    from kubewasp.wasm.guest_runner import AnyPod, PoolStats, RunnerPool
    from kubewasp.wasm.repeatable import Repeatable

FailurePolicy = Literal["Fail", "Ignore"]


def _started(
    module: GuestModule, limits: Limits, settings: GuestSettings, handle: Handle, logs: GuestLogSink
) -> RunnerPool:
    try:
        return module.start(limits, settings, handle, logs)
    except KubewaspError:
        raise
    except Exception as error:
        raise GuestLoadError(f'wasm: start error: {described(error)} (plugin "{settings.name}")') from error


class Guest:
    """A wasm plugin, loaded once and used for many pods, from any thread.

    `Guest.load` is the usual way to get one. Pods and nodes are manifests (dicts) or protobuf bytes, as from a
    Kubernetes API server.

    Example:
        >>> import kubewasp                                                # doctest: +SKIP
        >>> guest = kubewasp.Guest.load("nodenumber.wasm")                 # doctest: +SKIP
        >>> result = guest.evaluate(pod, nodes)                            # doctest: +SKIP
        >>> result.best, result.scores                                     # doctest: +SKIP
        ('node-7', {'node-1': 0, 'node-7': 10})

    Attributes:
        module: The compiled guest.
        name: The plugin's name in statuses, logs and metrics.
        limits: Limits of memory, time and payloads.
        failure_policy: `Fail` or `Ignore`: the effect of a failed hook on the pod.
        hooks: Names of the hooks that the guest implements.
        cluster_events: Events that may make a pod schedulable.
        signature: A signature that holds for all pods; 0 if there is none.
        may_sign: Whether the guest may sign pods.
        purity: The guest's declaration that its answers depend on the pod and one node alone.
        normalization: The normalization of scores that the guest declares, in place of a hook.
        start_logs: Log lines of the start function.
        observer: Metrics of calls.
        logs: Sink of log lines and printed output.
        handle: The scheduler of cycles that are not given one of their own.
    """

    def __init__(
        self,
        module: GuestModule,
        *,
        name: str = "guest",
        config: str = "",
        args: Sequence[str] = (),
        log_severity: int = 0,
        limits: Limits | None = None,
        failure_policy: FailurePolicy = "Fail",
        handle: Handle | None = None,
        observer: GuestObserver = NO_OBSERVER,
        logs: GuestLogSink = LOGGER_SINK,
        repeatable: Repeatable | None = None,
    ) -> None:
        """Starts a compiled guest; the parameters are those of `load`."""
        if failure_policy not in ("Fail", "Ignore"):
            raise ValueError(f"failurePolicy: expected Fail or Ignore, got {failure_policy!r}")
        self.module: Final = module
        self.name: Final = name
        self.limits: Final = limits or Limits()
        self.failure_policy: Final = failure_policy
        self.observer: Final = observer
        self.events: Final = EventPolicy(name)
        self.logs: Final = logs
        self.handle: Final = handle or DetachedHandle()
        settings = GuestSettings(name, config, args, log_severity, repeatable)
        self.pool: Final = _started(module, self.limits, settings, self.handle, logs)
        described = self.pool.description
        self.hooks: Final = described.hooks
        self.cluster_events: Final = described.cluster_events
        self.signature: Final = described.signature
        self.may_sign: Final = described.may_sign
        self.normalization: Final = described.normalization
        self.purity: Final = described.purity
        self.start_logs: Final = described.start_log.log_lines()

    @classmethod
    def load(
        cls,
        source: str | os.PathLike[str] | StandardInput | bytes,
        *,
        sha256: str | None = None,
        name: str | None = None,
        config: str = "",
        args: Sequence[str] = (),
        log_severity: int = 0,
        limits: Limits | Mapping[str, float] | None = None,
        failure_policy: FailurePolicy = "Fail",
        use_cache: bool = True,
        handle: Handle | None = None,
        observer: GuestObserver = NO_OBSERVER,
        logs: GuestLogSink = LOGGER_SINK,
        repeatable: Repeatable | None = None,
        pull_policy: PullPolicy | None = None,
        sources: GuestSources | None = None,
    ) -> Guest:
        """Loads and starts a guest.

        Args:
            source: A path, a `file://`, `http://`, `https://` or `oci://` address, standard input, or the wasm itself.
                A file ending in `.wat` is WebAssembly text.
            sha256: The expected SHA-256 of the file, or of the module in a registry, in hexadecimal digits.
            name: The plugin's name; by default that of the file.
            config: The configuration that the guest reads (`guestConfig`).
            args: Arguments of a WASI command.
            log_severity: The least severity to log: 0 info, 1 warning, 2 error, 3 fatal.
            limits: `Limits`, or a mapping of their names to seconds and bytes.
            failure_policy: `Fail` turns a failed hook into an Error status, `Ignore` continues without the plugin.
            use_cache: Whether compiled code may come from the cache on disk.
            handle: The scheduler for guests that use waiting pods, events or the time; none by default.
            observer: Metrics of calls; none by default.
            logs: Sink of log lines and printed output; Python's logger `kubewasp.guest` by default.
            repeatable: Seed and clock in place of the machine's random numbers and clock, for simulations.
            pull_policy: `Always`, `IfNotPresent` or `Never` for `oci://`; by default `Always` for `latest` alone.
            sources: Settings of registries and trust; those of the user, and no trust policy, by default.

        Raises:
            GuestLoadError: The guest cannot be used; the text has the cause.
            LimitError: A limit is unknown or out of range.
        """
        bounds = limits if isinstance(limits, Limits) else Limits.from_mapping(limits or {})
        if isinstance(source, bytes):
            wasm, name = source, name or "guest"
        else:
            places = sources or GuestSources()
            fetched = places.fetch(source, sha256=sha256, max_bytes=bounds.guest_size, pull_policy=pull_policy)
            wasm, name = fetched.wasm, default_name(source) if name is None else name
        return cls(
            load_guest_module(wasm, bounds, use_cache=use_cache),
            name=name,
            config=config,
            args=args,
            log_severity=log_severity,
            limits=bounds,
            failure_policy=failure_policy,
            handle=handle,
            observer=observer,
            logs=logs,
            repeatable=repeatable,
        )

    @property
    def stats(self) -> PoolStats:
        """Counts of instances: created, broken, recycled."""
        return self.pool.stats

    def close(self) -> None:
        """Frees the idle instances. Cycles in progress, and later ones, still work."""
        self.pool.close()

    def cycle(
        self,
        pod: AnyPod,
        nodes: NodeTable | Nodes | Iterable[Mapping[str, object]] = (),
        *,
        handle: Handle | None = None,
    ) -> GuestCycle:
        """A scheduling cycle for one pod, to call hooks one by one; use it in a `with` statement.

        Args:
            pod: The pod: a manifest, protobuf bytes, or a parsed pod.
            nodes: Manifests, a `Nodes` to use for many pods, or a node table, which has pods on its nodes.
            handle: The scheduler of this cycle, if it is not the guest's.

        Example:
            >>> with guest.cycle(pod, nodes) as cycle:                     # doctest: +SKIP
            ...     cycle.filter().rejected
            {'node-3': Status(Unschedulable, 'no GPU')}
        """
        if isinstance(nodes, NodeTable):
            return GuestCycle(self, pod, nodes.objects, nodes, handle or self.handle)
        given = nodes if isinstance(nodes, Nodes) else Nodes(nodes)
        table = NodeTable.of(given) if self.module.uses_records else None
        return GuestCycle(self, pod, given, table, handle or self.handle)

    def evaluate(self, pod: AnyPod, nodes: NodeTable | Nodes | Iterable[Mapping[str, object]]) -> Evaluation:
        """Filters and scores nodes for a pod, in the framework's order: PreFilter, Filter, PreScore, Score.

        Args:
            pod: The pod: a manifest, protobuf bytes, or a parsed pod.
            nodes: Manifests, a `Nodes` to use for many pods, or a node table.

        Example:
            >>> guest.evaluate(pod, nodes).rejected                        # doctest: +SKIP
            {'node-3': Status(Unschedulable, 'no GPU')}
        """
        with self.cycle(pod, nodes) as cycle:
            return evaluate(cycle)
