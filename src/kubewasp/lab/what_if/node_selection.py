"""Nodes of a question: by name, zone and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.k8s.nodes import BETA_ZONE, ZONE
from kubewasp.lab.what_if.what_if_errors import WhatIfError, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def selected_nodes(
    nodes: Mapping[str, Mapping[str, Any]], *, names: Sequence[str], zone: str, labels: Mapping[str, str]
) -> list[str]:
    """The named nodes, and those of the zone that have all labels.

    Args:
        nodes: Manifests of all nodes by name.
        names: Names of nodes.
        zone: Zone of further nodes, if not empty.
        labels: Labels of further nodes, if any.
    """
    for name in names:
        if name not in nodes:
            raise unknown("node", name, nodes)
    chosen = dict.fromkeys(names)
    if zone or labels:
        found = [name for name, manifest in nodes.items() if _suits(_labels(manifest), zone, labels)]
        if not found:
            raise WhatIfError(_nothing(nodes, zone, labels))
        chosen |= dict.fromkeys(found)
    return list(chosen)


def _suits(own: Mapping[str, str], zone: str, labels: Mapping[str, str]) -> bool:
    in_zone = not zone or zone in (own.get(ZONE), own.get(BETA_ZONE))
    return in_zone and all(own.get(key) == value for key, value in labels.items())


def _nothing(nodes: Mapping[str, Mapping[str, Any]], zone: str, labels: Mapping[str, str]) -> str:
    wanted = [*([f"zone {zone}"] if zone else []), *(f"{key}={value}" for key, value in labels.items())]
    zones = sorted({found for manifest in nodes.values() if (found := _labels(manifest).get(ZONE))})
    known = f"; zones of the input: {', '.join(zones[:10])}" if zone and zones else ""
    return f"no node has {' and '.join(wanted)}{known}"


def _labels(manifest: Mapping[str, Any]) -> Mapping[str, str]:
    return (manifest.get("metadata") or {}).get("labels") or {}
