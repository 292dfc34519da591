"""limits.podsPerInstance: instances that are replaced after some pods."""

import pytest

from kubewasp.wasm.guest import Guest
from kubewasp.wasm.limits import LimitError, Limits
from tests.guests.build import wat_text
from tests.simulation.simulating import node, pod
from tests.wasm.component import components

# Answers with the number of its calls: an instance that leaks.
COUNTER = wat_text("""
    (module
      (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
      (memory (export "memory") 1)
      (global $calls (mut i32) (i32.const 48))
      (func (export "filter") (result i32)
        (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
        (i32.store8 (i32.const 0) (global.get $calls))
        (call $reason (i32.const 0) (i32.const 1))
        (i32.const 2)))
    """)


def calls(guest: Guest, count: int) -> str:
    """The number of calls that the instance of each pod has seen."""
    found = ""
    for _ in range(count):
        with guest.cycle(pod("web"), [node("a")]) as cycle:
            found += cycle.filter(["a"]).reason(0)
    return found


@pytest.mark.parametrize(
    ("limit", "seen", "created"), [(0, "123456", 1), (1, "111111", 6), (2, "121212", 3), (6, "123456", 1)]
)
def test_an_instance_serves_so_many_pods(limit: int, seen: str, created: int) -> None:
    guest = Guest.load(str(COUNTER), limits=Limits(pods_per_instance=limit))
    assert calls(guest, 6) == seen
    assert (guest.stats.created, guest.stats.recycled) == (created, 0)


def test_pods_at_the_same_time_have_their_own_counts() -> None:
    guest = Guest.load(str(COUNTER), limits=Limits(pods_per_instance=2))
    with guest.cycle(pod("web"), [node("a")]) as one, guest.cycle(pod("other"), [node("a")]) as two:
        assert (one.filter(["a"]).reason(0), two.filter(["a"]).reason(0)) == ("1", "1")
    assert calls(guest, 3) == "221"


def test_a_component_is_replaced_as_well() -> None:
    guest = components.probe(Limits(pods_per_instance=2))
    for number in range(5):
        with guest.cycle(components.pod(f"pod-{number}"), [node("a")]) as cycle:
            assert cycle.prefilter().status.is_success
    assert (guest.stats.created, guest.stats.recycled) == (3, 0)


def test_the_limit_is_a_number() -> None:
    assert Limits.from_config({"podsPerInstance": 1}).pods_per_instance == 1
    with pytest.raises(LimitError, match=r"limits\.podsPerInstance: expected a number from 0 to 1000000000, got -1"):
        Limits(pods_per_instance=-1)
