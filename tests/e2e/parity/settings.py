"""Profiles of both schedulers: the defaults, and other scoring settings."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.e2e.parity.dice import DISK, GPU, HOSTNAME, ZONE

SCHEDULER: Final = "parity"
Profile = Mapping[str, Any]


def _resources(**weights: int) -> list[dict[str, Any]]:
    return [{"name": name, "weight": weight} for name, weight in weights.items()]


def _args(**plugins: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, "args": args} for name, args in plugins.items()]


_PREFERRED: Final = {
    "weight": 7,
    "preference": {"matchExpressions": [{"key": DISK, "operator": "In", "values": ["ssd"]}]},
}
_OTHERS: Final[Sequence[Profile]] = (
    {
        "pluginConfig": _args(
            NodeResourcesFit={"scoringStrategy": {"type": "MostAllocated", "resources": _resources(cpu=2, memory=1)}},
            InterPodAffinity={"hardPodAffinityWeight": 40, "ignorePreferredTermsOfExistingPods": True},
            NodeAffinity={"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [_PREFERRED]}},
        )
    },
    {
        "pluginConfig": _args(
            NodeResourcesFit={
                "ignoredResourceGroups": ["example.com"],
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "resources": [*_resources(cpu=1, memory=3), {"name": GPU, "weight": 5}],
                    "requestedToCapacityRatio": {
                        "shape": [
                            {"utilization": 0, "score": 2},
                            {"utilization": 40, "score": 10},
                            {"utilization": 100, "score": 0},
                        ]
                    },
                },
            },
            NodeResourcesBalancedAllocation={"resources": [*_resources(cpu=1, memory=1), {"name": GPU, "weight": 1}]},
            PodTopologySpread={
                "defaultingType": "List",
                "defaultConstraints": [
                    {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"},
                    {"maxSkew": 2, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"},
                ],
            },
        )
    },
    {
        "plugins": {
            "multiPoint": {
                "disabled": [{"name": "ImageLocality"}, {"name": "TaintToleration"}],
                "enabled": [{"name": "TaintToleration", "weight": 11}],
            },
            "score": {
                "disabled": [{"name": "PodTopologySpread"}, {"name": "NodeAffinity"}],
                "enabled": [{"name": "PodTopologySpread", "weight": 9}],
            },
        }
    },
)


def profile_of(seed: int) -> Profile:
    """Every other cluster has the defaults."""
    other: Profile = {} if seed % 2 else _OTHERS[seed // 2 % len(_OTHERS)]
    return {"schedulerName": SCHEDULER, **other}
