"""Unknown values of manifests: words and resource names that the API server refuses, with the likely meant one.

Only values that decide about scheduling are examined, and only words: the codec checks types, numbers and quantities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from kubewasp.k8s.errors import quoted
from kubewasp.k8s.spelling import LIKE, did_you_mean, nearest
from kubewasp.k8s.unknown_fields import json_fields, place
from kubewasp.k8s.wire_values import VALUE_TYPES

MAX_VALUES: Final = 100
_SHOWN: Final = 64
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_IN_SETS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_POLICIES: Final = ("Honor", "Ignore")
_PREEMPTION: Final = ("PreemptLowerPriority", "Never")
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_ACCESS: Final = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_VOLUME_MODES: Final = ("Filesystem", "Block")
# Words by message and field, in lists too.
WORDS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "core.v1.Taint": {"effect": _EFFECTS},
    "core.v1.Toleration": {"effect": _EFFECTS, "operator": ("Exists", "Equal", "Lt", "Gt")},
    "core.v1.NodeSelectorRequirement": {"operator": (*_IN_SETS, "Gt", "Lt")},
    "apis.meta.v1.LabelSelectorRequirement": {"operator": _IN_SETS},
    "core.v1.TopologySpreadConstraint": {
        "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
        "nodeAffinityPolicy": _POLICIES,
        "nodeTaintsPolicy": _POLICIES,
    },
    "core.v1.PodSpec": {"preemptionPolicy": _PREEMPTION, "restartPolicy": ("Always", "OnFailure", "Never")},
    "core.v1.PodStatus": {"phase": ("Pending", "Running", "Succeeded", "Failed", "Unknown")},
    "scheduling.v1.PriorityClass": {"preemptionPolicy": _PREEMPTION},
    "core.v1.ContainerPort": {"protocol": _PROTOCOLS},
    "core.v1.PersistentVolumeClaimSpec": {"accessModes": _ACCESS, "volumeMode": _VOLUME_MODES},
    "core.v1.PersistentVolumeSpec": {"accessModes": _ACCESS, "volumeMode": _VOLUME_MODES},
    "storage.v1.StorageClass": {"volumeBindingMode": ("Immediate", "WaitForFirstConsumer")},
}
_OF_CONTAINERS: Final = ("cpu", "memory", "ephemeral-storage")
_OF_NODES: Final = (*_OF_CONTAINERS, "pods", "storage")
# Names of resources by message and field. Others have a domain, as in example.com/gpu, or one of the prefixes.
RESOURCES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "core.v1.ResourceRequirements": {"limits": _OF_CONTAINERS, "requests": _OF_CONTAINERS},
    "core.v1.NodeStatus": {"allocatable": _OF_NODES, "capacity": _OF_NODES},
}
_PREFIXES: Final = ("hugepages-", "attachable-volumes-")


@dataclass(frozen=True, slots=True)
class UnknownValue:
    """A value by its path, with what is wrong."""

    path: str
    problem: str

    @property
    def place(self) -> str:
        return place(self.path)

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


def unknown_values(message: str, value: Any) -> list[UnknownValue]:
    """The unknown values of an object of a message such as `core.v1.Pod`; at most `MAX_VALUES`."""
    found = []
    for item in _values(message, value, ""):
        found.append(item)
        if len(found) == MAX_VALUES:
            break
    return found


def _values(message: str, value: Any, path: str) -> Iterator[UnknownValue]:
    if not isinstance(value, Mapping):
        return
    for name, known in WORDS.get(message, {}).items():
        yield from _words(value.get(name), known, _joined(path, name))
    for name, known in RESOURCES.get(message, {}).items():
        yield from _resources(value.get(name), known, _joined(path, name))
    for name, (inner, is_list) in _paths(message).items():
        item = value.get(name)
        if is_list and isinstance(item, list | tuple):
            for number, each in enumerate(item):
                yield from _values(inner, each, f"{_joined(path, name)}[{number}]")
        elif item is not None:
            yield from _values(inner, item, _joined(path, name))


def _words(given: Any, known: tuple[str, ...], path: str) -> Iterator[UnknownValue]:
    if isinstance(given, list | tuple):
        for number, each in enumerate(given):
            yield from _words(each, known, f"{path}[{number}]")
    elif isinstance(given, str) and given and given not in known:
        meant = nearest(given, known)
        supported = "" if meant else f"; supported values: {', '.join(known)}"
        yield UnknownValue(path, f"unsupported value {quoted(given[:_SHOWN])}{did_you_mean(meant)}{supported}")


def _resources(given: Any, known: tuple[str, ...], path: str) -> Iterator[UnknownValue]:
    for name in given if isinstance(given, Mapping) else ():
        if isinstance(name, str) and name not in known and "/" not in name and not name.startswith(_PREFIXES):
            meant = did_you_mean(nearest(name, known, LIKE))
            advice = meant or f"; {', '.join(known)}, or a name such as example.com/gpu"
            yield UnknownValue(path, f"unknown resource {quoted(name[:_SHOWN])}{advice}")


@cache
def _paths(message: str) -> Mapping[str, tuple[str, bool]]:
    """Fields below which there are words or resources: their messages, and whether they are lists."""
    return {
        name: (field.type, field.repeated)
        for name, field in json_fields(message).items()
        if field.type not in VALUE_TYPES and not field.is_map and _leads_on(field.type, frozenset((message,)))
    }


def _leads_on(message: str, seen: frozenset[str]) -> bool:
    if message in WORDS or message in RESOURCES:
        return True
    inner = {field.type for field in json_fields(message).values() if field.type not in VALUE_TYPES}
    return any(_leads_on(name, seen | {message}) for name in inner - seen - {message})


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
