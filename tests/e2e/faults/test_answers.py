"""Error responses, late responses and missing responses to a part of all requests."""

import pytest

from tests.e2e.faults.conftest import StartBehind
from tests.e2e.faults.counts import Counts
from tests.e2e.faults.wave import Wave
from tests.e2e.proxy import Asked, Fault, FaultProxy

# The client waits 30 s for an answer. A bind that reaches the API server just after that is the worst: the scheduler
# may have given the room to another pod, and may not have bound this one elsewhere yet.
_TOO_LATE = 31.0


def _writes(asked: Asked) -> bool:
    return asked.is_write


def _objects(asked: Asked) -> bool:
    """No API server says this of its version: a scheduler ends if it does."""
    return asked.path != "/version"


def _bindings(asked: Asked) -> bool:
    return asked.is_binding


def _not_watches(asked: Asked) -> bool:
    return not asked.is_watch


FAULTS: dict[str, list[Fault]] = {
    "in order": [],
    "409": [Fault(where=_objects, status=409, share=0.2)],
    "410": [Fault(where=_objects, status=410, share=0.2)],
    "429": [Fault(status=429, share=0.2)],
    "500": [Fault(status=500, share=0.2)],
    "503": [Fault(status=503, share=0.3)],
    "cut connections": [Fault(where=_not_watches, share=0.2)],
    "errors, though done": [
        Fault(where=_writes, status=500, after=True, share=0.1),
        Fault(where=_writes, status=504, after=True, share=0.1),
        Fault(where=_writes, after=True, share=0.1),
    ],
    "slow answers": [
        Fault(where=_bindings, delay=_TOO_LATE, times=10),
        Fault(where=_bindings, delay=_TOO_LATE, times=10, after=True),
        Fault(where=_not_watches, delay=1.0, share=0.2),
        Fault(where=_not_watches, delay=0.1, share=0.2, after=True),
    ],
}


@pytest.mark.parametrize("kind", FAULTS)
def test_answers(kind: str, wave: Wave, proxy: FaultProxy, start_behind: StartBehind, counts: Counts) -> None:
    proxy.inject(*FAULTS[kind])
    scheduler = start_behind(proxy)
    with wave.log:
        wave.create()
        wave.open_gates()
        wave.wait_settled()
    counts.judge(schedulers=[scheduler], proxies=[proxy])
    assert all(proxy.injected[fault.name] for fault in FAULTS[kind])
