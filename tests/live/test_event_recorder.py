"""Written and dropped events."""

import asyncio
import logging

import pytest

from kubewasp.apiserver.event_series import Write
from kubewasp.framework.cluster_events import ObjectReference, RecordedEvent
from tests.live.writing import FakeWrites, Writing, asynchronous
from tests.plugins.building import make_pod


@asynchronous
async def test_events_of_plugins_are_written_too() -> None:
    made = Writing(writes := FakeWrites())
    about = ObjectReference(kind="Pod", namespace="default", name="web", uid="u")
    made.record(RecordedEvent(about, ObjectReference(), "Normal", "Moved", "Moving", "from a to b"))
    assert await made.drained()
    assert writes.of("event") == [("Moved", "from a to b")]


@asynchronous
async def test_more_events_than_can_be_written_are_dropped_and_counted() -> None:
    made = Writing(writes := FakeWrites())
    for number in range(5100):
        made.scheduled(make_pod(f"p{number}"), "a")
    assert await made.drained()
    assert (len(writes.of("event")), made.events.dropped) == (5000, 100)


@asynchronous
async def test_events_of_several_threads_are_all_written() -> None:
    made = Writing(writes := FakeWrites())

    def record(number: int) -> None:
        for place in range(50):
            about = ObjectReference(kind="Pod", namespace="default", name=f"p{number}-{place}", uid=f"{number}-{place}")
            made.record(RecordedEvent(about, ObjectReference(), "Normal", "Moved", "Moving", f"{number}/{place}"))

    await asyncio.gather(*(asyncio.to_thread(record, number) for number in range(4)))
    assert await made.drained()
    assert len({note for _, note in writes.of("event")}) == 200


@asynchronous
async def test_an_event_of_an_unknown_type_is_not_sent_and_logged_once() -> None:
    made = Writing(writes := FakeWrites())
    about = ObjectReference(kind="Pod", namespace="default", name="web", uid="u")
    lines = _LogLines()
    logging.getLogger("kubewasp.live.event_recorder").addHandler(lines)
    try:
        for kind in ("Info", "Info", "Error", "", "Warning"):
            made.record(RecordedEvent(about, ObjectReference(), kind, f"Because{kind}", "Doing", "note"))
    finally:
        logging.getLogger("kubewasp.live.event_recorder").removeHandler(lines)
    assert await made.drained()
    assert [reason for reason, _ in writes.of("event")] == ["Because", "BecauseWarning"]
    assert lines.types == ["Info", "Error"]


class _SlowCreation(FakeWrites):
    """Creates an event only when it is released, and patches at once."""

    def __init__(self, **errors: str) -> None:
        super().__init__(**errors)
        self.released = asyncio.Event()

    async def event(self, write: Write) -> None:
        if not write.is_patch:
            await self.released.wait()
        await super().event(write)


@pytest.mark.parametrize("error", ["", "refused"])
def test_the_count_of_an_event_is_sent_after_the_event(error: str) -> None:
    async def run() -> list[tuple[object, ...]]:
        made = Writing(writes := _SlowCreation(event=error))
        about = ObjectReference(kind="Pod", namespace="default", name="web", uid="u")
        for _ in range(3):
            made.record(RecordedEvent(about, ObjectReference(), "Normal", "Moved", "Moving", "note"))
        assert not await made.drained(timeout=0)
        assert writes.of("event") == []
        writes.released.set()
        assert await made.drained()
        return writes.of("event")

    assert asyncio.run(run()) == [("Moved", "note"), ("series", "")]


class _LogLines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.types: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.types.append(record.type)  # type: ignore[attr-defined]
