"""Jumps of the time of day during a wave: an hour and a day, forward and back."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.faults import clock
from tests.e2e.faults.clock import JumpingKubewasp
from tests.e2e.faults.counts import Counts
from tests.e2e.faults.wave import SIZES, Wave
from tests.e2e.kubewasp import SOON, ours, wait_events, wait_node
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster
from tools.testbed.nodes import FakeNodes
from tools.testbed.servers import Servers
from tools.testbed.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="libraries are preloaded in another way")

HOUR, DAY = 3600.0, 86400.0

StartJumping = Callable[..., JumpingKubewasp]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clock.build(tmp_path_factory.mktemp("clock"))


@pytest.fixture
def start_jumping(servers: Servers, library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartJumping]:
    """Starts a kubewasp with its own time of day; it is stopped after the test."""
    with ExitStack() as stack:

        def start(**options: Any) -> JumpingKubewasp:
            folder = tmp_path_factory.mktemp("kubewasp")
            return stack.enter_context(JumpingKubewasp(folder, servers.api, library, **options))

        yield start


def test_clock_jumps(
    wave: Wave, election: Object, fake_nodes: FakeNodes, start_jumping: StartJumping, counts: Counts
) -> None:
    election["leaderElection"] |= {"leaseDuration": "30s", "renewDeadline": "20s"}  # far more than a busy machine takes
    leader = start_jumping(config=election)
    wait_until(lambda: leader.leads, SOON, "the first one to lead", leader.log_tail)
    standby = start_jumping(config=election)
    jumps = (HOUR, -HOUR, -HOUR, HOUR, DAY, -DAY, -DAY)
    with wave.log:
        for number, seconds in enumerate(jumps, 1):
            wave.create(0.2)
            wave.wait_bound(10 * number)
            leader.jump(seconds)
            standby.jump(-seconds)
        wave.create()
        wave.open_gates()
        wave.wait_settled()
    counts.judge(schedulers=[leader, standby], more={"clock jumps": 2 * len(jumps)})
    assert not standby.leads
    # Pods that were tried before the jumps are tried again, and events have the time that the scheduler takes for now.
    fake_nodes.create(1, capacity={"cpu": "1000", "memory": "1000Gi", "pods": "1000"})
    for number in range(SIZES["huge"]):
        wait_node(wave.cluster, f"huge-{number}")
    _check_time_of_events(wave.cluster, leader)
    leader.jump(2 * DAY)
    _check_time_of_events(wave.cluster, leader)
    assert leader.leads
    assert not standby.leads


def _check_time_of_events(cluster: Cluster, scheduler: JumpingKubewasp) -> None:
    name = f"at-{round(scheduler.offset)}".replace("--", "-minus-")
    began = scheduler.now()
    cluster.create(ours(name))
    (event,) = wait_events(cluster, name, "Scheduled")
    assert began <= datetime.fromisoformat(event["eventTime"]).timestamp() <= scheduler.now()
