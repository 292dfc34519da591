"""Written and dropped events."""

import asyncio

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
