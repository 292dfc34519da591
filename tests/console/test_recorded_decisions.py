"""Recorded decisions in the form of the decision view."""

from typing import Any

from kubewasp.console.recorded_decisions import RecordedDecisions
from kubewasp.server.decisions import DecisionStore
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from tests.server.test_decisions import decided
from tests.simulation.simulating import node, pod

PATH = "/pods/default/web/decision"


def recorded(cluster: EmbeddedCluster, store: DecisionStore) -> RecordedDecisions:
    return RecordedDecisions(store, cluster.pods.get, lambda: cluster.scheduler.frameworks)


def answer(*objects: Any, path: str = PATH, query: str = "") -> dict[str, Any] | None:
    cluster, store = decided(*objects)
    return recorded(cluster, store).answer(path, query)


def test_a_placed_pod_has_the_decision_of_then() -> None:
    worn = [{"key": "worn", "effect": "PreferNoSchedule"}]
    found = answer(node("n1", taints=worn), node("n2"), node("n3", cpu="10m"), pod("web"), query="limit=100")
    assert found is not None
    assert (found["basis"], found["result"], found["node"]) == ("recorded", "scheduled", "n2")
    nodes = found["nodes"]
    assert (nodes["total"], nodes["feasible"]) == (3, 2)
    assert nodes["names"][0] == "n2"
    rejected = nodes["names"].index("n3")
    plugin = found["plugins"][nodes["rejected_by"][rejected]]["name"]
    assert (plugin, found["reasons"][nodes["reason"][rejected]]) == ("NodeResourcesFit", "Insufficient cpu")
    assert nodes["status"][rejected] == 1
    assert nodes["scores"]["TaintToleration"]["weighted"][0] == 300
    assert nodes["total_score"][rejected] is None
    assert found["margin"]["winner"] == "n2"
    assert found["margin"]["runner_up"] == "n1"
    assert found["margin"]["by"] == "TaintToleration"
    for column in ("status", "rejected_by", "reason", "total_score", "objections", "hints"):
        assert len(nodes[column]) == len(nodes["names"])


def test_a_study_is_asked_for_by_other_parameters() -> None:
    for query in ("weights=TaintToleration:1", "without=TaintToleration", "sort=name", "after=3", "at=1"):
        assert answer(node("n1"), pod("web"), query=query) is None


def test_without_a_record_of_this_pod_on_its_node_there_is_none() -> None:
    assert answer(node("n1"), pod("web", cpu="64")) is None
    assert answer(node("n1"), pod("web"), path="/pods/default/other/decision") is None
    assert answer(node("n1"), pod("web"), path="/pods/default/web") is None
    assert answer(node("n1"), pod("web", on="n1")) is None
