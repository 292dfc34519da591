"""Explanations: reasons per node and plugin, and helpful changes."""

from typing import Any

import pytest

from kubewasp.explain.explanation import Explanation, NodeExplanation, amount, explain
from kubewasp.framework.config.model import SchedulerConfig
from kubewasp.framework.decision_record import DecisionRecord
from kubewasp.k8s.resources import CPU, EPHEMERAL, MEMORY
from tests.guests.build import wat
from tests.simulation.simulating import Object, config, filled, node, pod, priority_class, profile, wasm


def explained(name: str, *objects: Object, config: SchedulerConfig | None = None) -> Explanation:
    cluster = filled(*objects, config=config)
    wanted = cluster.pods[f"default/{name}"]
    record = DecisionRecord()
    choice = cluster.scheduler.evaluate(wanted, record)
    return explain(
        wanted,
        record,
        cluster.scheduler.table,
        node=choice.node,
        message=choice.message,
        nominated_node=choice.nominated_node,
        victims=choice.victims,
    )


def of(found: Explanation, name: str) -> NodeExplanation:
    return next(item for item in found.nodes if item.name == name)


def hints(found: Explanation) -> dict[str, list[str]]:
    return {item.name: item.hints for item in found.nodes}


# ---------------------------------------------------------------------- samples


def test_feasible_nodes_outside_of_a_sample_are_marked() -> None:
    """`score` asks the guest about every node: of 120, 100 are scored."""
    nodes = [node(f"n{number:03}") for number in range(120)]
    found = explained("web", *nodes, pod("web"), config=config(profile(wasm("policy", wat("score")))))
    assert found.sample == "the first 100 feasible of 120 (adaptive, for policy)"
    assert [item.name for item in found.nodes if not item.in_sample] == [f"n{number}" for number in range(100, 120)]
    assert all(item.is_feasible for item in found.nodes)
    assert {item.total is None for item in found.nodes if not item.in_sample} == {True}


def test_all_nodes_are_scored_without_such_a_plugin() -> None:
    nodes = [node(f"n{number:03}") for number in range(120)]
    found = explained("web", *nodes, pod("web"))
    assert found.sample == "all 120"
    assert all(item.in_sample for item in found.nodes)


# ---------------------------------------------------------------------- scores


def test_the_worked_example() -> None:
    """An empty node and one with a pod of 500m and 8Gi; a pod of 1 CPU and 2Gi comes."""
    found = explained(
        "web",
        node("empty"),
        node("busy"),
        pod("old", on="busy", cpu="500m", memory="8Gi"),
        pod("web", cpu="1", memory="2Gi"),
    )
    assert (found.node, found.message, found.nominated_node) == ("empty", None, None)
    empty, busy = of(found, "empty"), of(found, "busy")
    assert (empty.total, busy.total) == (452, 427)
    for item, fit, balance in ((empty, 81, 71), (busy, 49, 78)):
        assert item.weighted["TaintToleration"] == 300
        assert item.weighted["NodeResourcesFit"] == fit
        assert item.weighted["NodeResourcesBalancedAllocation"] == balance
        assert sum(item.weighted.values()) == item.total
    assert found.weights["TaintToleration"] == 3


def test_scores_count_with_their_weight() -> None:
    found = explained("web", node("a"), node("b"), pod("web"))
    for item in found.nodes:
        for plugin, weight in found.weights.items():
            assert item.weighted[plugin] == item.normalized[plugin] * weight


def test_a_single_feasible_node_is_explained_too() -> None:
    found = explained("web", node("a"), node("b", cpu="0"), pod("web"))
    assert found.node == "a"
    assert of(found, "a").total == sum(of(found, "a").weighted.values()) > 0
    assert of(found, "b").as_dict()["total"] is None
    assert of(found, "b").as_dict()["scores"] == {}


def test_the_best_stand_first_and_the_nearest_of_the_rejected_next() -> None:
    taint = [{"key": "gpu", "effect": "NoSchedule"}]
    nodes = [node("far", cpu="0", taints=taint), node("near", cpu="0"), node("busy"), node("best")]
    found = explained("web", *nodes, pod("old", on="busy", cpu="2"), pod("web"))
    assert [item.name for item in found.nodes] == ["best", "busy", "near", "far"]


# ---------------------------------------------------------------------- rejections


def test_every_plugin_that_objects_is_told() -> None:
    taint = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    found = explained("web", node("a", cpu="1", taints=taint), pod("web", cpu="3"))
    item = of(found, "a").as_dict()
    assert (item["feasible"], item["rejected_by"], item["code"]) == (False, "TaintToleration", 3)
    assert item["reasons"] == ["node(s) had untolerated taint(s)"]
    assert item["objections"] == {
        "TaintToleration": ["node(s) had untolerated taint(s)"],
        "NodeResourcesFit": ["Insufficient cpu"],
    }
    assert item["hints"] == ["tolerate the taint gpu=yes:NoSchedule", "2 more cpu"]


