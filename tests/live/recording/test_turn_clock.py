"""Clock of turns: still on the scheduler's thread, running on others."""

import threading

from kubewasp.live.recording.turn_clock import TurnClock
from tests.plugins.building import FakeClock


def test_time_stands_still_within_a_turn() -> None:
    inner = FakeClock()
    clock = TurnClock(inner)
    clock.advance()
    inner.time = 5.0
    assert (clock.now(), clock.wall()) == (0.0, 0.0)
    clock.advance()
    assert (clock.now(), clock.wall()) == (5.0, 5.0)


def test_other_threads_read_the_real_time() -> None:
    inner = FakeClock()
    clock = TurnClock(inner)
    clock.advance()
    inner.time = 5.0
    found: list[float] = []
    thread = threading.Thread(target=lambda: found.append(clock.now()))
    thread.start()
    thread.join()
    assert found == [5.0]
