"""Reads what a simulation starts with (manifests, folders, dumps) and says what of it is not simulated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kubewasp.cluster.store import CLUSTER_SCOPED, PARSERS
from kubewasp.k8s import manifests
from kubewasp.k8s.codec import encode
from kubewasp.k8s.errors import ManifestError
from kubewasp.k8s.kinds import api_versions
from kubewasp.k8s.objects import name_of, namespace_of
from kubewasp.scheduler.workloads import WORKLOADS, expand, identity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from kubewasp.k8s.manifests import Manifest
    from kubewasp.scheduler.embedded import EmbeddedCluster

_SUFFIXES = (".yaml", ".yml", ".json")
# Kinds that say nothing about scheduling: no need to warn of them.
_IRRELEVANT = frozenset(
    [
        "ConfigMap",
        "Secret",
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
        "Ingress",
        "IngressClass",
        "NetworkPolicy",
        "CustomResourceDefinition",
        "Event",
        "EndpointSlice",
        "Endpoints",
        "Lease",
        "ControllerRevision",
        "LimitRange",
        "ResourceQuota",
        "HorizontalPodAutoscaler",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "APIService",
        "Status",
    ]
)


@dataclass(slots=True)
class ClusterInput:
    """The objects of a simulated cluster."""

    nodes: list[Mapping[str, Any]] = field(default_factory=list)
    pods: list[Mapping[str, Any]] = field(default_factory=list)
    workloads: list[Mapping[str, Any]] = field(default_factory=list)
    others: list[Mapping[str, Any]] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)
    sources: dict[tuple[str, str, str], str] = field(default_factory=dict)

    @property
    def warnings(self) -> list[str]:
        if not self.unknown:
            return []
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(self.unknown.items()))
        return [f"kinds that are not simulated were left out: {listed}"]


def read(paths: Sequence[Path]) -> ClusterInput:
    """Everything in those files and folders."""
    found = ClusterInput()
    for path in paths:
        for file in _files(path):
            for manifest in manifests.load(file):
                add(found, manifest)
    return found


def add(found: ClusterInput, manifest: Manifest) -> None:
    """Checks an object and puts it where it belongs."""
    body = manifest.body
    kind = manifest.kind
    if not kind:
        raise ManifestError("", "kind is missing", source=manifest.source)
    if kind not in ("Node", "Pod") and kind not in WORKLOADS and kind not in PARSERS:
        if kind not in _IRRELEVANT:
            found.unknown[kind] = found.unknown.get(kind, 0) + 1
        return
    _check(manifest)
    body = body if body.get("kind") else {**body, "kind": kind}
    key = (kind, "" if kind in CLUSTER_SCOPED else namespace_of(body), name_of(body))
    if key in found.sources:
        name = "/".join(part for part in key[1:] if part)
        problem = f"there is a {kind} {name} already, in {found.sources[key]}"
        raise ManifestError("metadata.name", problem, source=manifest.source)
    found.sources[key] = manifest.source
    if kind == "Node":
        found.nodes.append(body)
    elif kind == "Pod":
        found.pods.append(body)
    elif kind in WORKLOADS:
        found.workloads.append(body)
    else:
        found.others.append(body)


def fill(cluster: EmbeddedCluster, found: ClusterInput) -> None:
    """Puts all of it into a cluster: first what pods need, then bound pods, then those that wait."""
    for body in found.others:
        cluster.apply(body)
    owners, made = expand(found.workloads, found.pods, found.nodes)
    for owner in owners:
        cluster.owners[identity(owner)] = owner
        if owner["kind"] in PARSERS:
            cluster.apply(owner)
    for node in found.nodes:
        cluster.apply(node)
    pods = [pod for pod in [*found.pods, *made] if not _is_finished(pod)]
    for pod in _bound_first(pods):
        _apply_pod(cluster, pod, found)


def _apply_pod(cluster: EmbeddedCluster, pod: Mapping[str, Any], found: ClusterInput) -> None:
    try:
        cluster.apply(pod)
    except ManifestError as error:
        source = found.sources.get(("Pod", namespace_of(pod), name_of(pod)), f"pod {namespace_of(pod)}/{name_of(pod)}")
        raise error.at(source) from None


def _check(manifest: Manifest) -> None:
    """Every object is checked by encoding it; a workload by the pods it makes."""
    body, kind = manifest.body, manifest.kind
    try:
        metadata = body.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
            raise ManifestError("metadata.name", f"a {kind} needs a name")
        if kind in WORKLOADS and kind != "ReplicationController":
            _check_workload(body)
        elif api_versions(kind):
            manifests.expect_kind(manifest, kind)
            encode(kind, body)
    except ManifestError as error:
        raise (error if error.source else error.at(manifest.source)) from None


def _check_workload(body: Mapping[str, Any]) -> None:
    spec = body.get("spec") or {}
    if not isinstance(spec, dict):
        raise ManifestError("spec", "expected an object")
    for count in ("replicas", "parallelism", "completions"):
        value = spec.get(count)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise ManifestError(f"spec.{count}", "expected an integer that is not negative")
    template = spec.get("template") or {}
    if not isinstance(template, dict):
        raise ManifestError("spec.template", "expected an object")
    try:
        encode("Pod", {"metadata": template.get("metadata") or {}, "spec": template.get("spec") or {}})
    except ManifestError as error:
        raise ManifestError(f"spec.template.{error.path}", error.problem) from None


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
        if not files:
            raise ManifestError("", f"no {', '.join(_SUFFIXES)} file in this folder", source=str(path))
        return files
    return [path]


def _is_finished(pod: Mapping[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _bound_first(pods: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(pods, key=lambda pod: not (pod.get("spec") or {}).get("nodeName"))
