"""Explanations: reasons per node and plugin, and helpful changes."""

from tests.explain.explaining import explained, hints, of
from tests.guests.build import wat, wat_text
from tests.simulation.simulating import config, node, pod, priority_class, profile, wasm

REJECTS = wat_text("""
    (module
      (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
      (memory (export "memory") 1)
      (data (i32.const 0) "no")
      (func (export "filter") (result i32)
        (call $reason (i32.const 0) (i32.const 2))
        (i32.const 2)))
    """)


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
    assert item["hints"] == ["toleration of gpu=yes:NoSchedule", "2 more cpu (allocatable 1)"]


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


def test_a_node_outside_a_narrowed_search_would_need_a_name() -> None:
    guest = config(profile(wasm("policy", wat("prefilter"))))
    found = explained("web", node("node-1"), node("node-2"), pod("web"), config=guest)
    assert hints(found)["node-2"] == ["to be node-1 or node-3"]


def test_names_of_a_narrowed_search_are_bounded() -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"n{n}"]}]} for n in range(10)]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    found = explained("web", node("n1"), node("x"), pod("web", affinity={"nodeAffinity": required}))
    assert hints(found)["x"] == ["to be one of 10 nodes such as n0, n1, n2"]


def test_a_deciding_plugin_without_hints_has_none_and_a_later_one_gives_its_reason() -> None:
    guest = config(profile(wasm("policy", REJECTS)))
    item = of(explained("web", node("node-1"), pod("web"), config=guest), "node-1")
    assert (item.rejected_by, item.hints) == ("policy", [])
    closed = node("node-1")
    closed["spec"]["unschedulable"] = True
    later = of(explained("web", closed, pod("web"), config=guest), "node-1")
    assert later.rejected_by == "NodeUnschedulable"
    assert later.hints == ["to be uncordoned", "policy: no"]


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
