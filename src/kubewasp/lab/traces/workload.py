"""Changes to the pods of a trace: shuffled, inflated, cut off."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from kubewasp.k8s.nodes import HOSTNAME
from kubewasp.lab.traces.pod_requests import requests_of
from kubewasp.lab.traces.trace_errors import TraceError

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator, Sequence

    from kubewasp.lab.traces.trace import TracePod


def until(pods: Iterable[TracePod], seconds: float) -> Iterator[TracePod]:
    """The pods that arrive up to a time."""
    return takewhile(lambda pod: pod.arrival <= seconds, pods)


def between(pods: Iterable[TracePod], since: float, before: float) -> Iterator[TracePod]:
    """The pods that arrive in a span of time, which begins at 0 then."""
    return (replace(pod, arrival=pod.arrival - since) for pod in pods if since <= pod.arrival < before)


def staying(pod: TracePod) -> TracePod:
    """The pod without an end."""
    return replace(pod, duration=None)


def shuffled(pods: Sequence[TracePod], chance: random.Random) -> list[TracePod]:
    """The pods in random order, with the times of arrival as they were: the first time is that of any pod."""
    order = list(pods)
    chance.shuffle(order)
    return [replace(pod, arrival=slot.arrival) for pod, slot in zip(order, pods, strict=True)]


def shuffled_nodes(nodes: Sequence[dict[str, Any]], chance: random.Random) -> list[dict[str, Any]]:
    """Manifests of nodes in random order, which names begin with (`07-node-a`): policies may break ties by name."""
    order = list(nodes)
    chance.shuffle(order)
    digits = len(str(len(order)))
    return [_renamed(node, f"{number:0{digits}}-{node['metadata']['name']}") for number, node in enumerate(order)]


def _renamed(node: dict[str, Any], name: str) -> dict[str, Any]:
    labels = {**node["metadata"]["labels"], HOSTNAME: name}
    return {**node, "metadata": {**node["metadata"], "name": name, "labels": labels}}


def inflated(
    pods: Sequence[TracePod], chance: random.Random, *, resource: str, amount: int, interval: float = 1.0
) -> list[TracePod]:
    """The pods, and copies of pods picked at random until their requests of a resource reach an amount.

    Copies arrive after the last pod, one after the other.
    """
    requested = [requests_of(pod.spec).get(resource, 0) for pod in pods]
    total = sum(requested)
    if not total:
        raise TraceError(f"no pod requests {resource}: the trace cannot be inflated to an amount of it")
    found = list(pods)
    last = pods[-1].arrival
    while True:
        picked = chance.randrange(len(pods))
        if total + requested[picked] > amount:
            return found
        total += requested[picked]
        copy, number = pods[picked], len(found) - len(pods)
        at = last + (number + 1) * interval
        found.append(replace(copy, name=f"{copy.name}-copy-{number}", arrival=at))
