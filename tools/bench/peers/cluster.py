"""Nodes and pods of a peer run: the same ones as files for programs and as values for kubewasp."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from kubewasp.k8s import sample_cluster
from kubewasp.k8s.codec import encode
from kubewasp.state.node_objects import Nodes
from kubewasp.state.node_table import NodeTable

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

PODS: Final = 10  # by turns; their names end in each of the digits


class Cluster:
    """Sample nodes, and pods made by `pod`. Its files exist while it is entered."""

    def __init__(self, nodes: int, pod: Callable[[str], dict[str, Any]] = sample_cluster.pod) -> None:
        self._nodes = sample_cluster.nodes(nodes)
        self._pods = [pod(f"web-{number}") for number in range(PODS)]
        self.pods = [encode("Pod", item) for item in self._pods]

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="kubewasp-peer-")
        self.nodes_file.write_text(json.dumps(self._nodes))
        self.pods_file.write_text(json.dumps(self._pods))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    @property
    def nodes_file(self) -> Path:
        return Path(self._folder.name, "nodes.json")

    @property
    def pods_file(self) -> Path:
        return Path(self._folder.name, "pods.json")

    def table(self, count: int) -> NodeTable:
        """A fresh table of the first `count` nodes, unknown to any guest."""
        return NodeTable.of(Nodes(self._nodes[:count]))
