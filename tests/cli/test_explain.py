"""`kubewasp explain`: one decision, in tables and as JSON."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Ended, Kubewasp
from tests.guests import MISBEHAVIOURS
from tests.guests.build import example, wat
from tests.simulation.simulating import Object, node, pod, priority_class, steered, workload
from tests.wasm.steering import bit

Manifests = Callable[..., Path]


@pytest.fixture
def manifests(tmp_path: Path) -> Manifests:
    def run(*objects: Object) -> Path:
        path = tmp_path / "cluster.yaml"
        path.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
        return path

    return run


def refused(ended: Ended) -> str:
    assert (ended.code, ended.out) == (1, "")
    [line] = ended.err.splitlines()
    return line.removeprefix("error: ")


WORKED = (
    node("empty"),
    node("busy"),
    pod("old", on="busy", cpu="500m", memory="8Gi"),
    pod("web", cpu="1", memory="2Gi"),
    pod("other", cpu="4", memory="16Gi"),
)


def test_json_is_the_whole_matrix(kubewasp: Kubewasp, manifests: Manifests) -> None:
    ended = kubewasp("explain", "default/web", manifests(*WORKED), "-o", "json")
    assert (ended.code, ended.err) == (0, "")
    found = ended.json
    assert {"pod", "node", "message", "nominated_node", "victims", "nodes"} <= set(found)
    assert (found["pod"], found["node"]) == ("default/web", "empty")
    assert (found["message"], found["nominated_node"], found["victims"]) == (None, None, [])
    empty, busy = found["nodes"]
    assert {"name", "feasible", "rejected_by", "code", "reasons", "scores", "total"} <= set(empty)
    assert (empty["name"], empty["total"], busy["name"], busy["total"]) == ("empty", 452, "busy", 427)
    assert (empty["feasible"], empty["rejected_by"], empty["code"], empty["reasons"]) == (True, None, 0, [])
    for item, fit, balance in ((empty, 81, 71), (busy, 49, 78)):
        scores = item["scores"]
        assert scores["TaintToleration"] == 300
        assert scores["NodeResourcesFit"] == fit
        assert scores["NodeResourcesBalancedAllocation"] == balance


def test_a_rejected_node_has_its_reasons(kubewasp: Kubewasp, manifests: Manifests) -> None:
    found = kubewasp("explain", "huge", manifests(node("a"), pod("huge", cpu="8")), "-o", "json").json
    assert found["node"] is None
    assert found["message"].startswith("0/1 nodes are available: 1 Insufficient cpu. ")
    [only] = found["nodes"]
    assert (only["feasible"], only["rejected_by"], only["reasons"]) == (False, "NodeResourcesFit", ["Insufficient cpu"])
    assert (only["scores"], only["total"]) == ({}, None)
    assert only["hints"] == ["4 more cpu (allocatable 4)"]


def test_victims_of_preemption_are_shown(kubewasp: Kubewasp, manifests: Manifests) -> None:
    path = manifests(
        node("a"), priority_class("high", 9), pod("low", on="a", cpu="3"), pod("web", cpu="3", priorityClassName="high")
    )
    found = kubewasp("explain", "default/web", path, "-o", "json").json
    assert (found["node"], found["nominated_node"], found["victims"]) == (None, "a", ["default/low"])
    assert re.search(r"nominated +a, evicting default/low", kubewasp("explain", "default/web", path).out)


def test_tables_show_scores_rejections_and_what_would_help(kubewasp: Kubewasp, manifests: Manifests) -> None:
    tainted = node("c", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])
    out = kubewasp("explain", "web", manifests(*WORKED, tainted)).out
    assert re.search(r"pod +default/web\n", out)
    assert re.search(r"\nnode +empty\n", out)
    assert re.search(r"empty +452 +NodeResourcesFit 81", out)
    assert "WOULD NEED" in out
    assert "gpu=yes:NoSchedule" in out
    assert max(len(line) for line in out.splitlines()) <= 80


def test_plugins_of_guests_take_part(kubewasp: Kubewasp, manifests: Manifests) -> None:
    nodes = [node("node-1"), node("node-2")]
    path = manifests(*nodes, pod("web-2"))
    found = kubewasp("explain", "web-2", path, "--plugin", example("nodenumber"), "-o", "json").json
    assert found["node"] == "node-2"
    plugin = next(name for name in found["weights"] if "nodenumber" in name)
    assert {item["name"]: item["scores"][plugin] for item in found["nodes"]} == {"node-1": 0, "node-2": 10}
    found = kubewasp("explain", "web-2", path, "--plugin", wat("prefilter"), "-o", "json").json
    assert found["node"] == "node-1"
    assert found["nodes"][1]["rejected_by"].startswith("prefilter")


def test_pods_of_workloads_can_be_explained(kubewasp: Kubewasp, manifests: Manifests) -> None:
    path = manifests(node("a"), workload("StatefulSet", "db", 2))
    assert kubewasp("explain", "default/db-1", path, "-o", "json").json["node"] == "a"


def test_a_bound_pod_is_explained_as_if_it_were_not(kubewasp: Kubewasp, manifests: Manifests) -> None:
    path = manifests(node("a"), node("b", cpu="2"), pod("web", on="a", cpu="3"))
    found = kubewasp("explain", "web", path, "-o", "json").json
    assert found["node"] == "a"
    assert found["notes"] == ["bound to a: explained as pending, without its requests there"]
    assert re.search(r"\nnote +bound to a:", kubewasp("explain", "web", path).out)


def test_a_pod_of_another_scheduler_is_explained_with_a_profile(kubewasp: Kubewasp, manifests: Manifests) -> None:
    path = manifests(node("a"), pod("web", schedulerName="mine", namespace="shop"))
    found = kubewasp("explain", "web", path, "-n", "shop", "--profile", "default-scheduler", "-o", "json").json
    assert (found["pod"], found["node"]) == ("shop/web", "a")
    assert found["notes"] == ["schedulerName mine: explained with profile default-scheduler"]


def test_candidates_of_preemption_are_shown(kubewasp: Kubewasp, manifests: Manifests) -> None:
    low = [pod(f"low-{name}", on=name, cpu="3") for name in "ab"]
    path = manifests(
        node("a"), node("b"), priority_class("high", 9), *low, pod("web", cpu="3", priorityClassName="high")
    )
    out = kubewasp("explain", "web", path).out
    assert re.search(r"PREEMPTION ON +VICTIMS", out)
    assert re.search(r"\nb +default/low-b\n", out)


def test_what_cannot_be_explained_is_told(kubewasp: Kubewasp, manifests: Manifests) -> None:
    path = manifests(node("a"), pod("gated", schedulingGates=[{"name": "g"}]), pod("other", schedulerName="mine"))
    assert refused(kubewasp("explain", "default/none", path)) == f"there is no pod default/none in {path}"
    gated = "pod default/gated is gated by SchedulingGates: waiting for scheduling gates: [g]"
    assert refused(kubewasp("explain", "gated", path)) == gated
    other = "no profile has the schedulerName mine of pod default/other; there are: default-scheduler. "
    assert refused(kubewasp("explain", "other", path)).startswith(other)
    assert refused(kubewasp("explain", "web", path, "--profile", "x")).startswith("there is no pod default/web")
    assert refused(kubewasp("explain", "other", path, "--profile", "x")).startswith("there is no profile x;")
    assert "expected POD or NAMESPACE/POD" in kubewasp("explain", "a/b/c", path).usage_error
    assert "contains another namespace" in kubewasp("explain", "a/b", path, "-n", "c").usage_error
    assert "not allowed together with manifests" in kubewasp("explain", "web", path, "--kubeconfig", path).usage_error


def test_other_pending_pods_are_a_note_with_the_command_that_schedules_them(
    kubewasp: Kubewasp, manifests: Manifests
) -> None:
    foreign, bound = pod("foreign", schedulerName="mine"), pod("old", on="a")
    found = kubewasp(
        "explain", "web", manifests(node("a"), pod("web"), pod("x"), pod("y"), foreign, bound), "-o", "json"
    )
    told = "2 other pending pods are not scheduled here, but with `kubewasp simulate --explain default/web`"
    assert found.json["notes"] == [told]
    assert (
        kubewasp("explain", "web", manifests(node("a"), pod("web"), foreign, bound), "-o", "json").json["notes"] == []
    )


def test_explain_and_simulate_may_differ_for_one_pod(kubewasp: Kubewasp, manifests: Manifests) -> None:
    path = manifests(node("a"), pod("one", cpu="3"), pod("two", cpu="3"))
    assert kubewasp("explain", "two", path, "-o", "json").json["node"] == "a"
    among_others = kubewasp("simulate", path, "--explain", "two", "-o", "json").json["explanation"]
    assert (among_others["node"], among_others["nodes"][0]["reasons"]) == (None, ["Insufficient cpu"])


def test_a_failed_plugin_is_an_exit_code_and_one_stack_trace(kubewasp: Kubewasp, manifests: Manifests) -> None:
    breaks = steered("misbehave", what=MISBEHAVIOURS.index("unreachable"), where=bit("filter"))
    path = manifests(node("a"), node("b"), pod("web"))
    ended = kubewasp("explain", "web", path, "--plugin", breaks)
    assert ended.code == 3
    assert ended.out.count("wasm stack trace:") == 1
    assert kubewasp("explain", "web", path).code == 0


def test_many_nodes_are_folded_unless_all_are_wanted(kubewasp: Kubewasp, manifests: Manifests) -> None:
    nodes = [node(f"{pool}-{number}") for pool in ("spot", "gpu") for number in range(30)]
    path = manifests(*nodes, node("big", cpu="64"), pod("huge", cpu="8"), pod("more", on="big", cpu="61"))
    out = kubewasp("explain", "huge", path).out
    assert re.search(
        r"^big +NodeResourcesFit .*\ngpu-\* \(30\) +NodeResourcesFit .*\nspot-\* \(30\)$", out, re.MULTILINE
    )
    every = kubewasp("explain", "huge", path, "--all").out
    assert all(re.search(rf"^{item['metadata']['name']} +NodeResourcesFit", every, re.MULTILINE) for item in nodes)


def test_scores_that_all_nodes_share_are_shown_once(kubewasp: Kubewasp, manifests: Manifests) -> None:
    out = kubewasp("explain", "web", manifests(*WORKED)).out
    assert re.search(r"^empty +452 +NodeResourcesFit 81, NodeResourcesBalancedAllocation 71$", out, re.MULTILINE)
    assert out.count("TaintToleration 300") == 1
    assert re.search(r"^same for all +.*TaintToleration 300", out, re.MULTILINE)


def test_of_many_nodes_those_with_the_same_needs_share_a_row(kubewasp: Kubewasp, manifests: Manifests) -> None:
    nodes = [node(f"n{number}", cpu="2" if number < 9 else "1") for number in range(11)]
    out = kubewasp("explain", "huge", manifests(*nodes, pod("huge", cpu="3"))).out
    table = out[out.index("REJECTED") :].splitlines()
    assert [line.split()[0] for line in table] == ["REJECTED", "n0", "n1", "…", "n10", "n9"]
    assert table[3] == "… 7 more"
    assert table[1].endswith("1 more cpu (allocatable 2)")
    assert table[4].endswith("2 more cpu (allocatable 1)")


def test_many_different_rejections_are_bounded_unless_all_are_wanted(kubewasp: Kubewasp, manifests: Manifests) -> None:
    path = manifests(*(node(f"n{number}", cpu=f"{number + 1}m") for number in range(30)), pod("huge", cpu="3"))
    assert kubewasp("explain", "huge", path).out.endswith("… 20 more lines; --all shows every node\n")
    assert "more lines" not in kubewasp("explain", "huge", path, "--all").out
