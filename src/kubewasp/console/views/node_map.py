"""Map of the cluster: all nodes as columns, by zone or by a label; and the scores of one pod in the same order."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from kubewasp.console.json_values import Document, name_of
from kubewasp.k8s.nodes import BETA_ZONE, ZONE

if TYPE_CHECKING:
    from kubewasp.console.picture import Picture
    from kubewasp.console.study import StudiedDecision
    from kubewasp.k8s.nodes import Node

MOST_NODES: Final = 50_000
BY_ZONE: Final = "zone"
_MOST_NAMESPACES: Final = 100
_DIGITS: Final = 4


def map_document(picture: Picture, by: str) -> Document:
    """`by` is `zone` or a label key. Groups are in the order of their names, nodes as in the picture."""
    columns = picture.columns
    names = list(columns.names[:MOST_NODES])
    values = [_value(picture.nodes[name], by) for name in names]
    groups = sorted(set(values))
    places = {value: place for place, value in enumerate(groups)}
    counts = Counter(values)
    namespaces, of_nodes = _namespaces(picture, names)
    shown = slice(0, len(names))
    return {
        "by": by,
        "groups": [{"name": name_of(value), "nodes": counts[value]} for value in groups],
        "names": [name_of(name) for name in names],
        "group": [places[value] for value in values],
        "pods": columns.pods[shown].tolist(),
        "resources": {name: np.round(columns.shares(name)[shown], _DIGITS).tolist() for name in columns.resources},
        "namespaces": [name_of(name) for name in namespaces],
        "namespace": of_nodes,
        "unschedulable": columns.is_unschedulable[shown].astype(np.int8).tolist(),
        "truncated": len(columns.names) > len(names),
    }


def scores_document(picture: Picture, decision: StudiedDecision, plugin: str) -> Document:
    """Scores by node, in the order of the map: of a plugin, weighted, or `total`."""
    grid = decision.grid
    rows = picture.rows
    values: list[int | None] = [None] * len(picture.columns.names)
    found = grid.totals
    if plugin != "total":
        scores = grid.scores.get(plugin)
        found = np.zeros(len(grid.names), np.int64) if scores is None else scores.normalized * scores.weight
        if scores is None:
            return {"names": [name_of(name) for name in picture.columns.names[:MOST_NODES]], "values": values}
    for name, is_scored, value in zip(grid.names, grid.is_scored.tolist(), found.tolist(), strict=True):
        row = rows.get(name)
        if is_scored and row is not None:
            values[row] = value
    return {"names": [name_of(name) for name in picture.columns.names[:MOST_NODES]], "values": values[:MOST_NODES]}


def _value(node: Node, by: str) -> str:
    if by == BY_ZONE:
        return node.labels.get(ZONE, node.labels.get(BETA_ZONE, ""))
    return node.labels.get(by, "")


def _namespaces(picture: Picture, names: list[str]) -> tuple[list[str], list[int]]:
    """Namespaces, those with most pods first, and by node the one with the largest share of its requests, or -1."""
    counts: Counter[str] = Counter()
    found: list[str] = []
    for name in names:
        pods = picture.pods_on.get(name)
        if not pods:
            found.append("")
            continue
        node, shares = picture.nodes[name].allocatable, Counter[str]()
        cpu, memory = node.cpu or 1, node.memory or 1
        for pod in pods:
            asked = pod.resources.requests
            shares[pod.namespace] += asked.cpu / cpu + asked.memory / memory  # type: ignore[assignment]
            counts[pod.namespace] += 1
        found.append(max(shares, key=lambda key: (shares[key], key)))
    listed = [name for name, _ in counts.most_common(_MOST_NAMESPACES)]
    places = {name: place for place, name in enumerate(listed)}
    return listed, [places.get(name, -1) for name in found]
