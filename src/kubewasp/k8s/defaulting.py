"""Defaults that an API server adds to a pod, as far as scheduling reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.k8s.errors import ManifestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kubewasp.k8s.objects import PriorityClass

SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_TOLERATED_FOR_A_WHILE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


def default_pod(
    manifest: Mapping[str, Any], *, uid: str, priority_class: Callable[[str], PriorityClass | None]
) -> dict[str, Any]:
    """The pod as stored by an API server. `priority_class` is a lookup by name; the empty name is the default class."""
    metadata: dict[str, Any] = {**(manifest.get("metadata") or {}), "uid": uid}
    metadata["namespace"] = metadata.get("namespace") or "default"
    spec = dict(manifest.get("spec") or {})
    spec["schedulerName"] = spec.get("schedulerName") or "default-scheduler"
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            spec[kind] = [_with_requests(container) for container in spec[kind]]
            if spec.get("hostNetwork"):
                spec[kind] = [_with_host_ports(container) for container in spec[kind]]
    if spec.get("resources"):
        spec["resources"] = _with_pod_requests(spec)
    _set_priority(spec, priority_class)
    _add_tolerations(spec)
    labels = metadata.get("labels") or {}
    if spec.get("affinity"):
        spec["affinity"] = _merged_keys(spec["affinity"], labels)
    status = {"phase": "Pending"} | dict(manifest.get("status") or {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _with_requests(container: Mapping[str, Any]) -> Mapping[str, Any]:
    """Requests default to limits."""
    resources = container.get("resources") or {}
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if not limits or limits.keys() <= requests.keys():
        return container
    return {**container, "resources": {**resources, "requests": {**limits, **requests}}}


def _with_pod_requests(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Pod-level requests default to pod-level limits, unless a container requests the resource."""
    resources = spec["resources"]
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    asked = {name for item in containers for name in (item.get("resources") or {}).get("requests") or ()}
    limits = {
        name: value
        for name, value in (resources.get("limits") or {}).items()
        if name not in asked and (name in ("cpu", "memory") or name.startswith("hugepages-"))
    }
    return {**resources, "requests": {**limits, **(resources.get("requests") or {})}} if limits else resources


def _with_host_ports(container: Mapping[str, Any]) -> Mapping[str, Any]:
    """With `hostNetwork`, every container port is a host port."""
    ports = container.get("ports")
    if not ports:
        return container
    return {
        **container,
        "ports": [{**port, "hostPort": port.get("hostPort") or port.get("containerPort") or 0} for port in ports],
    }


def _set_priority(spec: dict[str, Any], priority_class: Callable[[str], PriorityClass | None]) -> None:
    if spec.get("priority") is not None:
        return
    name = spec.get("priorityClassName") or ""
    if name in SYSTEM_PRIORITIES:
        spec["priority"] = SYSTEM_PRIORITIES[name]
        return
    found = priority_class(name)
    if found is None:
        if name:
            raise ManifestError("spec.priorityClassName", f"no PriorityClass with name {name} was found")
        spec["priority"] = 0
        return
    spec["priority"] = found.value
    spec["priorityClassName"] = found.name
    spec["preemptionPolicy"] = spec.get("preemptionPolicy") or found.preemption_policy


def _add_tolerations(spec: dict[str, Any]) -> None:
    tolerations = list(spec.get("tolerations") or ())
    for key in _TOLERATED_FOR_A_WHILE:
        if not any(t.get("key") in (key, None, "") and t.get("effect") in ("NoExecute", None, "") for t in tolerations):
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
    spec["tolerations"] = tolerations


def _merged_keys(affinity: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """`matchLabelKeys` and `mismatchLabelKeys` become part of the label selector."""
    merged = dict(affinity)
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = merged.get(kind)
        if not rules:
            continue
        rules = dict(rules)
        if rules.get(_REQUIRED):
            rules[_REQUIRED] = [_merged_term(term, labels) for term in rules[_REQUIRED]]
        if rules.get(_PREFERRED):
            rules[_PREFERRED] = [
                {**item, "podAffinityTerm": _merged_term(item.get("podAffinityTerm") or {}, labels)}
                for item in rules[_PREFERRED]
            ]
        merged[kind] = rules
    return merged


def _merged_term(term: Mapping[str, Any], labels: Mapping[str, str]) -> Mapping[str, Any]:
    selector = term.get("labelSelector")
    wanted = [("In", key) for key in term.get("matchLabelKeys") or () if key in labels]
    wanted += [("NotIn", key) for key in term.get("mismatchLabelKeys") or () if key in labels]
    if selector is None or not wanted:
        return term
    known = list(selector.get("matchExpressions") or ())
    for operator, key in wanted:
        expression = {"key": key, "operator": operator, "values": [labels[key]]}
        if expression not in known:
            known.append(expression)
    return {**term, "labelSelector": {**selector, "matchExpressions": known}}
