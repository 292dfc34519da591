"""Scheduling views of namespaces, pod owners, disruption budgets and priority classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubewasp.k8s.selectors import LabelSelector, map_selector, valid_label_selector

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace and its labels."""

    name: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PodOwner:
    """A Service, ReplicationController, ReplicaSet or StatefulSet, with its pod selector."""

    kind: str
    namespace: str
    name: str
    selector: LabelSelector | None


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """A PodDisruptionBudget: the fields that preemption reads."""

    namespace: str
    name: str
    selector: LabelSelector | None
    disruptions_allowed: int
    disrupted_pods: frozenset[str]


@dataclass(frozen=True, slots=True)
class PriorityClass:
    """A PriorityClass."""

    name: str
    value: int
    is_default: bool
    preemption_policy: str


def parse_namespace(manifest: Mapping[str, Any]) -> Namespace:
    metadata = manifest.get("metadata") or {}
    name = metadata.get("name") or ""
    return Namespace(name, {"kubernetes.io/metadata.name": name} | (metadata.get("labels") or {}))


def parse_owner(manifest: Mapping[str, Any]) -> PodOwner:
    kind, spec = manifest.get("kind") or "", manifest.get("spec") or {}
    selector = spec.get("selector")
    if kind in ("Service", "ReplicationController"):
        parsed = None if selector is None else map_selector(selector)
    else:
        parsed = valid_label_selector(selector)
    return PodOwner(kind, namespace_of(manifest), name_of(manifest), parsed)


def parse_budget(manifest: Mapping[str, Any]) -> DisruptionBudget:
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    return DisruptionBudget(
        namespace=namespace_of(manifest),
        name=name_of(manifest),
        selector=valid_label_selector(spec.get("selector")),
        disruptions_allowed=status.get("disruptionsAllowed") or 0,
        disrupted_pods=frozenset(status.get("disruptedPods") or ()),
    )


def parse_priority_class(manifest: Mapping[str, Any]) -> PriorityClass:
    return PriorityClass(
        name=name_of(manifest),
        value=manifest.get("value") or 0,
        is_default=bool(manifest.get("globalDefault")),
        preemption_policy=manifest.get("preemptionPolicy") or "PreemptLowerPriority",
    )


def name_of(manifest: Mapping[str, Any]) -> str:
    return str((manifest.get("metadata") or {}).get("name") or "")


def namespace_of(manifest: Mapping[str, Any]) -> str:
    return str((manifest.get("metadata") or {}).get("namespace") or "default")
