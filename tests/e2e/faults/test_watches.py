"""Watches that are cut, or that expire on the API server."""

import pytest

from tests.e2e.faults.conftest import StartBehind
from tests.e2e.faults.counts import Counts
from tests.e2e.faults.wave import Wave
from tests.e2e.proxy import Asked, Fault, FaultProxy
from tools.testbed.waiting import wait_until

LISTS = "kubewasp_reflector_lists_total"
# With few requests a second the wave takes long enough to meet several ends.
SLOWLY = {"qps": 100, "burst": 100}


@pytest.mark.parametrize("expired", [False, True], ids=["cut", "ended with 410"])
def test_watches_every_second(
    expired: bool, wave: Wave, proxy: FaultProxy, start_behind: StartBehind, counts: Counts
) -> None:
    scheduler = start_behind(proxy, **SLOWLY)
    lists = scheduler.metric(LISTS)
    kind = "watches expired" if expired else "watches cut"
    with wave.log, proxy.ending_watches(every=1.0, expired=expired):
        wave.create(0.5)
        wait_until(lambda: proxy.injected[kind] >= 20, 60, "watches to be ended", scheduler.log_tail)
        wave.create()
        wave.open_gates()
        wave.wait_settled()
    counts.judge(schedulers=[scheduler], proxies=[proxy])
    assert (scheduler.metric(LISTS) > lists) is expired


def test_watches_refused_with_410(wave: Wave, proxy: FaultProxy, start_behind: StartBehind, counts: Counts) -> None:
    def watches(asked: Asked) -> bool:
        return asked.is_watch

    scheduler = start_behind(proxy, **SLOWLY)
    lists = scheduler.metric(LISTS)
    with wave.log:
        wave.create(0.5)
        wave.wait_bound(20)
        proxy.inject(Fault(where=watches, status=410, times=30))
        proxy.cut_watches()
        wave.create()
        wave.open_gates()
        wave.wait_settled()
    counts.judge(schedulers=[scheduler], proxies=[proxy])
    assert proxy.injected["410"] > 0
    assert scheduler.metric(LISTS) > lists
