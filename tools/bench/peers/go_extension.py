"""The Go project itself: kube-scheduler-wasm-extension's plugin, with the example guest that it publishes.

Both come from the Go module proxy; where that does not have them, the peer is skipped with what the Go tool said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s import sample_cluster
from tools.bench.peers import go_programs
from tools.bench.peers.pairs import Pair

if TYPE_CHECKING:
    from pathlib import Path

FORM: Final = "go-extension"
MODULE: Final = "sigs.k8s.io/kube-scheduler-wasm-extension/scheduler"
EXAMPLES: Final = "sigs.k8s.io/kube-scheduler-wasm-extension/examples"
GUEST: Final = "nodenumber/main.wasm"
COMMIT: Final = "4a5f2b28a6c2783e45c140b03b1d4454fee4a6c8"  # its modules have no releases


def program(replacement: Path | None = None) -> Path:
    """A program of ours around its plugin, or around a replacement of the module on disk."""
    return go_programs.program_with("go_extension", MODULE, COMMIT, replacement)


def guest() -> Path:
    return go_programs.published(EXAMPLES, COMMIT, GUEST)


def pod(name: str) -> dict[str, Any]:
    """Its example compares a node's name with the node name in the pod's spec; without one it likes all nodes."""
    made = sample_cluster.pod(name)
    made["spec"]["nodeName"] = name
    return made


def pair() -> Pair:
    return Pair(FORM, program, guest, pod)
