"""Bars of the wire codec."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import orjson

from kubewasp.k8s import sample_cluster
from kubewasp.k8s.codec import decode, encode
from tools.bench.bars.bar import Bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROUNDS = 7
_TIMES = 500


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    step("encoding nodes")
    node = sample_cluster.node(7)
    encoded = encode("Node", node)
    note = f"{len(orjson.dumps(node)):,} bytes of JSON, {len(encoded):,} of protobuf"
    yield Bar("encode a 2 KB node", _microseconds(lambda: encode("Node", node)), "µs", at_most=200, note=note)
    yield Bar("decode it", _microseconds(lambda: decode("Node", encoded)), "µs", at_most=400)


def _microseconds(work: Callable[[], object]) -> float:
    rounds = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        for _ in range(_TIMES):
            work()
        rounds.append((time.perf_counter() - began) / _TIMES)
    return statistics.median(rounds) * 1e6
