"""Restarts of API server and etcd during a wave."""

from tests.e2e.faults.counts import Counts
from tests.e2e.faults.wave import Wave
from tools.testbed.kubewasp import StartKubewasp
from tools.testbed.servers import Servers

# With few requests a second most of the wave is still to be bound when a server goes away.
SLOWLY = {"clientConnection": {"qps": 100, "burst": 50}}


def test_api_server_killed_and_restarted(
    wave: Wave, servers: Servers, start_kubewasp: StartKubewasp, counts: Counts
) -> None:
    scheduler = start_kubewasp(config=SLOWLY)
    with wave.log:
        wave.create(0.8)
        wave.wait_bound(20)
        servers.api.restart(crash=True)
        wave.create()
        wave.wait_bound(100)
        servers.api.restart(crash=True)
        wave.open_gates()
        wave.wait_settled()
    counts.judge(schedulers=[scheduler], more={"restarts": 2})


def test_etcd_killed_and_restarted(wave: Wave, servers: Servers, start_kubewasp: StartKubewasp, counts: Counts) -> None:
    scheduler = start_kubewasp(config=SLOWLY)
    with wave.log:
        wave.create(0.8)
        wave.wait_bound(20)
        servers.etcd.restart(crash=True)
        wave.create()
        wave.open_gates()
        wave.wait_settled()
    counts.judge(schedulers=[scheduler], more={"restarts": 1})


def test_etcd_compacted_while_the_api_server_is_down(
    wave: Wave, servers: Servers, start_kubewasp: StartKubewasp, counts: Counts
) -> None:
    scheduler = start_kubewasp(config=SLOWLY)
    lists = scheduler.metric("kubewasp_reflector_lists_total")
    with wave.log:
        wave.create(0.8)
        wave.wait_bound(20)
        servers.api.kill()
        servers.etcd.compact()
        servers.api.start()
        wave.create()
        wave.open_gates()
        wave.wait_settled()
    counts.judge(schedulers=[scheduler], more={"restarts": 1, "compactions": 1})
    assert scheduler.metric("kubewasp_reflector_lists_total") > lists
