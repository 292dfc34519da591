"""Extender service: from request bodies to response bodies. All verbs but `bind` run on the owner thread."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from kubewasp.apiserver.errors import ApiError
from kubewasp.extender import protocol
from kubewasp.extender.decider import Decider, PluginFailure
from kubewasp.extender.protocol import ProtocolError
from kubewasp.k8s.codec import encode
from kubewasp.k8s.errors import ManifestError, quoted
from kubewasp.k8s.pods import PodParser, placed_on

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from kubewasp.apiserver.writes import ClusterWrites
    from kubewasp.extender.protocol import BindingArgs, ExtenderArgs, Manifest, PreemptionArgs, Victims
    from kubewasp.extender.sent_nodes import SentNodes
    from kubewasp.framework.runtime import Framework
    from kubewasp.k8s.pods import Pod
    from kubewasp.state.node_table import NodeTable

logger = logging.getLogger(__name__)
_BIND_TIMEOUT_SECONDS: Final = 30.0
NAMES_ONLY: Final = (
    "NodeNames: names need a watched cluster: start kubewasp extender with --kubeconfig, or set nodeCacheCapable: false"
)


class ExtenderService:
    """Verbs for the plugins of all profiles. Nodes come from the table; `sent` fills it, if given."""

    def __init__(
        self,
        table: NodeTable,
        frameworks: Mapping[str, Framework],
        *,
        sent: SentNodes | None = None,
        managed: Collection[str] = (),
    ) -> None:
        self.table = table
        self._deciders = {name: Decider(framework, self.table) for name, framework in frameworks.items()}
        self._sent = sent
        self._managed = frozenset(managed)
        self._parser = PodParser()
        self._last: tuple[Manifest, Pod] | None = None
        self._strangers: set[str] = set()

    def replace(self, frameworks: Mapping[str, Framework]) -> None:
        """Takes the plugins of another version, between two requests."""
        self._deciders = {name: Decider(framework, self.table) for name, framework in frameworks.items()}
        self._strangers.clear()

    def filter(self, body: bytes) -> bytes:
        args = protocol.extender_args(body)
        pod = self._pod(args.pod)
        decider = self._decider(args.pod)
        if decider is None:
            return protocol.filter_result(args, {}, {})
        self._take_nodes(args)
        try:
            found = decider.filter(pod, args.names)
        except PluginFailure as failure:
            logger.error("Filter failed", extra={"pod": _key(args.pod), "err": str(failure)})  # noqa: TRY400
            return protocol.failure(str(failure))  # status 200: kube-scheduler shows the text
        return protocol.filter_result(args, found.failed, found.unresolvable)

    def prioritize(self, body: bytes) -> bytes:
        args = protocol.extender_args(body)
        pod = self._pod(args.pod)
        decider = self._decider(args.pod)
        if decider is None:
            return protocol.host_priorities(args.names, [0] * len(args.names))
        self._take_nodes(args)
        return protocol.host_priorities(args.names, decider.prioritize(pod, args.names))

    def preempt(self, body: bytes) -> bytes:
        """Candidates without those that would still be rejected; victims are unchanged."""
        args = protocol.preemption_args(body)
        pod = self._pod(args.pod)
        decider = self._decider(args.pod)
        if decider is None:
            return protocol.preemption_result(args.victims)
        # Nodes that were never sent cannot be evaluated and stay candidates.
        unseen = [name for name in args.victims if self._sent is not None and self.table.row(name) is None]
        judged = {name: item for name, item in args.victims.items() if name not in unseen}
        sent = list(self._placed(args, judged)) if self._sent is not None else []
        for victim in sent:
            self.table.add_pod(victim)
        try:
            kept = {*decider.preempt(pod, {name: self._on(name, item) for name, item in judged.items()}), *unseen}
        finally:
            for victim in sent:
                self.table.remove_pod(victim)
        return protocol.preemption_result({name: item for name, item in args.victims.items() if name in kept})

    # ------------------------------------------------------------------ inside

    def _decider(self, pod: Manifest) -> Decider | None:
        """The decider of the pod's profile, or the only one; None for an unmanaged pod."""
        if self._managed and not self._managed.intersection(_resources(pod)):
            return None
        if len(self._deciders) == 1:
            return next(iter(self._deciders.values()))
        name = str((pod.get("spec") or {}).get("schedulerName") or "default-scheduler")
        if name not in self._deciders and name not in self._strangers and len(self._strangers) < len(self._deciders):
            self._strangers.add(name)
            logger.warning("No profile for this scheduler name; its pods are not evaluated", extra={"scheduler": name})
        return self._deciders.get(name)

    def _take_nodes(self, args: ExtenderArgs) -> None:
        if self._sent is not None:
            if args.nodes is None:
                raise ProtocolError(NAMES_ONLY)
            self._sent.take(args.names, args.nodes)

    def _pod(self, manifest: Manifest) -> Pod:
        """The parsed pod, cached for the two or three requests about it."""
        if self._last is None or self._last[0] != manifest:
            self._last = manifest, self._parsed(manifest, "Pod")
        return self._last[1]

    def _parsed(self, manifest: Manifest, path: str) -> Pod:
        try:
            return self._parser.parse(manifest, encode("Pod", manifest))
        except ManifestError as error:
            raise ProtocolError(f"{path}.{error}") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ProtocolError(f"{path}: not a pod: {error}") from None

    def _placed(self, args: PreemptionArgs, judged: Mapping[str, Victims]) -> Iterator[Pod]:
        """Victims of the request, on their nodes; other pods are unknown without a watch."""
        for name in judged:
            for index, manifest in enumerate(args.victims[name].pods):
                yield placed_on(self._parsed(manifest, f"NodeNameToVictims[{quoted(name)}].Pods[{index}]"), name)

    def _on(self, node: str, victims: Victims) -> Sequence[Pod]:
        """The victims on the node, from the table."""
        row = self.table.row(node)
        there = {} if row is None else self.table.pods_on[row]
        return [there[uid] for uid in victims.uids if uid in there]


