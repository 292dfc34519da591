"""From the scheduler to the API server: which requests are made, and what is done about their ends."""

import asyncio
import functools
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any

import pytest

from kubewasp.apiserver.event_series import Write
from kubewasp.framework.cluster_events import ObjectReference, RecordedEvent
from kubewasp.k8s.codec import encode
from kubewasp.k8s.pods import Pod
from kubewasp.live.dispatcher import ClusterReporter
from tests.plugins.building import FakeClock, make_pod

POD = make_pod("web")
SOON = 5.0


def asynchronous(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    @functools.wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


class FakeWrites:
    """Takes note of requests and answers with the errors it was given."""

    def __init__(self, **errors: str) -> None:
        self.errors = errors
        self.made: list[tuple[Any, ...]] = []

    async def _note(self, what: str, *details: Any) -> str:
        self.made.append((what, *details))
        return self.errors.get(what, "")

    async def bind(self, pod: Pod, node: str) -> str:
        return await self._note("bind", pod.name, node)

    async def patch_status(self, pod: Pod, status: Mapping[str, Any]) -> str:
        return await self._note("patch", pod.name, status)

    async def delete(self, pod: Pod) -> str:
        return await self._note("delete", pod.name)

    async def update(self, manifest: Mapping[str, Any]) -> str:
        return await self._note("update", manifest)

    async def event(self, write: Write) -> str:
        return await self._note("event", write.manifest.get("reason", "series"), write.manifest.get("note", ""))

    def of(self, what: str) -> list[tuple[Any, ...]]:
        return [made[1:] for made in self.made if made[0] == what]


class FakeScheduler:
    """Hears what became of binds, and which pods to try again."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, ...]] = []
        self.scheduler = self
        self.waits = True
        self.asked = 0

    def post(self, action: Callable[[], None]) -> None:
        action()

    def bound(self, uid: str, error: str) -> None:
        self.heard.append(("bound", uid, error))

    def is_left_waiting(self, _uid: str) -> bool:
        self.asked += 1
        return self.waits

    def evicting(self, victim: Pod, preemptor: Pod) -> None:
        self.heard.append(("evicting", victim.name, preemptor.name))

    def evicted(self, victim: Pod, preemptor: Pod) -> None:
        self.heard.append(("evicted", victim.name, preemptor.name))

    def not_evicted(self, victim: Pod, preemptor: Pod) -> None:
        self.heard.append(("not evicted", victim.name, preemptor.name))


def reporter(writes: FakeWrites, *, leads: bool = True) -> tuple[ClusterReporter, FakeScheduler]:
    made = ClusterReporter(
        writes,
        asyncio.get_running_loop(),
        FakeClock(),
        may_write=lambda: leads,
        hostname="host",  # type: ignore[arg-type]
    )
    live = FakeScheduler()
    made.live = live  # type: ignore[assignment]
    return made, live


@asynchronous
async def test_what_came_of_a_bind_is_told_to_the_scheduler() -> None:
    for error in ("", "no such node"):
        made, live = reporter(writes := FakeWrites(bind=error))
        assert made.bind(POD, "a") is None
        assert await made.drained(SOON)
        assert (writes.of("bind"), live.heard) == ([("web", "a")], [("bound", POD.uid, error)])


@asynchronous
async def test_who_is_not_the_leader_writes_nothing() -> None:
    made, live = reporter(writes := FakeWrites(), leads=False)
    made.bind(POD, "a")
    made.failed(POD, "Unschedulable", "no")
    made.evict([POD], make_pod("urgent"), "a")
    assert await made.drained(SOON)
    assert writes.made == []
    assert ("bound", POD.uid, "this scheduler is no longer the leader") in live.heard
    assert await asyncio.to_thread(made.update, {}) == "this scheduler is no longer the leader"


@asynchronous
async def test_a_bound_pod_has_an_event() -> None:
    made, _ = reporter(writes := FakeWrites())
    made.scheduled(POD, "a")
    assert await made.drained(SOON)
    assert writes.of("event") == [("Scheduled", "Successfully assigned default/web to a")]


@asynchronous
async def test_a_pod_without_a_node_has_an_event_and_a_condition() -> None:
    made, _ = reporter(writes := FakeWrites())
    made.failed(POD, "Unschedulable", "0/3 nodes are available.")
    assert await made.drained(SOON)
    ((name, status),) = writes.of("patch")
    (condition,) = status["conditions"]
    assert (name, set(status)) == ("web", {"conditions"})
    assert {key: condition[key] for key in ("type", "status", "reason", "message")} == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes are available.",
    }
    assert writes.of("event") == [("FailedScheduling", "0/3 nodes are available.")]


@asynchronous
async def test_a_condition_that_says_the_same_is_not_written_again() -> None:
    made, _ = reporter(writes := FakeWrites())
    for message in ("one", "one", "two"):
        made.failed(POD, "Unschedulable", message)
        assert await made.drained(SOON)
    first, second = writes.of("patch")
    assert [status["conditions"][0]["message"] for _, status in (first, second)] == ["one", "two"]
    assert "lastTransitionTime" in first[1]["conditions"][0]
    assert "lastTransitionTime" not in second[1]["conditions"][0]


@asynchronous
async def test_a_condition_that_could_not_be_written_is_written_with_the_next_try() -> None:
    made, _ = reporter(writes := FakeWrites(patch="the server is down"))
    made.failed(POD, "Unschedulable", "one")
    assert await made.drained(SOON)
    made.failed(POD, "Unschedulable", "one")
    assert await made.drained(SOON)
    assert len(writes.of("patch")) == 2


class DownOnce(FakeWrites):
    """The first status that is written is lost."""

    async def patch_status(self, pod: Pod, status: Mapping[str, Any]) -> str:
        await super().patch_status(pod, status)
        return "the server is down" if len(self.of("patch")) == 1 else ""


@pytest.mark.parametrize("waits", [True, False], ids=["waiting", "on its way to a node"])
def test_a_condition_that_could_not_be_written_is_written_later_if_the_pod_still_waits(
    waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubewasp.live.dispatcher._FIRST_PATCH_PAUSE", 0.0)

    async def told() -> list[str]:
        made, live = reporter(writes := DownOnce())
        live.waits = waits
        made.failed(POD, "Unschedulable", "one")
        async with asyncio.timeout(SOON):
            while not live.asked:
                await asyncio.sleep(0)
        assert await made.drained(SOON)
        return [status["conditions"][0]["message"] for _, status in writes.of("patch")]

    assert asyncio.run(told()) == (["one", "one"] if waits else ["one"])


@asynchronous
async def test_a_nomination_is_written_and_taken_back() -> None:
    made, _ = reporter(writes := FakeWrites())
    for node in ("a", "a", ""):
        made.failed(replace(POD, nominated_node=node), "Unschedulable", f"message {node}")
        assert await made.drained(SOON)
    assert [status.get("nominatedNodeName", "-") for _, status in writes.of("patch")] == ["a", None]


@asynchronous
async def test_a_victim_is_marked_and_deleted() -> None:
    made, live = reporter(writes := FakeWrites())
    made.evict([POD], make_pod("urgent"), "a")
    assert await made.drained(SOON)
    ((_, status),) = writes.of("patch")
    assert (status["conditions"][0]["type"], status["conditions"][0]["reason"]) == (
        "DisruptionTarget",
        "PreemptionByScheduler",
    )
    assert (writes.of("delete"), live.heard) == (
        [("web",)],
        [("evicting", "web", "urgent"), ("evicted", "web", "urgent")],
    )
    assert writes.of("event") == [("Preempted", "Preempted by pod default/urgent on node a")]


@asynchronous
async def test_the_last_victim_goes_after_all_others() -> None:
    made, live = reporter(writes := FakeWrites())
    victims = [make_pod(name) for name in ("one", "two", "three")]
    made.evict(victims, make_pod("urgent"), "a")
    assert await made.drained(SOON)
    assert [name for what, name, _ in live.heard if what == "evicting"] == ["one", "two", "three"]
    assert [name for what, name, _ in live.heard if what == "evicted"][-1] == "three"
    marked_and_deleted = [call[:2] for call in writes.made if call[0] in ("patch", "delete")]
    assert sorted(marked_and_deleted[:4]) == [("delete", "one"), ("delete", "two"), ("patch", "one"), ("patch", "two")]
    assert marked_and_deleted[4:] == [("patch", "three"), ("delete", "three")]


@asynchronous
async def test_a_victim_that_cannot_be_deleted_makes_the_preemptor_try_again() -> None:
    made, live = reporter(FakeWrites(delete="forbidden"))
    made.evict([POD], make_pod("urgent"), "a")
    assert await made.drained(SOON)
    assert live.heard == [("evicting", "web", "urgent"), ("not evicted", "web", "urgent")]


@asynchronous
async def test_events_of_plugins_are_written_too() -> None:
    made, _ = reporter(writes := FakeWrites())
    about = ObjectReference(kind="Pod", namespace="default", name="web", uid="u")
    made.record(
        RecordedEvent(about, ObjectReference(), "Normal", "Moved", "Moving", "from a to b"), "default-scheduler"
    )
    assert await made.drained(SOON)
    assert writes.of("event") == [("Moved", "from a to b")]


@asynchronous
async def test_an_update_is_answered() -> None:
    made, _ = reporter(FakeWrites(update="conflict"))
    assert await asyncio.to_thread(made.update, {"kind": "PersistentVolume"}) == "conflict"


@asynchronous
async def test_more_events_than_can_be_written_are_dropped_and_counted() -> None:
    made, _ = reporter(writes := FakeWrites())
    for number in range(5100):
        made.scheduled(make_pod(f"p{number}"), "a")
    assert await made.drained(SOON)
    assert (len(writes.of("event")), made.events_dropped) == (5000, 100)


def seen(conditions: list[dict[str, Any]], *, nominated: str = "", generation: int = 0) -> Pod:
    """A pod whose status is what the API server has of it."""
    status = {"conditions": conditions, "nominatedNodeName": nominated}
    encoded = encode("Pod", {"metadata": {"name": "web", "generation": generation}, "status": status})
    return replace(POD, encoded=encoded, nominated_node=nominated)


UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}


@asynchronous
async def test_what_a_pod_says_already_is_not_written_by_the_next_scheduler() -> None:
    made, _ = reporter(writes := FakeWrites())
    made.failed(seen([UNSCHEDULABLE], nominated="a"), "Unschedulable", "no")
    assert await made.drained(SOON)
    assert writes.of("patch") == []


@asynchronous
async def test_a_nomination_of_the_scheduler_before_is_taken_back() -> None:
    made, _ = reporter(writes := FakeWrites())
    made.failed(replace(seen([UNSCHEDULABLE], nominated="a"), nominated_node=""), "Unschedulable", "no")
    assert await made.drained(SOON)
    ((_, status),) = writes.of("patch")
    assert status["nominatedNodeName"] is None


@asynchronous
async def test_the_time_of_a_condition_stays_while_its_status_does() -> None:
    made, _ = reporter(writes := FakeWrites())
    gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "gated"}
    made.failed(seen([gated], generation=2), "Unschedulable", "no")
    assert await made.drained(SOON)
    ((_, status),) = writes.of("patch")
    assert status == {"conditions": [{**UNSCHEDULABLE, "observedGeneration": 2}]}


@asynchronous
async def test_the_node_of_a_pod_that_has_to_wait_is_written_once() -> None:
    made, _ = reporter(writes := FakeWrites())
    made.expected(POD, "a")
    made.expected(POD, "a")
    assert await made.drained(SOON)
    made.failed(POD, "Unschedulable", "no")
    assert await made.drained(SOON)
    first, second = (status for _, status in writes.of("patch"))
    assert (first, second["nominatedNodeName"]) == ({"nominatedNodeName": "a"}, None)


@asynchronous
async def test_a_bind_waits_for_what_is_being_written_of_the_pod() -> None:
    class Slow(FakeWrites):
        def __init__(self) -> None:
            super().__init__()
            self.answers = asyncio.Semaphore(0)

        async def patch_status(self, pod: Pod, status: Mapping[str, Any]) -> str:
            await self.answers.acquire()
            return await super().patch_status(pod, status)

    made, _ = reporter(writes := Slow())
    made.failed(POD, "Unschedulable", "one")
    made.failed(POD, "Unschedulable", "two")
    made.bind(POD, "a")
    made.bind(make_pod("other"), "a")
    assert not await made.drained(0.05)
    assert writes.of("bind") == [("other", "a")]
    writes.answers.release()
    writes.answers.release()
    assert await made.drained(SOON)
    order = [details[0]["conditions"][0]["message"] for what, _, *details in writes.made if what == "patch"]
    assert (order, writes.made[-1][0]) == (["one", "two"], "bind")


@asynchronous
async def test_nothing_is_kept_of_pods_that_are_bound_or_gone() -> None:
    made, _ = reporter(FakeWrites())
    for pod in (POD, make_pod("other")):
        made.failed(pod, "Unschedulable", "no")
    assert await made.drained(SOON)
    made.scheduled(POD, "a")
    made.forget(make_pod("other"))
    assert await made.drained(SOON)
    assert (made._verdicts, made._patches) == ({}, {})
