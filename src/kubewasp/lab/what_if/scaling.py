"""Scaling of workloads: targets such as `deploy/web=50`, and the changed workload."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s.errors import quoted
from kubewasp.lab.what_if.what_if_errors import WhatIfError, unknown
from kubewasp.simulation import loading
from kubewasp.simulation.loading import ClusterInput
from kubewasp.simulation.workloads import controller_of, identity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kubewasp.simulation.cluster_objects import ClusterObjects

_MOST_PODS: Final = 100_000
_KINDS: Final = {
    "Deployment": ("deploy", "deployment", "deployments"),
    "StatefulSet": ("sts", "statefulset", "statefulsets"),
    "ReplicaSet": ("rs", "replicaset", "replicasets"),
    "ReplicationController": ("rc", "replicationcontroller", "replicationcontrollers"),
    "Job": ("job", "jobs"),
}
_BY_WORD: Final = {word: kind for kind, words in _KINDS.items() for word in words}
_TARGET: Final = re.compile(r"(?:(?P<namespace>[^/=]+)/)?(?P<kind>[^/=]+)/(?P<name>[^/=]+)=(?P<count>[0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class ScaleTarget:
    """A workload and the number of pods that it shall have."""

    kind: str
    namespace: str
    name: str
    count: int

    @property
    def text(self) -> str:
        return f"{self.namespace}/{_KINDS[self.kind][0]}/{self.name}={self.count}"


def parse_target(text: str, namespace: str = "default") -> ScaleTarget:
    """`[NAMESPACE/]KIND/NAME=COUNT`; the namespace is that of a target without its own."""
    found = _TARGET.fullmatch(text)
    if found is None:
        raise WhatIfError(f"expected [NAMESPACE/]KIND/NAME=COUNT such as deploy/web=50, got {quoted(text)}")
    kind = _BY_WORD.get(found["kind"].lower())
    if kind is None:
        words = ", ".join(words[0] for words in _KINDS.values())
        raise WhatIfError(f"{text}: kind {quoted(found['kind'])} has no number of pods; those that have one: {words}")
    if int(found["count"]) > _MOST_PODS:
        raise WhatIfError(f"{text}: expected a number of pods up to {_MOST_PODS:,}")
    return ScaleTarget(kind, found["namespace"] or namespace, found["name"], int(found["count"]))


def workload_named(text: str, namespace: str, workloads: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The workload of a name such as `deploy/web`; None if the text has another form."""
    found = _TARGET.fullmatch(f"{text}=0")
    kind = _BY_WORD.get(found["kind"].lower()) if found is not None else None
    if found is None or kind is None:
        return None
    key = (kind, found["namespace"] or namespace, found["name"])
    known = {identity(workload): workload for workload in workloads}
    if key not in known:
        names = [f"{place}/{name}" for other, place, name in known if other == kind]
        raise unknown(kind, f"{key[1]}/{key[2]}", names)
    return known[key]


def scale(objects: ClusterObjects, targets: Sequence[ScaleTarget]) -> None:
    """Changes the numbers of pods at once. Pods beyond them are removed in the order of their controllers."""
    loading.fill(objects, ClusterInput(workloads=[_scaled(objects, target) for target in targets]))


def _scaled(objects: ClusterObjects, target: ScaleTarget) -> dict[str, Any]:
    """The workload of a target with its new number of pods."""
    key = (target.kind, target.namespace, target.name)
    workload = objects.workloads.get(key)
    if workload is None:
        known = [f"{namespace}/{name}" for kind, namespace, name in objects.workloads if kind == target.kind]
        raise unknown(target.kind, f"{target.namespace}/{target.name}", known)
    owner = controller_of(workload)
    if owner is not None and owner in objects.workloads:
        raise WhatIfError(f"{target.text}: {target.kind} {target.name} belongs to {owner[0]} {owner[2]}: scale that")
    count = "parallelism" if target.kind == "Job" else "replicas"
    return {**workload, "spec": {**(workload.get("spec") or {}), count: target.count}}
