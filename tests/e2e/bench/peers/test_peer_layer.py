"""Pairs of a peer and kubewasp: measurements by turns, and the reason for a missing peer."""

import json
import sys
from pathlib import Path

import pytest

from tests.guests import build
from tools.bench.model import Measurement, Skipped
from tools.bench.peers import peer_layer, wazero_host
from tools.bench.peers.go_programs import UnavailableError
from tools.bench.peers.pairs import Pair

SIZES = (10, 20)


def guest() -> Path:
    """A small one: how a guest is compiled does not matter here."""
    return build.wat("pod_node_name")


def wazero() -> Pair:
    return Pair(wazero_host.FORM, wazero_host.program, guest)


def missing() -> Path:
    raise UnavailableError("the Go tool said: no")


def test_each_metric_has_a_value_of_every_repetition_for_the_peer_and_for_us() -> None:
    steps: list[str] = []
    chosen = [wazero()]
    found = list(peer_layer.measure(steps.append, SIZES, repetitions=2, chosen=chosen))
    assert len(steps) == peer_layer.steps(SIZES, repetitions=2, chosen=chosen)
    measurements = [one for one in found if isinstance(one, Measurement)]
    assert measurements == found
    assert {(one.case["form"], one.case["nodes"], one.metric, one.unit) for one in measurements} == {
        (form, nodes, metric, unit)
        for form in ("wazero", "wazero-guest-here")
        for nodes in SIZES
        for metric, unit in [
            ("load_cold", "ms"),
            ("first_cycle", "µs"),
            ("unchanged_cycle", "µs"),
            ("guest_memory", "bytes"),
        ]
    }
    assert all(len(one.values) == 2 and min(one.values) > 0 for one in measurements)
    assert all(one.layer == "plugin" and one.case["policy"] == "nodenumber" for one in measurements)


def test_the_peer_and_we_take_turns() -> None:
    steps: list[str] = []
    list(peer_layer.measure(steps.append, (10,), repetitions=2, chosen=[wazero()]))
    assert [" here" in step for step in steps[1:]] == [False, True, False, True]


@pytest.mark.parametrize("pair", [Pair("peer", missing, guest), Pair("peer", guest, missing)])
def test_a_peer_that_cannot_be_had_is_skipped_with_the_reason_and_all_steps_are_told(pair: Pair) -> None:
    steps: list[str] = []
    found = list(peer_layer.measure(steps.append, SIZES, repetitions=3, chosen=[pair]))
    assert found == [
        Skipped("plugin", "peer", "the Go tool said: no"),
        Skipped("plugin", "peer-guest-here", "measured beside peer, which was skipped"),
    ]
    assert len(steps) == peer_layer.steps(SIZES, repetitions=3, chosen=[pair]) == 13


def test_a_peer_that_answers_otherwise_is_not_measured(tmp_path: Path) -> None:
    answer = {
        "load_seconds": 1.0,
        "first_cycle_us": 1.0,
        "cycles_us": [1.0],
        "checksum": "otherwise",
        "guest_memory_bytes": 1,
    }
    liar = tmp_path / "liar"
    liar.write_text(f"#!{sys.executable}\nprint({json.dumps(answer)!r})\n")
    liar.chmod(0o755)
    pair = Pair("peer", lambda: liar, guest)
    found = list(peer_layer.measure(lambda _: None, (10,), repetitions=1, chosen=[pair]))
    assert found == [Skipped("plugin", "peer at 10 nodes", "its scores differ from those of kubewasp")]


def test_all_peers_are_measured_unless_some_are_chosen() -> None:
    assert peer_layer.FORMS == ("wazero", "wazero-guest-here", "go-extension", "go-extension-guest-here")
    assert peer_layer.steps() == 3 * (1 + 2 * len(peer_layer.SIZES) * peer_layer.REPETITIONS)
