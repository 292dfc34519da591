"""Several schedulers: a leader that dies or hangs during binds, and two schedulers without leader election."""

import signal

from tests.e2e.faults.conftest import StartBehind, StartProxy
from tests.e2e.faults.counts import Counts
from tests.e2e.faults.wave import Wave
from tests.e2e.kubewasp import SOON
from tests.e2e.proxy import Asked, Fault
from tools.testbed.client import Object
from tools.testbed.waiting import wait_until


def _bindings(asked: Asked) -> bool:
    return asked.is_binding


def test_leader_killed_while_binding(
    wave: Wave, proxies: StartProxy, start_behind: StartBehind, election: Object, counts: Counts
) -> None:
    old, new = proxies(), proxies()
    leader = start_behind(old, config=election, qps=100, burst=50)
    wait_until(lambda: leader.leads, SOON, "the first one to lead", leader.log_tail)
    standby = start_behind(new, config=election)
    old.inject(Fault(where=_bindings, delay=0.5, after=True))
    with wave.log:
        wave.create()
        wave.wait_bound(20)
        leader.signal(signal.SIGKILL)
        wave.open_gates()
        wave.wait_settled()
    assert standby.leads
    counts.judge(schedulers=[standby], proxies=[old, new], more={"killed": 1})


def test_leader_stopped_for_longer_than_its_lease(
    wave: Wave, proxies: StartProxy, start_behind: StartBehind, election: Object, counts: Counts
) -> None:
    old, new = proxies(), proxies()
    leader = start_behind(old, config=election)
    wait_until(lambda: leader.leads, SOON, "the first one to lead", leader.log_tail)
    standby = start_behind(new, config=election)
    # So that many binds wait to be sent, and none is just being sent when the leader is stopped.
    old.inject(Fault(where=_bindings, delay=1.0, after=True))
    with wave.log:
        wave.create()
        wave.wait_bound(20)
        leader.signal(signal.SIGSTOP)
        try:
            wait_until(lambda: standby.leads, SOON, "the other one to lead", standby.log_tail)
            before = old.bindings
        finally:
            leader.signal(signal.SIGCONT)
        assert leader.wait_ended() != 0
        wave.open_gates()
        wave.wait_settled()
    counts.judge(schedulers=[standby], proxies=[old, new], more={"stopped": 1})
    assert old.bindings == before, "a deposed leader binds"


def test_two_schedulers_without_an_election(
    wave: Wave, proxies: StartProxy, start_behind: StartBehind, counts: Counts
) -> None:
    both = [proxies(), proxies()]
    schedulers = [start_behind(proxy) for proxy in both]
    with wave.log:
        wave.create()
        wave.open_gates()
        wave.wait_settled()
    refused = sum(proxy.refused_bindings for proxy in both)
    # Each sees what the other binds only afterwards: that room is kept takes a leader.
    counts.judge(schedulers=schedulers, proxies=both, room_is_kept=False, more={"bindings refused": refused})
    assert refused > 0
