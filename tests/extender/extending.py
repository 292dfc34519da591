"""Extender in the test process: plugins in Python or wasm, and request bodies of kube-scheduler."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kubewasp.clock import SYSTEM_CLOCK, Clock
from kubewasp.extender import verb_plugins
from kubewasp.extender.sent_nodes import SentNodes
from kubewasp.extender.service import ExtenderService
from kubewasp.framework.handle import ReadOnlyClient
from kubewasp.framework.plugin import NodeByNode, Plugin
from kubewasp.framework.registry import Registry
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.nodes import Node
from kubewasp.k8s.pods import Pod
from kubewasp.scheduler.composition import Environment, compose
from kubewasp.scheduler.scheduler import Scheduler
from kubewasp.wasm.guest_loader import GuestLoader
from tests.framework.configs import read

Json = dict[str, Any]


class Zones(NodeByNode):
    """Closes nodes by their `closed` label (for good, if it says so), and scores by their `points` label."""

    name = "Zones"

    def __init__(self, _args: Mapping[str, Any], _handle: Any) -> None:
        pass

    def filter_node(self, state: Any, pod: Pod, node: Node, pods: Sequence[Pod]) -> Status:
        closed = node.labels.get("closed")
        codes = {"now": Code.UNSCHEDULABLE, "for-good": Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "broken": Code.ERROR}
        return Status(codes[closed], f"closed {closed}") if closed in codes else SUCCESS

    def score_node(self, state: Any, pod: Pod, node: Node, pods: Sequence[Pod]) -> int:
        points = node.labels.get("points", "")
        return int(points) if points.isdecimal() else 0


def profile(*plugins: str, name: str = "default-scheduler", weights: Sequence[int] = (), **wasm: object) -> Json:
    enabled = [{"name": item} for item in (*plugins, *wasm)]
    for item, weight in zip(enabled, weights, strict=False):
        item["weight"] = weight  # type: ignore[assignment]
    args = [{"name": item, "args": {"guestURL": f"file://{path}"}} for item, path in wasm.items()]
    return {"schedulerName": name, "plugins": {"multiPoint": {"enabled": enabled}}, "pluginConfig": args}


def bare_scheduler(clock: Clock = SYSTEM_CLOCK) -> Scheduler:
    """The state of a scheduler, without profiles."""
    return compose(Environment(clock=clock, client=ReadOnlyClient()))


def service(
    *profiles: Json,
    classes: Mapping[str, type[Plugin]] | None = None,
    watching: bool = False,
    managed: Collection[str] = (),
    scheduler: Scheduler | None = None,
) -> ExtenderService:
    """With `watching`, the table is filled by the test, through the scheduler that it gives."""
    scheduler = scheduler or bare_scheduler()
    registry = Registry(wasm=GuestLoader(), plugins={"Zones": Zones, **(classes or {})})
    asked = verb_plugins.restricted(registry.profiles(read(profiles=list(profiles))), all_plugins=False)
    frameworks = verb_plugins.frameworks(registry, asked, scheduler.handle)
    sent = None if watching else SentNodes(scheduler.events, scheduler.clock)
    return ExtenderService(scheduler.table, frameworks, sent=sent, managed=managed)


def pod(name: str = "web-1", **spec: Any) -> Json:
    return {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"}, "spec": spec}


def node(name: str, version: str = "1", **labels: str) -> Json:
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": version, "labels": labels}
    return {"metadata": metadata, "status": {"allocatable": {"cpu": "4", "pods": "10"}}}


def whole(*nodes: Json, asking: Json | None = None) -> bytes:
    """The body of filter and prioritize with whole nodes."""
    listed = {"metadata": {}, "items": list(nodes)}
    return json.dumps({"Pod": asking or pod(), "Nodes": listed, "NodeNames": None}).encode()


def named(*names: str, asking: Json | None = None) -> bytes:
    """The same with names only."""
    return json.dumps({"Pod": asking or pod(), "Nodes": None, "NodeNames": list(names)}).encode()


def scores(answer: bytes) -> dict[str, int]:
    return {item["Host"]: item["Score"] for item in json.loads(answer)}
