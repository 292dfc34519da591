"""The peer kube-scheduler-wasm-extension: its own plugin in Go, with its published example guest.

Both come from the Go module proxy. If they are unavailable, the peer is skipped with the message of the Go tool.
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
    """Our program around its plugin, or around a replacement of the module on disk."""
    return go_programs.program_with("go_extension", MODULE, COMMIT, replacement)


def guest() -> Path:
    return go_programs.published(EXAMPLES, COMMIT, GUEST)


def pod(name: str) -> dict[str, Any]:
    """A pod with a node name: the example guest compares it with the names of nodes."""
    made = sample_cluster.pod(name)
    made["spec"]["nodeName"] = name
    return made


def pair() -> Pair:
    return Pair(FORM, program, guest, pod)