class Binder:
    """`bind` verb: the scheduler's bind request. For the event loop."""

    def __init__(self, writes: ClusterWrites) -> None:
        self._writes = writes
        self._parser = PodParser()
        self._under_way: set[asyncio.Task[bytes]] = set()

    async def bind(self, body: bytes) -> bytes:
        """Binds a pod; the bind is completed even after a disconnect of the client."""
        binding = asyncio.create_task(self._bound(protocol.binding_args(body)))
        self._under_way.add(binding)  # the loop keeps weak references only
        binding.add_done_callback(self._under_way.discard)
        return await asyncio.shield(binding)

    async def _bound(self, args: BindingArgs) -> bytes:
        metadata = {"name": args.name, "namespace": args.namespace, "uid": args.uid}
        error = ""
        try:
            async with asyncio.timeout(_BIND_TIMEOUT_SECONDS):
                await self._writes.bind(self._parser.parse({"metadata": metadata}), args.node)
        except ApiError as problem:
            error = str(problem)
        except TimeoutError:
            error = f"no response of the API server to the bind within {_BIND_TIMEOUT_SECONDS:g} s"
        if error:
            logger.error("Bind failed", extra={"pod": f"{args.namespace}/{args.name}", "node": args.node, "err": error})
        return protocol.failure(error)


def _resources(pod: Manifest) -> Iterator[str]:
    """Resources in the requests and limits of the containers, as in kube-scheduler."""
    spec: Mapping[str, Any] = pod.get("spec") or {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        amounts = container.get("resources") or {}
        yield from amounts.get("requests") or ()
        yield from amounts.get("limits") or ()


def _key(pod: Manifest) -> str:
    return f"{pod['metadata'].get('namespace') or 'default'}/{pod['metadata']['name']}"
