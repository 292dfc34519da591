"""Conformance cases: a guest, its input, and the answer of each hook according to the guest's source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Object = Mapping[str, Any]

NODE: Final = "good-node"
POD: Final[Object] = {
    "metadata": {"name": "good-pod", "namespace": "test", "uid": "384900cd-dc7b-41ec-837e-9c4c1762363e"},
    "spec": {"nodeName": NODE},
}


@dataclass(frozen=True, slots=True)
class Case:
    """Calls of one instance of a guest, in order.

    Attributes:
        guest: Path in the checkout, without `.wasm`.
        title: The situation.
        calls: Expected answers by call, `HOOK` or `HOOK NODE`. An answer that ends in `…` is a beginning.
        load_error: Expected error of a guest that must not load; there are no calls then.
        pod: The pod, or the path of its manifest in the checkout.
        nodes: Names, manifests, or paths of manifests in the checkout.
        target: The pod of addpod and removepod.
        statuses: Node statuses for postfilter.
        scores: Node scores for normalizescore.
        waits: Whether the pod waits on Permit.
        cycles: Number of cycles with these calls, one after the other.
        known: Answers by call (or `load`) that differ from the expected ones, for the reason in `note`.
        note: Cause of the known differences.
    """

    guest: str
    title: str
    calls: Mapping[str, str] = field(default_factory=dict)
    load_error: str = ""
    args: tuple[str, ...] = ()
    config: str = ""
    globals: Mapping[str, int] = field(default_factory=dict)
    pod: Object | str = field(default_factory=lambda: POD)
    nodes: tuple[Object | str, ...] = (NODE,)
    target: Object = field(default_factory=lambda: POD)
    statuses: Mapping[str, int] = field(default_factory=dict)
    scores: Mapping[str, int] = field(default_factory=dict)
    waits: bool = False
    cycles: int = 1
    known: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


def pod(name: str = "good-pod", *, node: str = "", uid: str = "", images: tuple[str, ...] = ()) -> Object:
    """A pod with only what the guests read."""
    containers = [{"name": f"c{number}", "image": image} for number, image in enumerate(images)]
    metadata = {"name": name, "namespace": "test", "uid": uid or f"uid-of-{name}"}
    return {"metadata": metadata, "spec": {"nodeName": node, "containers": containers}}
