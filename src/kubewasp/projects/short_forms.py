"""Nodes and pods written short, as tests like them: `{name: web, requests: {cpu: 1}}`.

An object with a `name` of its own instead of `metadata` is a short form; any other is a manifest as it stands.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from kubewasp.framework.config.fields import Section
from kubewasp.k8s.errors import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.framework.config.fields import Problems

ALLOCATABLE: Final = {"cpu": "4", "memory": "16Gi", "pods": "110"}
_TAINT: Final = re.compile(r"(?P<key>[^=:]+)(?:=(?P<value>[^:]*))?:(?P<effect>NoSchedule|PreferNoSchedule|NoExecute)")


def expand(item: Mapping[str, Any], kind: str, path: str, problems: Problems) -> dict[str, Any]:
    """The manifest that an object stands for; `kind` is what it is if it does not say so."""
    if "metadata" in item or "name" not in item:
        return {"apiVersion": "v1", "kind": kind, **item} if "kind" not in item else dict(item)
    section = Section(dict(item), path, problems)
    kind = section.text("kind", kind)
    if kind not in ("Node", "Pod"):
        problems.add(path, f"only nodes and pods can be written short; a {kind} needs metadata and all the rest")
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
