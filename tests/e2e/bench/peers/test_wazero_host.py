"""Equal results of the wazero stand-in and kubewasp, guest by guest."""

import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.guests import build
from tools.bench.peers import go_programs, runs, wazero_host
from tools.bench.peers.cluster import PODS, Cluster
from tools.bench.peers.go_programs import UnavailableError
from tools.bench.peers.runs import Run

NODES = 30
CYCLES = 11


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(NODES) as made:
        yield made


@functools.cache
def both(guest: Path, cluster: Cluster, nodes: int = NODES) -> tuple[Run, Run]:
    """Once for each guest: the peer compiles a Go guest for seconds."""
    theirs = runs.by_program(wazero_host.program(), guest, cluster, nodes=nodes, cycles=CYCLES)
    return theirs, runs.here(guest, cluster, nodes=nodes, cycles=CYCLES, use_cache=True)


def expected(points: list[list[int]]) -> str:
    return hashlib.sha256(np.array(points, "<i8").tobytes()).hexdigest()


def test_nodenumber_likes_the_same_nodes_on_both_hosts(cluster: Cluster) -> None:
    theirs, ours = both(go_programs.guest("nodenumber"), cluster)
    likes = [[10 if number % 10 == pod % PODS else 0 for number in range(1, NODES + 1)] for pod in range(CYCLES + 1)]
    assert theirs.checksum == ours.checksum == expected(likes)


def test_labels_are_read_from_the_whole_node_on_both_hosts(cluster: Cluster) -> None:
    theirs, ours = both(go_programs.guest("labels"), cluster)
    likes = [10 if number % 3 == 0 else 0 for number in range(1, NODES + 1)]
    assert theirs.checksum == ours.checksum == expected([likes] * (CYCLES + 1))


def test_a_guest_that_filters_too_gets_the_same_answers(cluster: Cluster) -> None:
    theirs, ours = both(build.go_guest("nodenumber"), cluster)
    assert theirs.checksum == ours.checksum


def test_normalized_scores_are_taken_by_name(cluster: Cluster) -> None:
    theirs, ours = both(build.wat("normalizescore"), cluster, nodes=3)
    assert theirs.checksum == ours.checksum == expected([[10, 20, 30]] * (CYCLES + 1))


def test_a_node_that_is_filtered_out_is_not_scored(cluster: Cluster) -> None:
    guest = build.wat_text(REJECTS_SHORT_NAMES, "rejects-short-names")
    theirs, ours = both(guest, cluster, nodes=11)
    answers = [*[2] * 9, 0, 0, 7, 7]  # codes of filter, then the scores of node-10 and node-11
    assert theirs.checksum == ours.checksum == expected([answers] * (CYCLES + 1))


def test_every_import_of_the_classic_abi_is_there(cluster: Cluster) -> None:
    theirs, ours = both(build.wat("imports"), cluster, nodes=1)
    assert theirs.checksum == ours.checksum


def test_a_guest_that_exits_well_in_its_start_function_stays_usable(cluster: Cluster) -> None:
    theirs, ours = both(build.wat("start_exit0"), cluster, nodes=2)
    assert theirs.checksum == ours.checksum


def test_what_it_costs_is_told(cluster: Cluster) -> None:
    for run in both(go_programs.guest("nodenumber"), cluster):
        assert run.load_ms > 0
        assert run.first_us > 0
        assert len(run.cycles_us) == CYCLES
        assert run.guest_memory >= 1 << 16


def test_a_guest_that_fails_is_told_as_it_said(cluster: Cluster) -> None:
    with pytest.raises(UnavailableError, match="its program failed: _start error"):
        runs.by_program(wazero_host.program(), build.wat("start_exit1"), cluster, nodes=1, cycles=1)


REJECTS_SHORT_NAMES = """
(module
  (import "k8s.io/scheduler" "currentNodeName" (func $name (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "filter") (result i32)
    (select (i32.const 2) (i32.const 0) (i32.lt_u (call $name (i32.const 0) (i32.const 64)) (i32.const 7))))
  (func (export "score") (result i64) (i64.const 0x700000000)))
"""
