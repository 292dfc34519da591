"""Conditions, nominations and events about attempts."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from kubewasp.k8s.codec import encode
from kubewasp.k8s.pods import Pod
from tests.live.writing import POD, SOON, FakeWrites, WriteError, Writing, asynchronous
from tests.plugins.building import make_pod


@asynchronous
async def test_a_bound_pod_has_an_event() -> None:
    made = Writing(writes := FakeWrites())
    made.scheduled(POD, "a")
    assert await made.drained()
    assert writes.of("event") == [("Scheduled", "Successfully assigned default/web to a")]


@asynchronous
async def test_a_pod_without_a_node_has_an_event_and_a_condition() -> None:
    made = Writing(writes := FakeWrites())
    made.failed(POD, "Unschedulable", "0/3 nodes are available.")
    assert await made.drained()
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
    made = Writing(writes := FakeWrites())
    for message in ("one", "one", "two"):
        made.failed(POD, "Unschedulable", message)
        assert await made.drained()
    first, second = writes.of("patch")
    assert [status["conditions"][0]["message"] for _, status in (first, second)] == ["one", "two"]
    assert "lastTransitionTime" in first[1]["conditions"][0]
    assert "lastTransitionTime" not in second[1]["conditions"][0]


@asynchronous
async def test_a_condition_that_could_not_be_written_is_written_with_the_next_try() -> None:
    made = Writing(writes := FakeWrites(patch="the server is down"))
    made.failed(POD, "Unschedulable", "one")
    assert await made.drained()
    made.failed(POD, "Unschedulable", "one")
    assert await made.drained()
    assert len(writes.of("patch")) == 2


class DownOnce(FakeWrites):
    """The first status that is written is lost."""

    async def patch_status(self, pod: Pod, status: Mapping[str, Any]) -> None:
        await super().patch_status(pod, status)
        if len(self.of("patch")) == 1:
            raise WriteError("the server is down")


@pytest.mark.parametrize("waits", [True, False], ids=["waiting", "on its way to a node"])
def test_a_condition_that_could_not_be_written_is_written_later_if_the_pod_still_waits(
    waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubewasp.live.status_reporter._FIRST_PAUSE", 0.0)

    async def told() -> list[str]:
        made = Writing(writes := DownOnce())
        made.scheduler.waits = waits
        made.failed(POD, "Unschedulable", "one")
        async with asyncio.timeout(SOON):
            while not made.scheduler.asked:
                await asyncio.sleep(0)
        assert await made.drained()
        return [status["conditions"][0]["message"] for _, status in writes.of("patch")]

    assert asyncio.run(told()) == (["one", "one"] if waits else ["one"])


@asynchronous
async def test_a_nomination_is_written_and_taken_back() -> None:
    made = Writing(writes := FakeWrites())
    for node in ("a", "a", ""):
        made.failed(replace(POD, nominated_node=node), "Unschedulable", f"message {node}")
        assert await made.drained()
    assert [status.get("nominatedNodeName", "-") for _, status in writes.of("patch")] == ["a", None]


def seen(conditions: list[dict[str, Any]], *, nominated: str = "", generation: int = 0) -> Pod:
    """A pod whose status is what the API server has of it."""
    status = {"conditions": conditions, "nominatedNodeName": nominated}
    encoded = encode("Pod", {"metadata": {"name": "web", "generation": generation}, "status": status})
    return replace(POD, encoded=encoded, nominated_node=nominated)


UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}


@asynchronous
async def test_what_a_pod_says_already_is_not_written_by_the_next_scheduler() -> None:
    made = Writing(writes := FakeWrites())
    made.failed(seen([UNSCHEDULABLE], nominated="a"), "Unschedulable", "no")
    assert await made.drained()
    assert writes.of("patch") == []


@asynchronous
async def test_a_nomination_of_the_scheduler_before_is_taken_back() -> None:
    made = Writing(writes := FakeWrites())
    made.failed(replace(seen([UNSCHEDULABLE], nominated="a"), nominated_node=""), "Unschedulable", "no")
    assert await made.drained()
    ((_, status),) = writes.of("patch")
    assert status["nominatedNodeName"] is None


@asynchronous
async def test_the_time_of_a_condition_stays_while_its_status_does() -> None:
    made = Writing(writes := FakeWrites())
    gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "gated"}
    made.failed(seen([gated], generation=2), "Unschedulable", "no")
    assert await made.drained()
    ((_, status),) = writes.of("patch")
    assert status == {"conditions": [{**UNSCHEDULABLE, "observedGeneration": 2}]}


@asynchronous
async def test_the_node_of_a_pod_that_has_to_wait_is_written_once() -> None:
    made = Writing(writes := FakeWrites())
    made.expected(POD, "a")
    made.expected(POD, "a")
    assert await made.drained()
    made.failed(POD, "Unschedulable", "no")
    assert await made.drained()
    first, second = (status for _, status in writes.of("patch"))
    assert (first, second["nominatedNodeName"]) == ({"nominatedNodeName": "a"}, None)


@asynchronous
async def test_nothing_is_kept_of_pods_that_are_bound_or_gone() -> None:
    made = Writing(FakeWrites())
    for pod in (POD, make_pod("other")):
        made.failed(pod, "Unschedulable", "no")
    assert await made.drained()
    made.scheduled(POD, "a")
    made.forget(make_pod("other"))
    assert await made.drained()
    assert (made.reporter._verdicts, made.patches._last) == ({}, {})
