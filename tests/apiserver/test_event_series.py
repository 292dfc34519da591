"""Event series: first event created, repetitions counted."""

from dataclasses import replace

import pytest

from kubewasp.apiserver.event_series import EventKey, EventSeries, Reference
from kubewasp.k8s.texts import shortened

POD = Reference("Pod", "default", "web", "uid-1")
KEY = EventKey("Warning", "FailedScheduling", "Scheduling", "default-scheduler", "default-scheduler-host", POD)


class Time:
    """A wall clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.25

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


def test_the_first_event_is_written_as_kube_scheduler_writes_it(time: Time) -> None:
    write = EventSeries(time).record(KEY, "0/3 nodes are available.")
    assert write is not None
    assert (write.namespace, write.is_patch) == ("default", False)
    assert write.manifest == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": write.name, "namespace": "default"},
        "eventTime": "2023-11-14T22:13:20.250000Z",
        "reportingController": "default-scheduler",
        "reportingInstance": "default-scheduler-host",
        "action": "Scheduling",
        "reason": "FailedScheduling",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "web", "uid": "uid-1", "apiVersion": "v1"},
        "note": "0/3 nodes are available.",
        "type": "Warning",
    }
    assert write.name == f"web.{int(time.now * 1e9):x}"


def test_the_first_repeat_is_written_and_further_ones_are_counted(time: Time) -> None:
    series = EventSeries(time)
    first = series.record(KEY, "one")
    time.now += 10
    repeat = series.record(KEY, "another note")
    assert first is not None
    assert repeat is not None
    assert (repeat.name, repeat.is_patch) == (first.name, True)
    assert repeat.manifest == {"series": {"count": 2, "lastObservedTime": "2023-11-14T22:13:30.250000Z"}}
    assert [series.record(KEY, "one") for _ in range(3)] == [None, None, None]
    assert list(series.due()) == []


def test_a_series_that_ends_is_written_once_more_and_forgotten(time: Time) -> None:
    series = EventSeries(time)
    for _ in range(5):
        series.record(KEY, "one")
    time.now += 361
    (last,) = series.due()
    assert last.manifest["series"]["count"] == 5
    assert list(series.due()) == []
    again = series.record(KEY, "one")
    assert again is not None
    assert not again.is_patch


def test_a_long_series_is_written_every_half_hour(time: Time) -> None:
    series = EventSeries(time)
    written = 0
    for _ in range(62):
        series.record(KEY, "one")
        written += len(list(series.due()))
        time.now += 60
    assert written == 2


def test_an_event_that_came_once_is_forgotten_without_a_word(time: Time) -> None:
    series = EventSeries(time)
    series.record(KEY, "one")
    time.now += 361
    assert list(series.due()) == []
    again = series.record(KEY, "one")
    assert again is not None
    assert not again.is_patch


@pytest.mark.parametrize(
    "other",
    [
        replace(KEY, type="Normal"),
        replace(KEY, reason="Scheduled"),
        replace(KEY, regarding=replace(POD, uid="uid-2")),
        replace(KEY, related=POD),
    ],
)
def test_events_that_differ_in_more_than_the_note_are_not_alike(other: EventKey, time: Time) -> None:
    series = EventSeries(time)
    series.record(KEY, "one")
    write = series.record(other, "one")
    assert write is not None
    assert not write.is_patch


@pytest.mark.parametrize("text", ["a" * 1025, "ä" * 600])
def test_a_long_note_is_cut_to_what_the_api_takes(text: str) -> None:
    cut = shortened(text, 1024)
    assert cut.endswith(" ...")
    assert len(cut.encode()) in (1023, 1024)
    assert shortened("a" * 1024, 1024) == "a" * 1024


def test_after_the_time_of_day_was_set_back_an_event_is_written_anew(time: Time) -> None:
    series = EventSeries(time)
    for _ in range(3):
        series.record(KEY, "one")
    time.now -= 86_400
    (last,) = series.due()
    assert last.manifest["series"]["count"] == 3
    write = series.record(KEY, "one")
    assert write is not None
    assert (write.is_patch, write.manifest["eventTime"][:10]) == (False, "2023-11-13")
