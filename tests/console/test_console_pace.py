"""CPU time of the console beside a scheduler."""

import threading

import pytest

from kubewasp.console.console_pace import BUSY_SHARE, Pace, TooBusyError


class Machine:
    """Time and CPU time that the test moves."""

    def __init__(self) -> None:
        self.time = self.cpu = 0.0
        self.slept: list[float] = []
        self.is_busy = True
        self.pace = Pace(lambda: self.is_busy, now=lambda: self.time, spent=lambda: self.cpu, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    def work(self, seconds: float) -> str:
        self.cpu += seconds
        self.time += seconds
        return "done"


def test_a_first_view_does_not_wait() -> None:
    machine = Machine()
    assert machine.pace.run(lambda: machine.work(0.3)) == "done"
    assert machine.slept == []
    assert machine.pace.debt() == 0


def test_views_in_a_row_take_the_share_while_pods_are_scheduled() -> None:
    machine = Machine()
    machine.pace.run(lambda: machine.work(0.3))
    began, used = machine.time, machine.cpu
    for _ in range(50):
        machine.pace.run(lambda: machine.work(0.05))
    assert (machine.cpu - used) / (machine.time - began) == pytest.approx(BUSY_SHARE, rel=0.1)


def test_an_idle_scheduler_leaves_more() -> None:
    machine = Machine()
    machine.is_busy = False
    for _ in range(20):
        machine.pace.run(lambda: machine.work(0.2))
    assert machine.time < 20 * 0.2 * 2.1


def test_a_view_that_would_wait_too_long_is_refused() -> None:
    machine = Machine()
    machine.pace.run(lambda: machine.work(2.0))
    with pytest.raises(TooBusyError, match="next turn in"):
        machine.pace.run(lambda: machine.work(0.1))
    assert machine.slept == []


def test_long_work_rests() -> None:
    machine = Machine()

    def long() -> None:
        for _ in range(1000):
            machine.work(0.001)
            machine.pace.rest()

    machine.pace.run(long)
    assert machine.cpu == pytest.approx(1.0)
    assert machine.time > (1.0 - 0.5) / BUSY_SHARE
    assert machine.pace.debt() < 1.1


def test_pages_hear_of_changes_less_often_while_pods_are_scheduled() -> None:
    machine = Machine()
    assert machine.pace.next_change() == 3.0
    machine.pace.run(lambda: machine.work(0.5))
    assert machine.pace.next_change() == pytest.approx(machine.pace.debt())
    machine.is_busy = False
    machine.time += 100
    assert machine.pace.next_change() == 0


def test_after_the_end_nobody_waits() -> None:
    pace = Pace(lambda: True, spent=iter([0.0, *[0.36] * 20]).__next__)
    pace.run(lambda: None)
    assert pace.debt() > 1
    problems: list[BaseException] = []

    def wait() -> None:
        try:
            pace.run(lambda: None)
        except TooBusyError as error:
            problems.append(error)

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    pace.close()
    for thread in threads:
        thread.join(5)
    assert [str(problem) for problem in problems] == ["the process is shutting down"] * 3


def test_rest_outside_of_a_turn_does_nothing() -> None:
    machine = Machine()
    machine.pace.rest()
    assert machine.slept == []


def test_work_within_a_turn_is_part_of_it() -> None:
    machine = Machine()
    assert machine.pace.run(lambda: machine.pace.run(lambda: machine.work(0.1))) == "done"


def test_turns_are_one_at_a_time_and_a_failure_ends_one() -> None:
    pace, inside, most = Pace(lambda: False), [0], [0]

    def work() -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        inside[0] -= 1

    threads = [threading.Thread(target=pace.run, args=(work,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    with pytest.raises(ZeroDivisionError):
        pace.run(lambda: 1 / 0)
    assert pace.run(lambda: 1) == 1
