"""Room for further pods: how many copies of a pod fit, and the rejections that stop the next one."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s.objects import name_of, namespace_of
from kubewasp.lab.what_if.what_if_errors import WhatIfError
from kubewasp.simulation.workloads import further_pod

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kubewasp.lab.what_if.what_if_trial import Answer, KeptPod, Trial
    from kubewasp.scheduler.attempt import Attempt
    from kubewasp.simulation.loading import ClusterInput

MOST_COPIES: Final = 1_000_000
_LARGEST_BATCH: Final = 4096
_INSUFFICIENT: Final = "Insufficient "
_TOO_MANY: Final = "Too many pods"
# Of copies that may not preempt: no property of the cluster.
_NEVER: Final = " no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never."


@dataclass(frozen=True, slots=True)
class Rejection:
    """Nodes that a plugin rejects for one reason."""

    plugin: str
    reason: str
    nodes: int

    @property
    def resource(self) -> str:
        """The resource that the nodes lack; empty for another reason."""
        if self.reason == _TOO_MANY:
            return "pods"
        return self.reason.removeprefix(_INSUFFICIENT) if self.reason.startswith(_INSUFFICIENT) else ""


class RejectionLog:
    """Rejections in the last failed attempt of each pod with a name that begins so. Implements `AttemptListener`."""

    def __init__(self, stem: str) -> None:
        self.last: dict[str, list[Rejection]] = {}
        self._stem = stem

    def attempted(self, attempt: Attempt) -> None:
        if attempt.pod.name.startswith(self._stem) and not attempt.node:
            counts: Counter[tuple[str, str]] = Counter()
            for objection in attempt.objections:
                for status, nodes in objection.groups():
                    for reason in status.reasons:
                        counts[objection.plugin, reason] += nodes
            self.last[attempt.pod.key] = [Rejection(*key, nodes) for key, nodes in counts.most_common()]


@dataclass(frozen=True, slots=True)
class HowMany:
    """Number of copies that fit, by node, and what stops the next one.

    `is_bounded`: all copies fit, and more of them were not tried. `limiting` is the resource that most nodes lack for
    one more copy; empty if none is lacking.
    """

    copied: str
    answer: Answer
    fits: int
    by_node: Mapping[str, int]
    is_bounded: bool
    message: str = ""
    plugins: tuple[str, ...] = ()
    rejections: tuple[Rejection, ...] = field(default=())

    @property
    def limiting(self) -> str:
        lacking = [item for item in self.rejections if item.resource]
        return max(lacking, key=lambda item: item.nodes).resource if lacking else ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "copied": self.copied,
            "fits": self.fits,
            "isBounded": self.is_bounded,
            "byNode": dict(self.by_node),
            "message": self.message,
            "plugins": list(self.plugins),
            "rejections": [
                {"plugin": item.plugin, "reason": item.reason, "nodes": item.nodes} for item in self.rejections
            ],
            "limiting": self.limiting,
            "preempted": [change.as_dict() for change in self.answer.changes if "preempted" in change.cause],
        }


@dataclass(frozen=True, slots=True)
class Copies:
    """Copies of a pod, or of the pods of a workload. They do not preempt, unless that is wanted."""

    manifest: Mapping[str, Any]
    preempts: bool = False

    @property
    def text(self) -> str:
        return f"{self.manifest['kind']} {namespace_of(self.manifest)}/{name_of(self.manifest)}"

    @property
    def stem(self) -> str:
        return f"{name_of(self.manifest)}-how-many-"

    def make(
        self, replica_sets: Iterator[Mapping[str, Any]]
    ) -> Iterator[tuple[dict[str, Any], list[Mapping[str, Any]]]]:
        """Manifests of the copies, each with its claims, without end."""
        sets = list(replica_sets)
        claims: list[Mapping[str, Any]] = []
        for number in itertools.count():
            name = f"{self.stem}{number}"
            if self.manifest["kind"] == "Pod":
                pod = self._copy(name)
            else:
                pod, claims = further_pod(self.manifest, name, sets)
            if not self.preempts:
                pod["spec"] = {**pod["spec"], "preemptionPolicy": "Never"}
            yield pod, claims

    def _copy(self, name: str) -> dict[str, Any]:
        metadata = self.manifest.get("metadata") or {}
        kept = {
            key: metadata[key] for key in ("namespace", "labels", "annotations", "ownerReferences") if key in metadata
        }
        spec = {key: value for key, value in (self.manifest.get("spec") or {}).items() if key != "nodeName"}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {**kept, "name": name}, "spec": spec}


def template_in(objects: ClusterInput, source: str) -> Mapping[str, Any]:
    """The only pod or workload of a file."""
    found = [*objects.pods, *objects.workloads]
    if len(found) != 1:
        raise WhatIfError(f"{source}: expected one Pod or workload, found {len(found)}")
    if found[0]["kind"] == "DaemonSet":
        raise WhatIfError(f"{source}: a DaemonSet has one pod per node; give a Pod or another workload")
    return found[0]


def how_many(trial: Trial, copies: Copies, log: RejectionLog, *, at_most: int) -> HowMany:
    """Adds copies until one has no node. `log` is a listener of the trial.

    Copies come in batches that double, and none after a batch with a copy that does not fit.
    """
    if not 1 <= at_most <= MOST_COPIES:
        raise WhatIfError(f"expected a number of pods from 1 to {MOST_COPIES:,}, got {at_most}")
    objects = trial.cluster.objects
    made = copies.make(iter(objects.owners.values()))
    keys: list[str] = []

    def add(count: int) -> None:
        for pod, claims in itertools.islice(made, count):
            for claim in claims:
                objects.apply(claim)
            objects.apply(pod)
            keys.append(f"{namespace_of(pod)}/{name_of(pod)}")

    def drive() -> list[KeptPod]:
        batch = 1
        while len(keys) < at_most:
            count = min(batch, at_most - len(keys))
            trial.change(lambda count=count: add(count))  # type: ignore[misc]
            if any(_node(trial, key) == "" for key in keys[-count:]):
                break
            batch = min(2 * batch, _LARGEST_BATCH)
        return []

    answer = trial.ask(drive)
    places = Counter(node for key in keys if (node := _node(trial, key)))
    waiting = next((key for key in keys if not _node(trial, key)), None)
    fits = sum(places.values())
    if waiting is None:
        return HowMany(copies.text, answer, fits, places, is_bounded=True)
    change = next(item for item in answer.changes if item.pod == waiting)
    rejections = tuple(log.last.get(waiting, ()))
    return HowMany(
        copies.text,
        answer,
        fits,
        places,
        is_bounded=False,
        message=change.message.removesuffix(_NEVER),
        plugins=change.plugins,
        rejections=rejections,
    )


def _node(trial: Trial, key: str) -> str:
    pod = trial.cluster.pods.get(key)
    return pod.node if pod is not None else ""
