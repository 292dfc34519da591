"""Input of a simulation: validation of manifests, folders and dumps, and their load into a cluster."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubewasp.k8s import manifests, quantity
from kubewasp.k8s.codec import encode
from kubewasp.k8s.errors import ManifestError, quoted, shown
from kubewasp.k8s.objects import name_of, namespace_of
from kubewasp.k8s.snapshot_file import SUFFIX
from kubewasp.simulation.manifest_warnings import ManifestWarnings
from kubewasp.simulation.workload_checks import check_workload
from kubewasp.simulation.workloads import WORKLOADS, controller_of, expand, identity, is_finished, surplus
from kubewasp.state.object_kinds import CLUSTER_SCOPED, KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.input_file import InputFile
    from kubewasp.k8s.manifests import Manifest
    from kubewasp.k8s.snapshot_file import SnapshotHead
    from kubewasp.simulation.cluster_objects import ClusterObjects
    from kubewasp.simulation.workloads import Expansion

_SUFFIXES = (".yaml", ".yml", ".json", SUFFIX)
# Kinds without influence on scheduling: ignored without a warning.
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


_MAX_QUANTITY = 10**15
_MAX_VOLUME_BYTES = 2**63 - 1


@dataclass(slots=True)
class ClusterInput:
    """Objects of a simulated cluster.

    `unknown` are counts of ignored objects by kind, `sources` origins by object, `mistakes` those of `--strict`,
    `snapshots` the heads of such files.
    """

    nodes: list[Mapping[str, Any]] = field(default_factory=list)
    pods: list[Mapping[str, Any]] = field(default_factory=list)
    workloads: list[Mapping[str, Any]] = field(default_factory=list)
    others: list[Mapping[str, Any]] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)
    sources: dict[tuple[str, str, str], str] = field(default_factory=dict)
    mistakes: ManifestWarnings = field(default_factory=ManifestWarnings)
    snapshots: dict[str, SnapshotHead] = field(default_factory=dict)

    @property
    def warnings(self) -> list[str]:
        missing = [f"{file}: {warning}" for file, head in self.snapshots.items() for warning in head.warnings]
        return [*missing, *self.mistakes.texts(), *left_out(self.unknown), *self._strays()]

    def _strays(self) -> list[str]:
        known = {name_of(node) for node in self.nodes}
        missing = {node for pod in self.pods if (node := _node_of(pod)) and node not in known and not is_finished(pod)}
        if not missing:
            return []
        shown = ", ".join(sorted(missing)[:5]) + (", …" if len(missing) > 5 else "")
        return [f"pods bound to nodes outside the input: {shown}"]


def left_out(unknown: Mapping[str, int]) -> list[str]:
    if not unknown:
        return []
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(unknown.items()))
    return [f"ignored objects of unsupported kinds: {listed}"]


def read(paths: Sequence[InputFile]) -> ClusterInput:
    """All objects in files and folders."""
    found = ClusterInput()
    for path in paths:
        add_files(found, path)
    return found


def add_files(found: ClusterInput, path: InputFile) -> None:
    """Adds the objects in a file or folder to the input."""
    for file in files(path):
        content = manifests.read(file)
        if content.head is not None:
            found.snapshots[str(file)] = content.head
        for manifest in content.manifests:
            add(found, manifest, is_written=content.head is None)


def add(found: ClusterInput, manifest: Manifest, *, is_written: bool = True) -> None:
    """Validates an object and adds it to the input. `is_written`: by hand, so that mistakes are looked for."""
    kind = manifest.kind
    if not kind:
        raise ManifestError("", "kind is missing", source=manifest.source)
    if _is_foreign(manifest):
        if kind not in _IRRELEVANT and not found.mistakes.examine_kind(manifest):
            found.unknown[kind] = found.unknown.get(kind, 0) + 1
        return
    _check(manifest)
    if is_written:
        found.mistakes.examine(manifest)
    body = manifest.body
    key = (kind, "" if kind in CLUSTER_SCOPED else namespace_of(body), name_of(body))
    if key in found.sources:
        name = "/".join(part for part in key[1:] if part)
        problem = f"duplicate {kind} {name}, first in {found.sources[key]}"
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


def _is_foreign(manifest: Manifest) -> bool:
    """Whether the object is not simulated, by kind and API group: a Knative Service is foreign."""
    kind, group = manifest.kind, manifest.api_version.rpartition("/")[0]
    if kind not in ("Node", "Pod") and kind not in WORKLOADS and kind not in KINDS:
        return True
    return "." in group and not group.endswith(".k8s.io")


def fill(cluster: ClusterObjects, found: ClusterInput) -> None:
    """Applies the input to a cluster: nodes and other objects, then bound pods, then pending pods."""
    for body in [*found.others, *found.nodes]:
        cluster.apply(body)
    for pod in found.pods:
        if is_finished(pod) and (known := cluster.pods.get(f"{namespace_of(pod)}/{name_of(pod)}")) is not None:
            cluster.finish_pod(known)
    made = _expanded(cluster, found)
    for claim in made.claims:
        if not cluster.store.has(claim["kind"], name_of(claim), namespace_of(claim)):
            cluster.apply(claim)
    pods = [pod for pod in [*found.pods, *made.pods] if not is_finished(pod)]
    for pod in sorted(pods, key=lambda pod: not _node_of(pod)):
        _apply_pod(cluster, pod, found)


def _expanded(cluster: ClusterObjects, found: ClusterInput) -> Expansion:
    """Runs the workload controllers on the current cluster and the pods of the input."""
    workloads = {identity(item): item for item in found.workloads}
    cluster.workloads |= workloads
    if found.nodes:
        workloads |= {key: item for key, item in cluster.workloads.items() if item["kind"] == "DaemonSet"}
    given = {(namespace_of(pod), name_of(pod)) for pod in found.pods}
    there = [
        {**(manifest := cluster.manifests[key]), "spec": {**manifest["spec"], "nodeName": pod.node}}
        for key, pod in cluster.pods.items()
        if (pod.namespace, pod.name) not in given
    ]
    sets = [owner for key, owner in cluster.owners.items() if key not in workloads]
    made = expand(list(workloads.values()), [*found.pods, *there], list(cluster.node_manifests.values()), sets)
    for owner in made.owners:
        cluster.owners[identity(owner)] = owner
        if owner["kind"] in KINDS:
            cluster.apply(owner)
        for key in surplus(owner, cluster.pods_of(identity(owner))):
            cluster.delete("Pod", *key.split("/"))
    return made


def _apply_pod(cluster: ClusterObjects, pod: Mapping[str, Any], found: ClusterInput) -> None:
    try:
        cluster.apply(pod)
    except ManifestError as error:
        owner = controller_of(pod)
        made_by = f"pod {namespace_of(pod)}/{name_of(pod)}" + (f" of {owner[0]} {owner[2]}" if owner else "")
        raise error.at(found.sources.get(("Pod", namespace_of(pod), name_of(pod)), made_by)) from None


# ---------------------------------------------------------------------- checks


def _check(manifest: Manifest) -> None:
    """Validates an object by encoding it."""
    body, kind = manifest.body, manifest.kind
    try:
        metadata = body.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
            raise ManifestError("metadata.name", f"a {kind} needs a name")
        if kind in WORKLOADS:
            check_workload(manifest)
            _check_amounts(((body.get("spec") or {}).get("template") or {}).get("spec") or {}, "spec.template.spec")
        else:
            manifests.expect_kind(manifest, kind)
            encode(kind, body)
        if kind == "Pod":
            _check_amounts(body.get("spec") or {}, "spec")
        elif kind == "Node":
            _check_quantities((body.get("status") or {}).get("allocatable"), "status.allocatable")
        elif kind == "PersistentVolumeClaim":
            requests = ((body.get("spec") or {}).get("resources") or {}).get("requests")
            _check_quantities(requests, "spec.resources.requests", maximum=_MAX_VOLUME_BYTES)
        elif kind == "PersistentVolume":
            _check_quantities((body.get("spec") or {}).get("capacity"), "spec.capacity", maximum=_MAX_VOLUME_BYTES)
    except ManifestError as error:
        raise (error if error.source else error.at(manifest.source)) from None


def _check_amounts(spec: Mapping[str, Any], path: str) -> None:
    """Validates the resource quantities of a well-formed pod spec."""
    parts = [(f"{path}.resources", spec.get("resources"))]
    for kind in ("containers", "initContainers"):
        items = enumerate(spec.get(kind) or ())
        parts += [(f"{path}.{kind}[{number}].resources", item.get("resources")) for number, item in items]
    for place, resources in parts:
        for key in ("requests", "limits"):
            _check_quantities((resources or {}).get(key), f"{place}.{key}")
    _check_quantities(spec.get("overhead"), f"{path}.overhead")


def _check_quantities(amounts: Mapping[str, Any] | None, path: str, *, maximum: int = _MAX_QUANTITY) -> None:
    for name, written in (amounts or {}).items():
        if not 0 <= quantity.parse(written).nanos <= maximum * 10**9:
            problem = f"expected a quantity from 0 to {maximum:.0e}, got {shown(written)}".replace("e+", "e", 1)
            raise ManifestError(f"{path}[{quoted(name)}]", problem)


def files(path: InputFile) -> Sequence[InputFile]:
    """The file, or the manifests in the folder."""
    if isinstance(path, Path) and os.path.isdir(path):  # noqa: PTH112 - a name that is too long is no folder
        found = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
        if not found:
            raise ManifestError("", f"no {', '.join(_SUFFIXES)} file in this folder", source=str(path))
        return found
    return [path]


def _node_of(pod: Mapping[str, Any]) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")
