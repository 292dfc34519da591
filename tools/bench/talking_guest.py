"""A guest that logs a line per node, for the cost of a log line: calls of Python (`counts`) and time (`bars`)."""

from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING, TextIO

from kubewasp.k8s import sample_cluster
from kubewasp.k8s.codec import encode
from kubewasp.k8s.pods import PodParser
from kubewasp.state.node_objects import Nodes
from kubewasp.wasm.guest import Guest
from tests.guests import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.wasm.guest_log import GuestLogSink, HookLog

# `"Looking at a node" node="NAME"`, in filter.
_TEXT = """
(module
  (import "k8s.io/scheduler" "currentNodeName" (func $name (param i32 i32) (result i32)))
  (import "k8s.io/klog" "logs" (func $logs (param i32 i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "Looking at a node")
  (data (i32.const 32) "node\\00")
  (func (export "filter") (result i32)
    (local $length i32)
    (local.set $length (call $name (i32.const 37) (i32.const 1000)))
    (i32.store8 (i32.add (i32.const 37) (local.get $length)) (i32.const 0))
    (call $logs (i32.const 0) (i32.const 0) (i32.const 17) (i32.const 32) (i32.add (local.get $length) (i32.const 6)))
    (i32.const 0)))
"""


class Kept:
    """Sink that keeps the last call."""

    def __init__(self) -> None:
        self.call: HookLog | None = None

    def write(self, call: HookLog) -> None:
        self.call = call


class _NullStream(io.StringIO):
    def write(self, text: str) -> int:
        return len(text)


def null_handler() -> logging.StreamHandler[TextIO]:
    """Handler that writes nothing."""
    return logging.StreamHandler(_NullStream())


def filtering(nodes: int, sink: GuestLogSink, *, severity: int = 0) -> Callable[[], object]:
    """An operation: filter of that many nodes, with a line each unless the severity is higher."""
    # Batches get smaller on a busy machine if the time limit is near.
    limits = {"call_timeout": 60.0}
    guest = Guest.load(build.wat_text(_TEXT), name="talks", logs=sink, log_severity=severity, limits=limits)
    manifest, there = sample_cluster.pod(), Nodes(sample_cluster.nodes(nodes))
    pod = PodParser().parse(manifest, encode("Pod", manifest))

    def run() -> None:
        with guest.cycle(pod, there) as cycle:
            cycle.hooks.call_rows("filter", nodes)

    return run
