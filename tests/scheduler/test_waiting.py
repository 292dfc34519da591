"""Pods that wait at Permit."""

import pytest

from kubewasp.framework.cycle_state import CycleState
from kubewasp.scheduler.queued_pod import QueuedPod
from kubewasp.scheduler.waiting import WaitingPod, timeout_text
from tests.framework.fakes import make_framework
from tests.plugins.building import make_pod


@pytest.mark.parametrize(
    ("seconds", "shown"), [(10, "10s"), (90, "1m30s"), (900, "15m0s"), (0.5, "500ms"), (1.5, "1.5s"), (3600, "1h0m0s")]
)
def test_the_text_of_a_timeout_has_the_time_as_go_writes_it(seconds: float, shown: str) -> None:
    assert timeout_text(seconds, "X") == f"rejected due to timeout after waiting {shown} at plugin X"


def test_the_plugin_that_waits_the_shortest_time_decides() -> None:
    pod = make_pod()
    waiting = WaitingPod(QueuedPod(pod, 0.0, 0.0), make_framework(), pod, CycleState(), 5.0, {"A": 30.0, "B": 10.0})
    assert (waiting.first_timeout(), waiting.deadline) == ((10.0, "B"), 15.0)
