"""Record of recent decisions."""

import gc
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat
from typing import Any

import orjson
import pytest

from kubewasp.scheduler.attempt import Attempt
from kubewasp.server.decisions import DecisionSettings, DecisionStore
from kubewasp.server.endpoints import create_app
from kubewasp.server.health import Health
from kubewasp.server.metrics import Metrics
from kubewasp.simulation.embedded_cluster import EmbeddedCluster, SimulatedClock
from kubewasp.state.node_table import NodeTable
from tests.server.asking import Client
from tests.simulation.simulating import Object, filled, node, pod, priority_class

ALL = DecisionSettings(share=1.0)


def decided(
    *objects: Object, settings: DecisionSettings = ALL, chances: Iterator[float] | None = None
) -> tuple[EmbeddedCluster, DecisionStore]:
    luck, table = chances or repeat(0.0), NodeTable()
    clock = SimulatedClock()
    store = DecisionStore(settings, table, clock, chance=lambda: next(luck))
    cluster = filled(*objects, table=table, recorder=store, listeners=[store])
    cluster.settle()
    return cluster, store


def traces(store: DecisionStore, pod_key: str = "") -> list[dict[str, Any]]:
    return list(orjson.loads(store.as_json(pod_key))["decisions"])


def test_a_decision_tells_the_node_and_the_scores() -> None:
    worn = [{"key": "worn", "effect": "PreferNoSchedule"}]
    _, store = decided(node("n1", taints=worn), node("n2"), pod("web"))
    (trace,) = traces(store, "default/web")
    assert (trace["pod"], trace["result"], trace["node"], trace["feasible"]) == ("default/web", "scheduled", "n2", 2)
    assert [item["name"] for item in trace["nodes"]] == ["n2", "n1"]
    assert trace["nodes"][0]["total"] > trace["nodes"][1]["total"]
    assert trace["nodes"][0]["scores"]["TaintToleration"] == 300
    assert trace["seconds"] > 0


def test_a_decision_tells_why_nodes_were_turned_down() -> None:
    _, store = decided(node("n1"), node("n2"), pod("huge", cpu="64"))
    (trace,) = traces(store)
    assert (trace["result"], trace["node"]) == ("unschedulable", None)
    assert trace["message"].startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert [item["rejected_by"] for item in trace["nodes"]] == ["NodeResourcesFit", "NodeResourcesFit"]


def test_preemption_is_part_of_it() -> None:
    objects = [node("n1", cpu="1"), priority_class("high", 100), pod("low", cpu="900m", on="n1")]
    _, store = decided(*objects, pod("urgent", cpu="900m", priorityClassName="high"))
    newest, first = traces(store, "default/urgent")
    assert (first["result"], first["nominated_node"], first["victims"]) == ("unschedulable", "n1", ["default/low"])
    assert (newest["result"], newest["node"]) == ("scheduled", "n1")


def test_only_the_nodes_that_matter_are_told() -> None:
    nodes = [node(f"n{number:02}", cpu=str(4 + number)) for number in range(30)]
    _, store = decided(*nodes, pod("web"), settings=DecisionSettings(share=1.0, nodes=5))
    (trace,) = traces(store)
    assert trace["all_nodes"] == trace["feasible"] == 30
    assert len(trace["nodes"]) == 5
    totals = {item["name"]: item["total"] for item in trace["nodes"]}
    assert totals[trace["node"]] == max(totals.values())
    assert list(totals.values()) == sorted(totals.values(), reverse=True)


def test_the_same_pods_are_placed_whether_decisions_are_kept_or_not() -> None:
    objects = [*(node(f"n{number}") for number in range(5)), *(pod(f"p{number}", cpu="700m") for number in range(20))]
    kept, _ = decided(*objects)
    plain = filled(*objects)
    plain.settle()
    assert [(item.name, item.node) for _, item in kept.objects.bindings.values()] == [
        (item.name, item.node) for _, item in plain.objects.bindings.values()
    ]


def test_a_share_is_kept() -> None:
    pods = [pod(f"p{number}") for number in range(4)]
    luck = iter((0.5, 0.009, 0.01, 0.0))
    _, store = decided(node("n1"), *pods, settings=DecisionSettings(share=0.01), chances=luck)
    assert [trace["pod"] for trace in traces(store)] == ["default/p3", "default/p1"]


def test_the_number_is_bounded() -> None:
    pods = [pod(f"p{number}") for number in range(9)]
    _, store = decided(node("n1"), *pods, settings=DecisionSettings(share=1.0, count=3))
    assert [trace["pod"] for trace in traces(store)] == ["default/p8", "default/p7", "default/p6"]


@pytest.mark.parametrize("size", [0, 100, 5000, 20_000])
def test_the_bytes_are_bounded(size: int) -> None:
    objects = [*(node(f"n{number}") for number in range(10)), *(pod(f"p{number}") for number in range(30))]
    _, store = decided(*objects, settings=DecisionSettings(share=1.0, size=size))
    document = orjson.loads(store.as_json())
    assert document["kept"] == len(document["decisions"])
    assert document["bytes"] == sum(len(orjson.dumps(trace)) for trace in document["decisions"])
    assert document["bytes"] <= size
    assert document["kept"] < 30
    assert (document["kept"] > 0) == (size > 10_000)


