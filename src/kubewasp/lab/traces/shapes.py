"""Shapes of the pods in a workload: equal requests and node affinity, and how often each comes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from kubewasp.lab.traces.pod_requests import requests_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kubewasp.lab.traces.trace import TracePod


@dataclass(frozen=True, slots=True)
class Shape:
    """Requests (CPU in millicores), required values of node labels, number of pods."""

    requests: Mapping[str, int]
    affinity: Mapping[str, Sequence[str]]
    pods: int

    def as_dict(self) -> dict[str, Any]:
        return {"requests": dict(self.requests), "affinity": dict(self.affinity), "pods": self.pods}


def count(pods: Iterable[TracePod], resources: Collection[str] = ()) -> list[Shape]:
    """All shapes, the most frequent first; of equally frequent ones, the first that came.

    With `resources`, only these count.
    """
    numbers: Counter[bytes] = Counter()
    for pod in pods:
        numbers[orjson.dumps(_shape(pod.spec, resources), option=orjson.OPT_SORT_KEYS)] += 1
    found = [(*orjson.loads(key), number) for key, number in numbers.most_common()]
    return [Shape(requests, affinity, number) for requests, affinity, number in found]


def most_frequent(shapes: Sequence[Shape], share: float) -> list[Shape]:
    """The first shapes, until they make up a share (0 to 1) of all pods."""
    total = sum(shape.pods for shape in shapes)
    found: list[Shape] = []
    pods = 0
    for shape in shapes:
        if pods >= share * total:
            break
        pods += shape.pods
        found.append(shape)
    return found


def _shape(spec: Mapping[str, Any], resources: Collection[str]) -> tuple[dict[str, int], dict[str, list[str]]]:
    amounts = {name: amount for name, amount in requests_of(spec).items() if not resources or name in resources}
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {"nodeSelectorTerms": []}
    terms = [term for item in required["nodeSelectorTerms"] for term in item["matchExpressions"]]
    return amounts, {term["key"]: term["values"] for term in terms}
