"""Minimal pods and nodes for tests."""

from typing import Any

from kubewasp.state.node_objects import Nodes


def pod(name: str = "pod-1", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", "uid": f"uid of {name}", **metadata}}


def node(name: str, *, images: dict[str, int] | None = None, **metadata: Any) -> dict[str, Any]:
    """`images` tells the size of each image on the node."""
    found = [{"names": [image], "sizeBytes": size} for image, size in (images or {}).items()]
    return {"metadata": {"name": name, **metadata}, "status": {"images": found}}


def nodes(count: int) -> Nodes:
    """node-1, node-2 and so on."""
    return Nodes(node(f"node-{number}") for number in range(1, count + 1))
