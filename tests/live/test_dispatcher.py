"""Binds, evictions and volume updates: the requests, and their results."""

import asyncio
from collections.abc import Mapping
from typing import Any

from kubewasp.framework.status import Code
from kubewasp.k8s.pods import Pod
from tests.live.writing import POD, FakeWrites, Writing, asynchronous
from tests.plugins.building import make_pod


@asynchronous
async def test_what_came_of_a_bind_is_told_to_the_scheduler() -> None:
    for error in ("", "no such node"):
        made = Writing(writes := FakeWrites(bind=error))
        assert made.bind(POD, "a").code == Code.WAIT
        assert await made.drained()
        assert (writes.of("bind"), made.scheduler.heard) == ([("web", "a")], [("bound", POD.uid, error)])


@asynchronous
async def test_a_bind_is_sent_with_its_annotations() -> None:
    made = Writing(writes := FakeWrites())
    made.bind(POD, "a", {"gpu": "2"})
    assert await made.drained()
    assert writes.of("bind") == [("web", "a", {"gpu": "2"})]


@asynchronous
async def test_who_is_not_the_leader_writes_nothing() -> None:
    made = Writing(writes := FakeWrites(), leads=False)
    made.bind(POD, "a")
    made.failed(POD, "Unschedulable", "no")
    made.evict([POD], make_pod("urgent"), "a")
    assert await made.drained()
    assert writes.made == []
    assert ("bound", POD.uid, "this scheduler is no longer the leader") in made.scheduler.heard
    status = await asyncio.to_thread(made.update, {})
    assert (status.code, status.reason) == (Code.ERROR, "this scheduler is no longer the leader")


@asynchronous
async def test_a_victim_is_marked_and_deleted() -> None:
    made = Writing(writes := FakeWrites())
    made.evict([POD], make_pod("urgent"), "a")
    assert await made.drained()
    ((_, status),) = writes.of("patch")
    assert (status["conditions"][0]["type"], status["conditions"][0]["reason"]) == (
        "DisruptionTarget",
        "PreemptionByScheduler",
    )
    assert (writes.of("delete"), made.scheduler.heard) == (
        [("web",)],
        [("evicting", "web", "urgent"), ("evicted", "web", "urgent")],
    )
    assert writes.of("event") == [("Preempted", "Preempted by pod default/urgent on node a")]


@asynchronous
async def test_the_last_victim_goes_after_all_others() -> None:
    made = Writing(writes := FakeWrites())
    victims = [make_pod(name) for name in ("one", "two", "three")]
    made.evict(victims, make_pod("urgent"), "a")
    assert await made.drained()
    assert [name for what, name, _ in made.scheduler.heard if what == "evicting"] == ["one", "two", "three"]
    assert [name for what, name, _ in made.scheduler.heard if what == "evicted"][-1] == "three"
    marked_and_deleted = [call[:2] for call in writes.made if call[0] in ("patch", "delete")]
    assert sorted(marked_and_deleted[:4]) == [("delete", "one"), ("delete", "two"), ("patch", "one"), ("patch", "two")]
    assert marked_and_deleted[4:] == [("patch", "three"), ("delete", "three")]


@asynchronous
async def test_a_victim_that_cannot_be_deleted_makes_the_preemptor_try_again() -> None:
    made = Writing(FakeWrites(delete="forbidden"))
    made.evict([POD], make_pod("urgent"), "a")
    assert await made.drained()
    assert made.scheduler.heard == [("evicting", "web", "urgent"), ("not evicted", "web", "urgent")]


@asynchronous
async def test_an_update_is_answered() -> None:
    made = Writing(FakeWrites(update="conflict"))
    status = await asyncio.to_thread(made.update, {"kind": "PersistentVolume"})
    assert (status.code, status.reason) == (Code.ERROR, "conflict")


@asynchronous
async def test_a_bind_waits_for_what_is_being_written_of_the_pod() -> None:
    class Slow(FakeWrites):
        def __init__(self) -> None:
            super().__init__()
            self.answers = asyncio.Semaphore(0)

        async def patch_status(self, pod: Pod, status: Mapping[str, Any]) -> None:
            await self.answers.acquire()
            await super().patch_status(pod, status)

    made = Writing(writes := Slow())
    made.failed(POD, "Unschedulable", "one")
    made.failed(POD, "Unschedulable", "two")
    made.bind(POD, "a")
    made.bind(make_pod("other"), "a")
    assert not await made.drained(0.05)
    assert writes.of("bind") == [("other", "a")]
    writes.answers.release()
    writes.answers.release()
    assert await made.drained()
    order = [details[0]["conditions"][0]["message"] for what, _, *details in writes.made if what == "patch"]
    assert (order, writes.made[-1][0]) == (["one", "two"], "bind")
