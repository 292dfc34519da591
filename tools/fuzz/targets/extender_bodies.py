"""Bodies of extender requests, by all verbs."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Final

from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.extender import verb_plugins
from kubewasp.extender.decider import PluginFailure
from kubewasp.extender.protocol import ProtocolError
from kubewasp.extender.sent_nodes import SentNodes
from kubewasp.extender.service import ExtenderService
from kubewasp.framework.config.reading import default_config
from kubewasp.framework.handle import ReadOnlyClient
from kubewasp.framework.registry import Registry
from kubewasp.scheduler.composition import Environment, compose
from kubewasp.wasm.guest_loader import GuestLoader
from tools.fuzz.labels import error_label

if TYPE_CHECKING:
    from collections.abc import Iterable

_VERBS: Final = ("filter", "prioritize", "preempt")
_POD: Final = {"metadata": {"name": "web", "namespace": "default", "uid": "u"}, "spec": {"nodeSelector": {"a": "b"}}}
_NODE: Final = {"metadata": {"name": "a", "labels": {"a": "b"}}, "status": {"allocatable": {"cpu": "4", "pods": "10"}}}


def seeds() -> Iterable[bytes]:
    for nodes, names in (({"items": [_NODE, _NODE]}, None), (None, ["a", "b"])):
        yield json.dumps({"Pod": _POD, "Nodes": nodes, "NodeNames": names}).encode()
    victims = {"Pods": [_POD], "NumPDBViolations": 1}
    yield json.dumps({"Pod": _POD, "NodeNameToVictims": {"a": victims}}).encode()
    yield json.dumps({"Pod": _POD, "NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u"}]}}}).encode()


def one(data: bytes) -> str:
    found = []
    for verb in _VERBS:
        try:
            answer = json.loads(getattr(_service(), verb)(data))
        except (ProtocolError, PluginFailure) as error:
            found.append(error_label(error))
        else:
            found.append(f"{verb}: {type(answer).__name__} of {len(answer)}")
    return "; ".join(found)


@functools.cache
def _service() -> ExtenderService:
    """An extender with all built-in plugins."""
    scheduler = compose(Environment(clock=SYSTEM_CLOCK, client=ReadOnlyClient()))
    registry = Registry(wasm=GuestLoader())
    asked = verb_plugins.restricted(registry.profiles(default_config()), all_plugins=True)
    frameworks = verb_plugins.frameworks(registry, asked, scheduler.handle)
    return ExtenderService(scheduler.table, frameworks, sent=SentNodes(scheduler.events, scheduler.clock), managed=())
