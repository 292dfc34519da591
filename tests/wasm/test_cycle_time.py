"""Time limit of all hooks of a pod; the clock of the tests gives every call 0.9 s."""

import itertools
from typing import Any

import pytest

from kubewasp.framework.status import Code
from kubewasp.wasm import cycle_time
from kubewasp.wasm.guest import Guest
from tests import samples
from tests.guests.build import wat_text

HOOKS = ("prefilter", "filter", "prescore", "reserve", "prebind", "bind", "preenqueue")
TEXT = "".join(f'(func (export "{hook}") (result i32) (i32.const 0))' for hook in HOOKS)
OVER = "time limit of 5 s for one pod exceeded; the limit is limits.cycleTimeout"


@pytest.fixture(autouse=True)
def _slow_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    times = itertools.count(0.0, 0.9)
    monkeypatch.setattr(cycle_time, "cpu_time", lambda: next(times))


def guest(**settings: Any) -> Guest:
    return Guest.load(wat_text(f'(module (memory (export "memory") 1) {TEXT})'), **settings)


def slow_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of one node."""
    monkeypatch.setattr("kubewasp.wasm.core.core_instance._GROWTH", 1)


def test_nodes_of_one_pod_share_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 nodes with 0.9 s each would be 18 s."""
    slow_batches(monkeypatch)
    policy = guest()
    with policy.cycle(samples.pod(), samples.nodes(20)) as cycle:
        verdicts = cycle.filter()
        assert verdicts.codes.tolist() == [0] * 6 + [Code.ERROR] * 14
        assert OVER in verdicts.reason(6)
        assert OVER in cycle.reserve("node-1").reason, "nothing is called any more"
    assert policy.stats.broken == 1


def test_hooks_of_one_pod_share_the_limit() -> None:
    policy = guest()
    with policy.cycle(samples.pod(), samples.nodes(1)) as cycle:
        codes = [cycle.prefilter().code, cycle.filter().codes[0], cycle.prescore().code]
        codes += [cycle.reserve("node-1").code for _ in range(4)]
        assert codes == [0, 0, 0, 0, 0, 0, Code.ERROR]
    with policy.cycle(samples.pod(), samples.nodes(1)) as cycle:
        assert cycle.prefilter().code == 0, "another pod, another budget"


def test_an_instance_that_is_used_again_begins_anew() -> None:
    policy = guest()
    for _ in range(4):
        with policy.cycle(samples.pod(), samples.nodes(1)) as cycle:
            assert [cycle.reserve("node-1").code for _ in range(4)] == [0] * 4
    assert policy.stats.created == 1


def test_queue_and_binding_are_outside_of_the_scheduling_cycle() -> None:
    with guest().cycle(samples.pod(), samples.nodes(1)) as cycle:
        codes = [cycle.preenqueue().code, cycle.prebind("node-1").code, cycle.bind("node-1").code]
        assert codes * 5 == [0] * 15
        assert [cycle.bind("node-1").code for _ in range(20)] == [0] * 20


def test_the_failure_policy_answers() -> None:
    with guest(failure_policy="Ignore").cycle(samples.pod(), samples.nodes(1)) as cycle:
        assert [cycle.reserve("node-1").code for _ in range(20)] == [0] * 20
        assert cycle.failed


LOOPS = """(module (memory (export "memory") 1)
  (func (export "filter") (result i32) (loop (br 0)) (i32.const 0)))"""


def test_a_call_that_is_ended_by_the_cycles_limit_says_so() -> None:
    endless = Guest.load(wat_text(LOOPS), limits={"call_timeout": 600, "cycle_timeout": 0.02})
    with endless.cycle(samples.pod(), samples.nodes(1)) as cycle:
        assert "time limit of 0.02 s for one pod exceeded" in cycle.filter().reason(0)


SLEEPS = """(module
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 16) "\\01\\00\\00\\00")
  (data (i32.const 24) "\\40\\42\\0f\\00")
  (func (export "reserve") (result i32)
    (call $poll (i32.const 0) (i32.const 1024) (i32.const 1) (i32.const 2048))))"""


def test_sleep_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cycle_time, "cpu_time", lambda: 0.0)
    sleeper = Guest.load(wat_text(SLEEPS), limits={"cycle_timeout": 0.0105, "call_timeout": 0.01})
    with sleeper.cycle(samples.pod(), samples.nodes(1)) as cycle:
        codes = [cycle.reserve("node-1").code for _ in range(20)]
        assert codes[0] == 0
        assert codes[-1] == Code.ERROR
        assert "time limit of 0.0105 s" in cycle.reserve("node-1").reason
