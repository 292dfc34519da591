"""Thread that stages: changes that settle, requests, retries, intervals, and work in between."""

import itertools
import threading
from collections.abc import Sequence

from kubewasp.rollout.reload_thread import FIRST_RETRY, LAST_RETRY, POLL, SETTLED, ReloadRequests, ReloadThread


class Bench:
    """A thread that is stepped by hand, with changes and a clock."""

    def __init__(self, interval: float | None = 60.0, chance: float = 0.5) -> None:
        self.interval = interval
        self.files: list[str] = []
        self.tags: list[str] = []
        self.looks = 0
        self.now = 100.0
        self.causes: list[str] = []
        self.failure = ""
        self.requests = ReloadRequests()
        self.thread = ReloadThread(self.requests, self, self.reload, clock=lambda: self.now, chance=lambda: chance)

    def in_files(self) -> Sequence[str]:
        found, self.files = self.files, []
        return found

    def in_tags(self) -> Sequence[str]:
        self.looks += 1
        found, self.tags = self.tags, []
        return found

    def reload(self, cause: str) -> str:
        self.causes.append(cause)
        return self.failure

    def pass_time(self, seconds: float) -> float:
        self.now += seconds
        return self.thread.step()


def test_a_change_is_staged_when_it_has_settled() -> None:
    bench = Bench()
    bench.files = ["/etc/config.yaml"]
    assert bench.thread.step() == SETTLED
    assert bench.causes == []
    bench.pass_time(SETTLED)
    assert bench.causes == ["/etc/config.yaml has changed"]
    assert bench.pass_time(SETTLED) == POLL
    assert len(bench.causes) == 1


def test_a_change_that_does_not_settle_is_staged_at_last() -> None:
    bench = Bench()
    for _ in range(100):
        bench.files = ["file"]
        bench.pass_time(SETTLED / 2)
        if bench.causes:
            break
    assert bench.causes == ["file has changed"]
    assert bench.now < 115.0


def test_a_request_does_not_wait() -> None:
    bench = Bench()
    bench.requests.ask("SIGHUP")
    bench.requests.ask("SIGHUP")
    assert bench.thread.step() == 0.0
    assert bench.causes == ["SIGHUP"]  # both are served by one
    assert bench.thread.step() == POLL


def test_requests_are_served_where_nothing_is_watched() -> None:
    bench = Bench(interval=None)
    bench.files = ["file"]
    bench.pass_time(1000.0)
    assert bench.causes == []
    bench.requests.ask("POST /reload")
    bench.thread.step()
    assert bench.causes == ["POST /reload"]


def test_tags_are_looked_at_once_per_interval_with_a_jitter() -> None:
    early, late = Bench(chance=0.0), Bench(chance=1.0)
    for bench in (early, late):
        bench.pass_time(48.0)
    assert (early.looks, late.looks) == (1, 0)
    late.pass_time(24.0)
    assert late.looks == 1
    late.pass_time(1.0)
    assert late.looks == 1


def test_a_tag_that_moved_is_staged() -> None:
    bench = Bench()
    bench.tags = ["oci://registry/policy:v1"]
    bench.pass_time(60.0)
    bench.pass_time(SETTLED)
    assert bench.causes == ["oci://registry/policy:v1 has moved"]


def test_a_failed_reload_is_tried_again_at_growing_intervals() -> None:
    bench = Bench()
    bench.failure = "registry is away"
    bench.requests.ask("SIGHUP")
    bench.thread.step()
    at = []
    while len(at) < 8:
        bench.pass_time(1.0)
        if len(bench.causes) > len(at) + 1:
            at.append(bench.now)
    pauses = [round(later - earlier) for earlier, later in itertools.pairwise(at)]
    assert pauses == [round(min(FIRST_RETRY * 2**n, LAST_RETRY)) for n in range(1, 8)]
    assert set(bench.causes[1:]) == {"the last reload failed"}
    bench.failure = ""
    bench.pass_time(LAST_RETRY)
    count = len(bench.causes)
    bench.pass_time(LAST_RETRY)
    assert len(bench.causes) == count


def test_work_is_done_before_reloads_and_survives_failures() -> None:
    bench, done = Bench(), list[str]()

    def fail() -> None:
        raise ValueError("cannot")

    bench.requests.do(fail)
    bench.requests.do(lambda: done.append("closed"))
    bench.requests.ask("now")
    bench.thread.step()
    assert done == ["closed"]
    assert bench.causes == ["now"]


def test_the_thread_runs_until_it_is_stopped() -> None:
    bench, reloaded = Bench(), threading.Event()
    thread = ReloadThread(bench.requests, bench, lambda _cause: reloaded.set() or "")
    thread.start()
    bench.requests.ask("now")
    assert reloaded.wait(10.0)
    thread.stop()
    thread._thread.join(10.0)
    assert not thread._thread.is_alive()
