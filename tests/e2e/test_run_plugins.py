"""Every extension point on a real cluster, with equal guests in Go and Python.

The guests record an event at each of them, with the node of the call.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kubewasp import SOON, events_of, ours, wait_events, wait_node, wait_unschedulable
from tests.guests.build import project_guest
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import Kubewasp, StartKubewasp, profile
from tools.testbed.nodes import FakeNodes
from tools.testbed.waiting import wait_until

GUESTS = Path(__file__).parent / "guests"
Start = Callable[[], Kubewasp]


@pytest.fixture(params=["go", "python"])
def start(request: pytest.FixtureRequest, start_kubewasp: StartKubewasp) -> Start:
    """Starts kubewasp with the witness at all its extension points; it orders the queue too."""
    guest = project_guest(GUESTS / f"witness-{request.param}")
    plugins = {
        "multiPoint": {"enabled": [{"name": "witness", "weight": 1000}]},
        "queueSort": {"enabled": [{"name": "witness"}], "disabled": [{"name": "*"}]},
        # First of all: so that it is asked before the one that binds, and before the one that preempts.
        "bind": {"enabled": [{"name": "witness"}, {"name": "DefaultBinder"}], "disabled": [{"name": "*"}]},
        "postFilter": {"enabled": [{"name": "witness"}], "disabled": [{"name": "*"}]},
    }
    return lambda: start_kubewasp(profiles=[profile(guests={"witness": guest}, plugins=plugins)])


def annotated(name: str, annotations: dict[str, str], **fields: Any) -> Object:
    made = ours(name, **fields)
    made["metadata"]["annotations"] = annotations
    return made


def called(cluster: Cluster, name: str) -> list[tuple[str, str]]:
    """The extension points that were called for a pod, and the note, in their order."""
    events = [event for event in events_of(cluster, name) if event["action"] == "Witnessing"]
    return [(event["reason"], event.get("note", "")) for event in events]


def test_all_extension_points_are_called_in_their_order(cluster: Cluster, fake_nodes: FakeNodes, start: Start) -> None:
    low, high = fake_nodes.create(2, labels=lambda number: {"points": str(10 * number)})
    start()
    cluster.create(ours("one"))
    assert wait_node(cluster, "one") == high != low
    wait_events(cluster, "one", "PostBind")
    nodeless = ["PreEnqueue", "PreFilter", "PreScore", "NormalizeScore"]
    assert called(cluster, "one") == [
        *((point, "") for point in nodeless),
        *((point, high) for point in ("Reserve", "Permit", "PreBind", "Bind", "PostBind")),
    ]


def test_annotations_of_reserve_and_pre_bind_are_on_the_bound_pod(
    cluster: Cluster, fake_nodes: FakeNodes, start: Start
) -> None:
    (node,) = fake_nodes.create(1)
    start()
    cluster.create(annotated("one", {"own": "kept", "witness.example/reserved": "replaced"}))
    assert wait_node(cluster, "one") == node
    # With the very change that binds the pod: no request of its own follows.
    assert cluster.get("Pod", "one")["metadata"]["annotations"] == {
        "own": "kept",
        "witness.example/reserved": node,
        "witness.example/Bound": f"one → {node}",
    }


def test_pre_enqueue_keeps_a_pod_out_of_the_queue_until_the_pod_changes(
    cluster: Cluster, fake_nodes: FakeNodes, start: Start
) -> None:
    fake_nodes.create(2)
    start()
    cluster.create(annotated("held", {"PreEnqueue": "not before noon"}))
    wait_events(cluster, "held", "PreEnqueue")
    cluster.create(ours("free"))
    wait_node(cluster, "free")
    assert {point for point, _ in called(cluster, "held")} == {"PreEnqueue"}
    cluster.patch("Pod", "held", {"metadata": {"annotations": {"PreEnqueue": None}}})
    wait_node(cluster, "held")


def test_the_queue_is_sorted_by_the_guest(cluster: Cluster, fake_nodes: FakeNodes, start: Start) -> None:
    fake_nodes.create(2)
    order = {"third": "c", "first": "a", "fourth": "d", "second": "b"}
    for name, place in order.items():
        cluster.create(ours(name, labels={"order": place}))
    start()
    cluster.wait_bound(SOON)
    tried = {name: wait_events(cluster, name, "PreFilter")[0]["eventTime"] for name in order}
    assert sorted(order, key=lambda name: str(tried[name])) == ["first", "second", "third", "fourth"]


def test_pre_filter_names_the_only_nodes(cluster: Cluster, fake_nodes: FakeNodes, start: Start) -> None:
    only, _ = fake_nodes.create(2, labels=lambda number: {"points": str(10 * number)})
    start()
    cluster.create(annotated("picky", {"only": only}))
    assert wait_node(cluster, "picky") == only


def test_what_guests_say_of_nodes_is_told_and_post_filter_is_asked(
    cluster: Cluster, fake_nodes: FakeNodes, start: Start
) -> None:
    first, _ = fake_nodes.create(2, labels={"closed": "repairs"})
    start()
    cluster.create(ours("waiting"))
    told = wait_unschedulable(cluster, "waiting")
    assert told["message"] == "0/2 nodes are available: 2 closed for repairs. nothing to be done"
    wait_events(cluster, "waiting", "PostFilter")
    cluster.client.patch("Node", first, {"metadata": {"labels": {"closed": None}}})
    cluster.patch("Pod", "waiting", {"metadata": {"labels": {"try": "again"}}})  # the event that the guest waits for
    assert wait_node(cluster, "waiting") == first


@pytest.mark.parametrize("point", ["PreFilter", "Reserve", "Permit", "PreBind"])
def test_a_pod_that_a_guest_turned_down_is_tried_again_when_it_changes(
    cluster: Cluster, fake_nodes: FakeNodes, start: Start, point: str
) -> None:
    (node,) = fake_nodes.create(1)
    start()
    cluster.create(annotated("refused", {point: f"{point} says no"}))
    told = wait_unschedulable(cluster, "refused", f"{point} says no")
    assert told["reason"] == ("SchedulerError" if point == "PreBind" else "Unschedulable")
    if point != "PreFilter":
        wait_events(cluster, "refused", "Unreserve")
    cluster.patch("Pod", "refused", {"metadata": {"annotations": {point: None}}})
    assert wait_node(cluster, "refused") == node


def test_guests_serve_many_pods(cluster: Cluster, fake_nodes: FakeNodes, start: Start) -> None:
    fake_nodes.create(20, labels=lambda number: {"closed": "repairs"} if number % 2 else {"points": str(number)})
    scheduler = start()
    # Few enough for the bound on a plugin's events.
    cluster.create_all(ours(f"pod-{number}") for number in range(60))
    placements = cluster.wait_bound(SOON)
    assert all(int(node.rpartition("-")[2]) % 2 == 0 for node in placements.values())
    wait_until(
        lambda: all(("PostBind", placements[name]) in called(cluster, name) for name in ("pod-0", "pod-59")),
        SOON,
        "the events",
    )
    assert scheduler.running
