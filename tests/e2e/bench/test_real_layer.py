"""Minimal benchmark runs of every workload on a real API server."""

from pathlib import Path

import pytest

from tools.bench.contenders import Contender
from tools.bench.figures import TooSlowError
from tools.bench.real_layer import RealCluster
from tools.bench.workload_list import WORKLOADS, workload
from tools.testbed.servers import Servers

LONGEST = 60.0
ALL = [
    Contender("kubewasp"),
    Contender("kubewasp", "builtin"),
    Contender("kubewasp", "wasm-5"),
    Contender("kube-scheduler"),
    Contender("kube-scheduler", "extender"),
]
IN_SHORT = [Contender("kubewasp"), Contender("kube-scheduler")]


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_comes_out_right_with_every_contender(servers: Servers, tmp_path: Path, name: str) -> None:
    what = workload(name, nodes=20, pods=30)
    with RealCluster(servers.api, what, tmp_path).prepared() as cluster:
        for contender in ALL if name == "basic" else IN_SHORT:
            found = cluster.figures(contender, LONGEST)
            assert found.rate > 0
            assert 0 < found.attempts[0.5] <= found.attempts[0.99]
            assert found.memory > 2**20


def test_a_run_that_takes_too_long_is_ended_and_the_next_one_is_not_disturbed(servers: Servers, tmp_path: Path) -> None:
    with RealCluster(servers.api, workload("basic", nodes=20, pods=300), tmp_path).prepared() as cluster:
        with pytest.raises(TooSlowError, match="of 300 pods were bound after 0 s"):
            cluster.figures(Contender("kubewasp"), 0.0)
        assert cluster.figures(Contender("kubewasp"), LONGEST).rate > 0
