"""Seeded random choices, and the names and values of nodes and pods."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

Item = TypeVar("Item")

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
DISK: Final = "disk"
CORES: Final = "cores"
GPU: Final = "example.com/gpu"
HUGE_PAGES: Final = "hugepages-2Mi"

NODE_LABELS: Final[Mapping[str, Sequence[str]]] = {
    ZONE: ("a", "b", "c"),
    REGION: ("east", "west"),
    DISK: ("ssd", "hdd"),
    CORES: ("2", "8", "64", "many"),  # of which one is no number
}
POD_LABELS: Final[Mapping[str, Sequence[str]]] = {
    "app": ("web", "db", "cache"),
    "tier": ("front", "back"),
    "version": ("1", "2"),
}
TEAMS: Final = ("red", "blue", "green")
TAINT_KEYS: Final = ("dedicated", "maintenance")
TAINT_VALUES: Final = ("", "x", "y")
IMAGES: Final = ("small", "registry.local/team/large:v1", "registry.local:5000/huge")
TOPOLOGIES: Final = (HOSTNAME, ZONE, REGION, "rack")  # no node has a rack


class Dice:
    """The same seed draws the same."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def one(self, items: Sequence[Item]) -> Item:
        return self._random.choice(items)

    def some(self, items: Sequence[Item], low: int, high: int) -> list[Item]:
        """Between `low` and `high` different ones, in any order."""
        return self._random.sample(items, min(self.number(low, high), len(items)))

    def several(self, low: int, high: int, draw: Callable[[], Item]) -> list[Item]:
        return [draw() for _ in range(self.number(low, high))]

    def labels(self, words: Mapping[str, Sequence[str]], share: float) -> dict[str, str]:
        """Each key with that chance."""
        return {key: self.one(values) for key, values in words.items() if self.chance(share)}

    def selector(self, keys: Sequence[str] = ("app", "tier")) -> dict[str, Any]:
        """A label selector for pods; now and then one that selects all."""
        if self.chance(0.1):
            return {}
        key = self.one(keys)
        if self.chance(0.6):
            return {"matchLabels": {key: self.one(POD_LABELS[key])}}
        operator = self.one(("In", "NotIn", "Exists", "DoesNotExist"))
        expression: dict[str, Any] = {"key": key, "operator": operator}
        if operator in ("In", "NotIn"):
            expression["values"] = self.some(POD_LABELS[key], 1, 2)
        return {"matchExpressions": [expression]}
