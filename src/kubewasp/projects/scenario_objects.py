"""Cluster objects of a scenario test: files, whole manifests, and short forms.

A short form has a `name` instead of `metadata`: `{name: web, requests: {cpu: 1}}`. Nodes and pods have one; any other
object is a whole manifest.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from kubewasp.framework.config.fields import Section
from kubewasp.k8s import manifests
from kubewasp.k8s.errors import shown
from kubewasp.k8s.objects import name_of, namespace_of
from kubewasp.simulation import loading as cluster_input

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from kubewasp.framework.config.fields import Problems
    from kubewasp.k8s.manifests import Manifest

ALLOCATABLE: Final = {"cpu": "4", "memory": "16Gi", "pods": "110"}
CLUSTER: Final = "cluster.yaml"
_TAINT: Final = re.compile(r"(?P<key>[^=:]+)(?:=(?P<value>[^:]*))?:(?P<effect>NoSchedule|PreferNoSchedule|NoExecute)")


class ObjectReader:
    """Reads the cluster and the pods of one test into `found`."""

    def __init__(self, folder: Path, source: str, problems: Problems) -> None:
        self.found = cluster_input.ClusterInput()
        self._folder = folder
        self._source = source
        self._problems = problems

    def add_cluster(self, value: Any, *, is_needed: bool) -> None:
        """Files and objects. Default: the project's own cluster file."""
        if value is None:
            if (self._folder / CLUSTER).exists():
                value = CLUSTER
            elif is_needed:
                self._problems.required("cluster", f"files or nodes, unless the project has a {CLUSTER}")
                return
        for manifest in self._manifests(value, "cluster", "Node"):
            cluster_input.add(self.found, manifest)

    def add_pods(self, body: Section) -> list[str]:
        """Their names, as namespace/name."""
        field = "pod" if body.has("pod") else "pods"
        value, other = body.take(field), body.take("pods")
        if field == "pod" and other is not None:
            self._problems.add("pods", "not allowed together with pod")
        names = []
        for manifest in self._manifests(value, field, "Pod"):
            if manifest.kind != "Pod":
                text = f"expected a pod, got kind {shown(manifest.kind)}; workloads belong in `cluster`"
                self._problems.add(field, text)
                continue
            cluster_input.add(self.found, manifest)
            names.append(f"{namespace_of(manifest.body)}/{name_of(manifest.body)}")
        if field == "pod" and len(names) != 1 and not self._problems:
            self._problems.add("pod", f"expected one pod, found {len(names)}; use `pods` for several")
        return names

    def _manifests(self, value: Any, path: str, kind: str) -> Iterator[Manifest]:
        if value is None:
            return
        for number, item in enumerate(value if isinstance(value, list) else [value]):
            place = f"{path}[{number}]" if isinstance(value, list) else path
            if isinstance(item, str) and item:
                yield from self._of_file(item, place)
            elif isinstance(item, dict):
                body = expand(item, kind, place, self._problems)
                if body and not self._problems:
                    yield from manifests.taken_apart(body, f"{self._source}: {place}")
            else:
                self._problems.add(place, f"expected a file or an object, got {shown(item)}")

    def _of_file(self, name: str, place: str) -> Iterator[Manifest]:
        path = self._folder / name
        if not path.exists():
            self._problems.add(place, f"no file {name} in {self._folder}")
            return
        for file in cluster_input.files(path):
            yield from manifests.load(file)


def expand(item: Mapping[str, Any], kind: str, path: str, problems: Problems) -> dict[str, Any]:
    """The whole manifest of a short form or manifest; `kind` is its default kind."""
    if "metadata" in item or "name" not in item:
        return {"apiVersion": "v1", "kind": kind, **item} if "kind" not in item else dict(item)
    section = Section(dict(item), path, problems)
    kind = section.text("kind", kind)
    if kind not in ("Node", "Pod"):
        problems.add(path, f"short forms exist for Node and Pod only; write the {kind} as a whole manifest")
        return {}
    metadata = {"name": section.text("name"), "labels": section.mapping("labels")}
    if section.has("annotations"):
        metadata["annotations"] = section.mapping("annotations")
    manifest = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    manifest |= _node(section, metadata) if kind == "Node" else _pod(section, metadata)
    section.refuse_unknown()
    return manifest


def _node(section: Section, metadata: dict[str, Any]) -> dict[str, Any]:
    metadata["labels"] = {"kubernetes.io/hostname": metadata["name"], **metadata["labels"]}
    taints = section.take("taints") or []
    if not isinstance(taints, list):
        section.problems.unreadable(section.at("taints"), f"expected a list, got {shown(taints)}")
        taints = []
    spec = {"taints": [_taint(item, f"{section.at('taints')}[{n}]", section.problems) for n, item in enumerate(taints)]}
    status = {"allocatable": {**ALLOCATABLE, **section.mapping("allocatable")}}
    return {"spec": {**spec, **section.mapping("spec")}, "status": {**status, **section.mapping("status")}}


def _taint(item: Any, path: str, problems: Problems) -> Any:
    match = _TAINT.fullmatch(item) if isinstance(item, str) else None
    if match is not None:
        return {"key": match["key"], "value": match["value"] or "", "effect": match["effect"]}
    if not isinstance(item, dict):
        problems.unreadable(path, f"expected a taint such as dedicated=gpu:NoSchedule, got {shown(item)}")
    return item


def _pod(section: Section, metadata: dict[str, Any]) -> dict[str, Any]:
    if section.has("namespace"):
        metadata["namespace"] = section.text("namespace")
    container = {
        "name": "main",
        "image": section.text("image", "image"),
        "resources": {"requests": section.mapping("requests")},
    }
    spec: dict[str, Any] = {"containers": [container]}
    if section.has("node"):
        spec["nodeName"] = section.text("node")
    return {"spec": {**spec, **section.mapping("spec")}}
