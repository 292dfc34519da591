"""The decision view: order, columns, margin, victims, and the same with changes."""

from typing import Any

from tests.console.sources import get, source
from tests.simulation.simulating import node, pod, priority_class

TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}
NODES = [node("a", cpu="4"), node("b", cpu="8"), node("c", cpu="1"), node("t", cpu="1", taints=[TAINT])]


def decided(*objects: Any, query: str = "at=0", key: str = "web") -> Any:
    return get(source(*objects), f"/pods/default/{key}/decision", query)


def test_the_winner_is_first_then_others_by_score_then_rejected_ones() -> None:
    nodes = decided(*NODES, pod("web", cpu="2"))["nodes"]
    assert nodes["names"] == ["b", "a", "c", "t"]
    assert (nodes["total"], nodes["feasible"], nodes["status"]) == (4, 2, [0, 0, 1, 1])
    assert nodes["total_score"][2:] == [None, None]
    assert nodes["total_score"][0] > nodes["total_score"][1]


def test_totals_are_the_sum_of_weighted_scores() -> None:
    found = decided(*NODES, pod("web", cpu="2"))
    nodes = found["nodes"]
    for place in (0, 1):
        assert nodes["total_score"][place] == sum(scores["weighted"][place] for scores in nodes["scores"].values())
    weights = {plugin["name"]: plugin["weight"] for plugin in found["plugins"]}
    for plugin, scores in nodes["scores"].items():
        assert scores["weighted"][0] == scores["normalized"][0] * weights[plugin]


def test_reasons_and_objections_are_indexes() -> None:
    found = decided(*NODES, pod("web", cpu="2"))
    plugins, nodes, reasons = [item["name"] for item in found["plugins"]], found["nodes"], found["reasons"]
    told = [[(plugins[plugin], reasons[reason]) for plugin, reason in item] for item in nodes["objections"]]
    assert told[2] == [("NodeResourcesFit", "Insufficient cpu")]
    assert {plugin for plugin, _ in told[3]} == {"TaintToleration", "NodeResourcesFit"}
    assert plugins[nodes["rejected_by"][3]] == told[3][0][0]
    assert reasons[nodes["reason"][2]] == "Insufficient cpu"
    assert (nodes["rejected_by"][0], nodes["reason"][0]) == (-1, -1)
    assert nodes["hints"][2] == ["1 more cpu (allocatable 1)"]


def test_the_margin_names_the_plugin_that_gives_most_of_it() -> None:
    margin = decided(*NODES, pod("web", cpu="2"))["margin"]
    assert (margin["winner"], margin["runner_up"]) == ("b", "a")
    assert margin["total"] > margin["runner_up_total"]
    assert margin["by"] == "NodeResourcesFit"
    assert decided(node("a"), pod("web"))["margin"]["runner_up"] is None
    assert decided(node("a"), pod("web", cpu="9"))["margin"] is None


def test_sorting_selecting_and_paging() -> None:
    objects = [*NODES, pod("web", cpu="2")]
    assert decided(*objects, query="at=0&sort=name")["nodes"]["names"] == ["a", "b", "c", "t"]
    assert decided(*objects, query="at=0&sort=TaintToleration")["nodes"]["names"][0] in ("a", "b")
    assert decided(*objects, query="at=0&only=rejected")["nodes"]["names"] == ["c", "t"]
    assert decided(*objects, query="at=0&only=feasible")["nodes"]["names"] == ["b", "a"]
    page = decided(*objects, query="at=0&limit=2&after=1")
    assert (page["nodes"]["names"], page["nodes"]["total"], page["next"]) == (["a", "c"], 4, "3")


def test_changes_are_compared_with_the_decision_as_it_is() -> None:
    objects = [node("a", cpu="4"), node("t", cpu="64", taints=[TAINT]), pod("web", cpu="2")]
    found = decided(*objects, query="at=0&without=TaintToleration")
    assert found["what_if"]["changed"] is True
    assert (found["what_if"]["node_before"], found["what_if"]["node"]) == ("a", "t")
    assert decided(*objects)["what_if"] is None
    same = decided(*objects, query="at=0&weights=NodeResourcesFit:7")
    assert same["what_if"]["changed"] is False


def test_candidates_of_a_preemption_have_victims_and_a_reason() -> None:
    found = decided(
        node("a", cpu="4"),
        node("b", cpu="4"),
        priority_class("low", 1),
        priority_class("high", 10),
        pod("zero", on="a", cpu="3"),
        pod("one", on="b", cpu="3", priorityClassName="low"),
        pod("web", cpu="3", priorityClassName="high"),
    )
    assert (found["result"], found["nominated_node"], found["victims"]) == ("unschedulable", "a", ["default/zero"])
    reasons = {item["node"]: item["reason"] for item in found["preemption"]}
    assert reasons == {"a": "chosen: 1 pod of priority up to 0", "b": "1 pod of priority up to 1"}
