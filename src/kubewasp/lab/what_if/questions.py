"""Questions about a cluster that changes: nodes drained, lost or added, workloads scaled."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from kubewasp.lab.what_if import scaling
from kubewasp.lab.what_if.eviction import Drain, drain
from kubewasp.lab.what_if.node_copies import add_nodes, csi_node_copies, new_names, node_copy
from kubewasp.lab.what_if.what_if_errors import WhatIfError, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.lab.what_if.scaling import ScaleTarget
    from kubewasp.lab.what_if.what_if_trial import Answer, KeptPod, Trial

MOST_NODES = 10_000


@dataclass(frozen=True, slots=True)
class DrainAnswer:
    """Answer to a drain, and how it went."""

    answer: Answer
    drain: Drain


def drain_nodes(trial: Trial, nodes: Sequence[str]) -> DrainAnswer:
    """Drains nodes as `kubectl drain` does."""
    done: list[Drain] = []

    def drive() -> Sequence[KeptPod]:
        done.append(drain(trial, nodes))
        return done[0].kept

    answer = trial.ask(drive)
    return DrainAnswer(answer, done[0])


def remove_nodes(trial: Trial, nodes: Sequence[str]) -> Answer:
    """Nodes fail at once: no budget is asked, and all their pods are gone."""
    objects = trial.cluster.objects

    def fail() -> None:
        for node in nodes:
            trial.causes.update((pod.uid, f"{node} is gone") for pod in objects.pods_on(node))
        for node in nodes:
            objects.delete("Node", "", node)

    def drive() -> Sequence[KeptPod]:
        trial.change(fail)
        return ()

    return trial.ask(drive)


def add_like(
    trial: Trial,
    like: str,
    count: int,
    *,
    resources: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> tuple[Answer, list[str]]:
    """Adds fresh copies of a node, with other allocatable amounts and labels if given; their names, too."""
    objects = trial.cluster.objects
    nodes = objects.node_manifests
    if like not in nodes:
        raise unknown("node", like, nodes)
    if not 1 <= count <= MOST_NODES:
        raise WhatIfError(f"expected a number of nodes from 1 to {MOST_NODES:,}, got {count}")
    names = list(islice(new_names(like, nodes), count))
    copies = [node_copy(nodes[like], name, resources=resources, labels=labels) for name in names]
    csi = csi_node_copies(trial.given.objects.others, like, names)

    def drive() -> Sequence[KeptPod]:
        trial.change(lambda: add_nodes(objects, copies, csi))
        return ()

    return trial.ask(drive), names


def scale(trial: Trial, targets: Sequence[ScaleTarget]) -> Answer:
    """Scales workloads, up or down."""

    def drive() -> Sequence[KeptPod]:
        trial.change(lambda: scaling.scale(trial.cluster.objects, targets))
        return ()

    return trial.ask(drive)