def test_other_pods_that_wait_take_no_room() -> None:
    found = explained("web", node("a"), pod("other", cpu="4"), pod("web", cpu="4"))
    assert found.node == "a"


def test_nodes_outside_a_narrowed_search_are_told_as_such() -> None:
    guest = config(profile(wasm("policy", wat("prefilter"))))
    found = explained("web", node("node-1"), node("node-2"), pod("web"), config=guest)
    item = of(found, "node-2").as_dict()
    assert (item["rejected_by"], item["code"]) == ("policy", 3)
    assert item["reasons"] == ["node(s) didn't satisfy plugin(s) [policy]"]
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    found = explained("web", node("a"), node("b"), pod("web", affinity={"nodeAffinity": required}))
    assert of(found, "b").rejected_by == "NodeAffinity"
    assert found.node == "a"


def test_a_rejection_before_the_nodes_is_that_of_every_node() -> None:
    mounted = pod("web", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
    found = explained("web", node("a"), node("b"), mounted)
    assert {item.rejected_by for item in found.nodes} == {"VolumeRestrictions"}
    assert found.message is not None
    assert 'persistentvolumeclaim "data" not found' in found.message


def test_no_nodes_at_all() -> None:
    found = explained("web", pod("web"))
    assert (found.message, found.nodes) == ("no nodes available to schedule pods", [])


# ---------------------------------------------------------------------- what would help


@pytest.mark.parametrize(
    ("body", "fields", "hint"),
    [
        (node("a", cpu="1"), {"cpu": "1500m"}, "500m more cpu"),
        (node("a", memory="1Gi"), {"memory": "3Gi"}, "2Gi more memory"),
        (node("a", pods="0"), {}, "room for more than 0 pods"),
        (node("a"), {"nodeSelector": {"disk": "ssd"}}, "add the label disk=ssd"),
        (node("a", taints=[{"key": "x", "effect": "NoExecute"}]), {}, "tolerate the taint x:NoExecute"),
    ],
)
def test_what_a_node_lacks(body: Object, fields: dict[str, Any], hint: str) -> None:
    assert hints(explained("web", body, pod("web", **fields))) == {"a": [hint]}


def test_a_closed_node_should_be_opened() -> None:
    closed = node("a")
    closed["spec"]["unschedulable"] = True
    assert hints(explained("web", closed, pod("web"))) == {"a": ["uncordon a"]}


def test_affinity_that_names_no_single_label() -> None:
    terms = [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    found = explained("web", node("a"), pod("web", affinity={"nodeAffinity": required}))
    assert hints(found) == {"a": ["match the pod's node affinity"]}


def test_other_plugins_say_it_in_their_words() -> None:
    ports = [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    old = pod("old", on="a")
    old["spec"]["containers"] = ports
    new = pod("web")
    new["spec"]["containers"] = ports
    found = explained("web", node("a"), old, new)
    [hint] = hints(found)["a"]
    assert hint.startswith("NodePorts: node(s) didn't have free ports")


# ---------------------------------------------------------------------- preemption


def test_victims_are_shown_and_what_lacked_before_they_went() -> None:
    found = explained(
        "high",
        node("a"),
        priority_class("high", 10),
        pod("low", on="a", cpu="3"),
        pod("high", cpu="2", priorityClassName="high"),
    )
    shown = found.as_dict()
    assert (shown["node"], shown["nominated_node"], shown["victims"]) == (None, "a", ["default/low"])
    assert shown["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert hints(found) == {"a": ["1 more cpu"]}


def test_a_pod_that_takes_its_nominated_node_looks_at_no_other() -> None:
    nominated = {**pod("web"), "status": {"nominatedNodeName": "a"}}
    found = explained("web", node("a"), node("b"), nominated)
    assert found.node == "a"
    item = of(found, "b").as_dict()
    assert (item["feasible"], item["rejected_by"], item["code"]) == (False, None, 0)
    assert item["reasons"] == ["not evaluated: the pod fits on its nominated node"]


# ---------------------------------------------------------------------- amounts


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        (CPU, 250, "250m"),
        (CPU, 3000, "3"),
        (MEMORY, 2**30, "1Gi"),
        (MEMORY, 2**30 + 1, "1.1Gi"),
        (MEMORY, 3 * 2**29, "1.5Gi"),
        (EPHEMERAL, 10 * 2**20, "10Mi"),
        (MEMORY, 512, "512"),
        ("example.com/gpu", 3, "3"),
    ],
)
def test_amounts_are_written_as_people_do(name: str, value: int, text: str) -> None:
    assert amount(name, value) == text
