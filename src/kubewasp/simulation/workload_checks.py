"""Validation of workloads: version, counts, and a selector that matches the template, with the texts of Kubernetes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.k8s.codec import encode
from kubewasp.k8s.errors import ManifestError, shown
from kubewasp.k8s.selectors import LabelSelector, SelectorError, label_selector, map_selector

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.k8s.manifests import Manifest

# Beyond any real cluster; a larger simulation would run out of memory.
_MAX_PODS: Final = 1_000_000
_MAX_COUNT: Final = 2**31 - 1
_GROUPS: Final = {
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "DaemonSet": "apps",
    "Job": "batch",
}
# Selectors that the API server requires, with the word of its error. Others have a default.
_REQUIRED_SELECTORS: Final = {
    "Deployment": "deployment",
    "ReplicaSet": "deployment",
    "StatefulSet": "statefulset",
    "DaemonSet": "daemonset",
}


def check_workload(manifest: Manifest) -> None:
    """Validates a workload with its pod template; ManifestError without a source."""
    body, kind = manifest.body, manifest.kind
    group = manifest.api_version.rpartition("/")[0]
    if manifest.api_version and group != _GROUPS.get(kind, ""):
        expected = f"{_GROUPS[kind]}/v1" if kind in _GROUPS else "v1"
        raise ManifestError("apiVersion", f"expected {expected} for kind {kind}, got {shown(manifest.api_version)}")
    spec = body.get("spec") or {}
    if isinstance(spec, dict):
        for count in ("replicas", "parallelism", "completions"):
            _check_count(spec.get(count), f"spec.{count}", _MAX_COUNT if count == "completions" else _MAX_PODS)
    encode(kind, body)
    _check_count((spec.get("ordinals") or {}).get("start"), "spec.ordinals.start", _MAX_COUNT)
    _check_count((body.get("status") or {}).get("succeeded"), "status.succeeded", _MAX_COUNT)
    _check_selector(kind, spec)


def _check_selector(kind: str, spec: Mapping[str, Any]) -> None:
    selector = _selector(kind, spec.get("selector"))
    if selector is None:
        return
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if not selector.matches(labels or {}):
        written = orjson.dumps(labels, option=orjson.OPT_SORT_KEYS).decode()
        problem = f"Invalid value: {written}: `selector` does not match template `labels`"
        raise ManifestError("spec.template.metadata.labels", problem)


def _selector(kind: str, written: Mapping[str, Any] | None) -> LabelSelector | None:
    """The selector of a workload; None if it is generated."""
    if kind == "ReplicationController":
        return map_selector(written or {})
    if written is None:
        if kind in _REQUIRED_SELECTORS:
            raise ManifestError("spec.selector", "Required value")
        return None
    try:
        selector = label_selector(written)
    except SelectorError as error:
        raise ManifestError("spec.selector", f"invalid label selector: {error}") from None
    if selector is not None and selector.is_empty and kind in _REQUIRED_SELECTORS:
        problem = f"Invalid value: {{}}: empty selector is invalid for {_REQUIRED_SELECTORS[kind]}"
        raise ManifestError("spec.selector", problem)
    return selector


def _check_count(value: Any, path: str, maximum: int) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum:
        raise ManifestError(path, f"expected an integer from 0 to {maximum}, got {shown(value)}")