def test_they_are_served_by_pod() -> None:
    _, store = decided(node("n1"), pod("a"), pod("b"))
    client = Client(create_app(Health(), Metrics(), dict, store))
    assert [trace["pod"] for trace in client.get("/debug/decisions").json()["decisions"]] == ["default/b", "default/a"]
    answer = client.get("/debug/decisions", params={"pod": "default/a"})
    assert answer.headers["content-type"] == "application/json"
    assert [trace["pod"] for trace in answer.json()["decisions"]] == ["default/a"]
    assert client.get("/debug/decisions?pod=default/none").json()["decisions"] == []
    wrong = client.get("/debug/decisions?pod=a")
    assert (wrong.status_code, wrong.text) == (400, 'pod: expected namespace/name, got "a"\n')


def failed(store: DecisionStore, pod_key: str = "") -> list[dict[str, Any]]:
    return list(orjson.loads(store.as_json(pod_key))["failed"])


NOTHING_SAMPLED = DecisionSettings(share=0.0)


def test_what_failed_is_kept_in_short_though_it_was_not_sampled() -> None:
    tainted = node("n3", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    objects = [node("n1"), node("n2"), tainted, pod("huge", cpu="64"), pod("web")]
    _, store = decided(*objects, settings=NOTHING_SAMPLED)
    assert traces(store) == []
    (trace,) = failed(store)
    assert (trace["pod"], trace["result"], trace["node"], trace["all_nodes"]) == (
        "default/huge",
        "unschedulable",
        None,
        3,
    )
    assert trace["message"].startswith(
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu."
    )
    rejected = {item["rejected_by"]: item["reasons"] for item in trace["nodes"]}
    assert rejected == {
        "NodeResourcesFit": ["Insufficient cpu"],
        "TaintToleration": ["node(s) had untolerated taint(s)"],
    }
    assert len(trace["nodes"]) == 2


def test_of_a_pod_the_last_failure_is_kept() -> None:
    cluster, store = decided(node("n1"), pod("huge", cpu="64"), settings=NOTHING_SAMPLED)
    cluster.apply(node("n2", cpu="64", taints=[{"key": "gpu", "effect": "NoSchedule"}]))
    cluster.settle()
    (trace,) = failed(store, "default/huge")
    assert trace["message"].startswith(
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)."
    )
    assert failed(store, "default/other") == []


def test_a_failure_that_was_sampled_is_kept_in_full_in_both_places() -> None:
    _, store = decided(node("n1"), pod("huge", cpu="64"))
    assert traces(store) == failed(store)
    assert failed(store)[0]["nodes"][0]["hints"] == ["60 more cpu (allocatable 4)"]


def test_secrets_are_not_shown() -> None:
    cluster, store = decided(node("n1"), pod("web"))
    said = 'running PreFilter plugin "quota": https://joe:hunter2@quota.example is down'
    store.attempted(Attempt(cluster.pods["default/web"], message=said, is_error=True))
    (trace,) = failed(store)
    assert (trace["result"], "hunter2" in trace["message"]) == ("error", False)
    assert "quota.example is down" in trace["message"]


def test_failures_are_bounded() -> None:
    pods = [pod(f"p{number}", cpu="64") for number in range(9)]
    _, store = decided(node("n1"), *pods, settings=DecisionSettings(share=0.0, count=3))
    assert [trace["pod"] for trace in failed(store)] == ["default/p8", "default/p7", "default/p6"]
    _, store = decided(node("n1"), *pods, settings=DecisionSettings(share=0.0, size=2000))
    document = orjson.loads(store.as_json())
    assert 0 < len(document["failed"]) < 9
    assert document["bytes"] <= 2000


def test_traces_take_as_much_memory_as_the_bound_counts() -> None:
    cluster, store = decided(node("n1"), pod("web"), settings=DecisionSettings(share=0.0))
    attempt = Attempt(cluster.pods["default/web"], message="x" * 20_000, is_error=True)
    tracemalloc.start()
    try:
        for number in range(100):
            store.attempted(replace(attempt, pod=replace(attempt.pod, name=f"p{number}")))
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    counted = orjson.loads(store.as_json())["bytes"]
    assert counted > 2_000_000
    assert kept < 1.1 * counted


def test_they_are_shown_to_this_machine_only() -> None:
    _, store = decided(node("n1"), pod("a"))
    app = create_app(Health(), Metrics(), dict, store)
    for host in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        assert Client(app, host=host).get("/debug/decisions").status_code == 200
    for host in ("10.1.2.3", "::ffff:10.1.2.3", "fe80::1"):
        answer = Client(app, host=host).get("/debug/decisions")
        assert answer.status_code == 403
        assert answer.text == "decisions are available on loopback only: use kubectl port-forward\n"
        assert Client(app, host=host).get("/healthz").status_code == 200
