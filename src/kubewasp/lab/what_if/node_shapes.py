"""Shapes of nodes to choose from, with prices: files of kind `NodePools`.

```yaml
kind: NodePools
pools:
  - name: m6i.2xlarge
    price: 0.384              # of one node, in any unit
    max: 40                   # number of nodes, 1,000 by default
    zones: [eu-1a, eu-1b]     # nodes take turns
    node:
      metadata: {labels: {capacity: on-demand}}
      status: {allocatable: {cpu: "8", memory: 30Gi, pods: "58"}}
  - {name: gpu, price: 3.1, like: gpu-a1}     # as a node of the input
```
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s import manifests
from kubewasp.k8s.errors import ManifestError, shown
from kubewasp.k8s.manifests import Manifest
from kubewasp.k8s.nodes import ZONE
from kubewasp.lab.what_if.node_copies import node_copy
from kubewasp.lab.what_if.what_if_errors import unknown
from kubewasp.simulation import loading
from kubewasp.simulation.loading import ClusterInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.input_file import InputFile

_FIELDS: Final = ("name", "price", "max", "zones", "node", "like")
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,50}[a-z0-9])?")
_MOST_SHAPES: Final = 100
_MOST_ZONES: Final = 100
MOST_NODES: Final = 10_000
_DEFAULT_MOST: Final = 1_000


@dataclass(frozen=True, slots=True)
class NodeShape:
    """A kind of node: its manifest, the price of one, and the most that there may be."""

    name: str
    node: Mapping[str, Any]
    price: float | None = None
    most: int = _DEFAULT_MOST
    zones: tuple[str, ...] = ()

    def nodes(self, count: int) -> list[dict[str, Any]]:
        """That many nodes."""
        found = []
        for number in range(count):
            labels = {ZONE: self.zones[number % len(self.zones)]} if self.zones else {}
            found.append(node_copy(self.node, f"{self.name}-{number + 1}", labels=labels))
        return found


def load_shapes(path: InputFile, nodes: Mapping[str, Mapping[str, Any]]) -> list[NodeShape]:
    """The shapes in a file. `nodes` are those of the input, by name."""
    found = manifests.load(path)
    if len(found) != 1 or found[0].kind != "NodePools":
        raise ManifestError("", "expected one object of kind NodePools", source=str(path))
    try:
        shapes = _shapes(found[0].body, nodes)
    except ManifestError as error:
        raise (error if error.source else error.at(str(path))) from None
    return shapes


def _shapes(body: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> list[NodeShape]:
    for key in body:
        if key not in ("apiVersion", "kind", "metadata", "pools"):
            raise ManifestError(key, "unknown field; there is pools")
    pools = body.get("pools")
    if not isinstance(pools, list) or not pools:
        raise ManifestError("pools", f"expected a list of pools, got {shown(pools)}")
    if len(pools) > _MOST_SHAPES:
        raise ManifestError("pools", f"expected at most {_MOST_SHAPES} pools, got {len(pools)}")
    shapes = [_shape(pool, f"pools[{number}]", nodes) for number, pool in enumerate(pools)]
    names = [shape.name for shape in shapes]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise ManifestError(f"pools[{number}].name", f"duplicate pool {name}")
    return shapes


def _shape(pool: Any, path: str, nodes: Mapping[str, Mapping[str, Any]]) -> NodeShape:
    if not isinstance(pool, dict):
        raise ManifestError(path, f"expected an object, got {shown(pool)}")
    for key in pool:
        if key not in _FIELDS:
            raise ManifestError(f"{path}.{key}", f"unknown field; there are {', '.join(_FIELDS)}")
    name, price, most, zones = pool.get("name"), pool.get("price"), pool.get("max", _DEFAULT_MOST), pool.get("zones")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ManifestError(f"{path}.name", f"expected a name for nodes such as m6i.large, got {shown(name)}")
    if price is not None and (isinstance(price, bool) or not isinstance(price, int | float) or not 0 < price < 1e12):
        raise ManifestError(f"{path}.price", f"expected a number above 0, got {shown(price)}")
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_NODES:
        raise ManifestError(f"{path}.max", f"expected a number of nodes from 1 to {MOST_NODES}, got {shown(most)}")
    if zones is not None and not (
        isinstance(zones, list) and 0 < len(zones) <= _MOST_ZONES and all(_is_name(zone) for zone in zones)
    ):
        raise ManifestError(f"{path}.zones", f"expected a list of at most {_MOST_ZONES} names, got {shown(zones)}")
    return NodeShape(name, _node(pool, path, nodes), price, most, tuple(zones or ()))


def _node(pool: Mapping[str, Any], path: str, nodes: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """The manifest of a pool's nodes, validated."""
    if ("node" in pool) == ("like" in pool):
        raise ManifestError(path, "expected either node, a manifest, or like, the name of a node of the input")
    if "like" in pool:
        if not isinstance(pool["like"], str) or pool["like"] not in nodes:
            raise unknown("node", str(pool["like"]), nodes)
        return nodes[pool["like"]]
    body = pool["node"]
    if not isinstance(body, dict) or not isinstance(body.get("metadata") or {}, dict):
        raise ManifestError(f"{path}.node", f"expected a manifest of a Node, got {shown(body)}")
    # Labels with the name of a node as their value are renewed in copies: it must not be that of the pool.
    named = {"name": f"{pool['name']}-template", **(body.get("metadata") or {})}
    manifest = {**body, "apiVersion": "v1", "kind": "Node", "metadata": named}
    loading.add(ClusterInput(), Manifest(f"{path}.node", "v1", "Node", manifest))
    if not ((manifest.get("status") or {}).get("allocatable") or {}).get("pods"):
        raise ManifestError(f"{path}.node.status.allocatable", "expected amounts with pods, such as pods: 110")
    return manifest


def _is_name(zone: Any) -> bool:
    return isinstance(zone, str) and bool(zone)
