"""Program around kube-scheduler-wasm-extension's plugin, built with a module of the same signatures.

The build compiles the scheduling framework of another Kubernetes release, which takes minutes.
"""

from pathlib import Path

from tools.bench.model import Measurement
from tools.bench.peers import go_extension, go_programs, peer_layer
from tools.bench.peers.pairs import Pair

MODULE = Path(__file__).parent / "extension_module"


def test_the_program_compiles_runs_and_agrees_with_kubewasp() -> None:
    pair = Pair(
        go_extension.FORM,
        lambda: go_extension.program(MODULE),
        lambda: go_programs.guest("nodenumber"),
        go_extension.pod,
    )
    found = list(peer_layer.measure(lambda _: None, (10, 25), repetitions=2, chosen=[pair]))
    assert all(isinstance(one, Measurement) for one in found), found
    assert {(one.case["form"], one.case["nodes"], one.metric) for one in found if isinstance(one, Measurement)} == {
        *((go_extension.FORM, nodes, metric) for nodes in (10, 25) for metric in METRICS),
        *((f"{go_extension.FORM}-guest-here", nodes, metric) for nodes in (10, 25) for metric in METRICS),
        *((f"{go_extension.FORM}-guest-here", nodes, "guest_memory") for nodes in (10, 25)),  # the peer does not tell
    }


METRICS = ("load_cold", "first_cycle", "unchanged_cycle")
