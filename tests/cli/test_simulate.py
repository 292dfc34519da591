"""`kubewasp simulate`: output formats and errors."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewasp.cli import simulate as command
from kubewasp.framework.config.reading import default_config
from kubewasp.simulation.simulator import Simulation, read_input
from tests.cli.conftest import Ended, Kubewasp
from tests.guests import MISBEHAVIOURS
from tests.guests.build import EXAMPLES, ROOT, example, go_guest, wat, wat_text
from tests.simulation.simulating import Object, node, pod, priority_class, spec, steered, wasm, workload
from tests.wasm.steering import bit

Write = Callable[[str, str], Path]
SMALL, NODE_NUMBER = ROOT / "examples" / "clusters" / "small.yaml", EXAMPLES / "nodenumber.wat"
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@pytest.fixture
def manifests(tmp_path: Path) -> Callable[..., Path]:
    def run(*objects: Object, name: str = "cluster.yaml") -> Path:
        path = tmp_path / name
        path.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
        return path

    return run


Manifests = Callable[..., Path]


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., Path]:
    def run(*guests: Object, **more: Any) -> Path:
        path = tmp_path / "config.yaml"
        enabled = [{"name": guest["name"]} for guest in guests]
        profile = {"plugins": {"multiPoint": {"enabled": enabled}}, "pluginConfig": list(guests)}
        path.write_text(yaml.safe_dump({**HEAD, "profiles": [profile], **more}), encoding="utf-8")
        return path

    return run


def without_timing(ended: Ended) -> Any:
    assert (ended.code, ended.err) == (0, "")
    return {key: value for key, value in ended.json.items() if key != "timing"}


def refused(ended: Ended) -> str:
    """The one line of an error; no traceback, nothing on stdout."""
    assert (ended.code, ended.out) == (1, "")
    [line] = ended.err.splitlines()
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


# ---------------------------------------------------------------------- JSON


def test_json_has_placements_pending_preempted_nodes_and_timing(kubewasp: Kubewasp, manifests: Manifests) -> None:
    path = manifests(
        node("a"),
        priority_class("high", 10),
        pod("low", on="a", cpu="3", memory="1Gi"),
        pod("high", cpu="3", memory="2Gi", priorityClassName="high", namespace="shop"),
        pod("huge", cpu="8"),
    )
    ended = kubewasp("simulate", path, "-o", "json")
    found = ended.json
    assert (ended.code, ended.err) == (0, "")
    assert found["placements"] == [{"pod": "shop/high", "node": "a"}]
    [pending] = found["pending"]
    assert pending["pod"] == "default/huge"
    assert pending["message"].startswith("0/1 nodes are available: 1 Insufficient cpu. ")
    assert found["preempted"] == [{"pod": "default/low", "by": "shop/high", "node": "a"}]
    [only] = found["nodes"]
    assert only["name"] == "a"
    assert only["allocatable"] == {"pods": 110, "cpu": 4000, "memory": 16 * 2**30}
    assert only["before"] == {"pods": 1, "cpu": 3000, "memory": 2**30}
    assert only["after"] == {"pods": 1, "cpu": 3000, "memory": 2**31}
    timing = found["timing"]
    assert timing["attempts"] == 3
    assert timing["seconds"] > 0
    assert timing["plugins_ms"]["NodeResourcesFit"] > 0
    assert found["warnings"] == []


def test_pods_that_were_bound_before_are_no_placements(kubewasp: Kubewasp, manifests: Manifests) -> None:
    found = kubewasp("simulate", manifests(node("a"), pod("old", on="a"), pod("new")), "-o", "json").json
    assert found["placements"] == [{"pod": "default/new", "node": "a"}]


@pytest.mark.parametrize("seed", [0, 7])
def test_the_same_seed_decides_the_same(kubewasp: Kubewasp, manifests: Manifests, seed: int) -> None:
    nodes = [node(f"n{number}", zone=f"z{number % 3}") for number in range(12)]
    low = workload("Deployment", "low", 40, template=spec(cpu="1"))
    high = workload("Deployment", "high", 6, template=spec(cpu="2", priorityClassName="high"))
    path = manifests(*nodes, priority_class("high", 10), low, high)
    arguments = ("simulate", path, "--seed", seed, "-o", "json")
    first, second = (without_timing(kubewasp(*arguments)) for _ in range(2))
    assert first == second


def test_gates_and_other_schedulers_are_reasons_to_wait(kubewasp: Kubewasp, manifests: Manifests) -> None:
    path = manifests(node("a"), pod("gated", schedulingGates=[{"name": "g"}]), pod("other", schedulerName="mine"))
    assert kubewasp("simulate", path, "-o", "json").json["pending"] == [
        {"pod": "default/gated", "message": "waiting for scheduling gates: [g]"},
        {"pod": "default/other", "message": "no profile has the schedulerName mine"},
    ]


def test_unknown_kinds_are_a_warning(kubewasp: Kubewasp, manifests: Manifests) -> None:
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    path = manifests(node("a"), pod("web"), widget)
    told = "ignored objects of unsupported kinds: 1 Widget"
    assert kubewasp("simulate", path, "-o", "json").json["warnings"] == [told]
    ended = kubewasp("simulate", path)
    assert (ended.code, ended.err) == (0, f"warning: {told}\n")
    ended = kubewasp("simulate", path, "-o", "yaml")
    assert (ended.code, ended.err) == (0, f"warning: {told}\n")


# ---------------------------------------------------------------------- YAML


def test_yaml_gives_the_pods_back_bound(kubewasp: Kubewasp, manifests: Manifests) -> None:
    nodes = [node("a"), node("b")]
    path = manifests(*nodes, workload("Deployment", "web", 3), pod("alone", on="a"), pod("huge", cpu="8"))
    ended = kubewasp("simulate", path, "-o", "yaml")
    documents = list(yaml.safe_load_all(ended.out))
    expected = {item["pod"]: item["node"] for item in kubewasp("simulate", path, "-o", "json").json["placements"]}
    assert len(documents) == 3
    assert {f"default/{item['metadata']['name']}": item["spec"]["nodeName"] for item in documents} == expected
    assert all(set(item) == {"apiVersion", "kind", "metadata", "spec"} for item in documents)
    again = kubewasp("simulate", manifests(*nodes, *documents, name="again.yaml"), "-o", "json").json
    assert (again["placements"], again["pending"]) == ([], [])
    assert sum(item["before"]["pods"] for item in again["nodes"]) == 3


def test_yaml_names_no_owner_that_was_made_up(kubewasp: Kubewasp, manifests: Manifests) -> None:
    mine = pod("mine")
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "real", "uid": "1234", "controller": True}
    mine["metadata"]["ownerReferences"] = [owner]
    ended = kubewasp("simulate", manifests(node("a"), mine, workload("ReplicaSet", "web", 1)), "-o", "yaml")
    owners = {
        item["metadata"]["name"]: item["metadata"].get("ownerReferences") for item in yaml.safe_load_all(ended.out)
    }
    assert owners == {"mine": [owner], "web-0": None}


# ---------------------------------------------------------------------- tables


def test_tables_fit_the_terminal(kubewasp: Kubewasp, manifests: Manifests) -> None:
    nodes = [node(f"a-node-with-a-rather-long-name-{number}.eu-west-1.compute.internal") for number in range(3)]
    web = workload("Deployment", "a-deployment-with-a-rather-long-name-as-they-come", 6)
    path = manifests(*nodes, web, pod("huge", cpu="8"), workload("ReplicaSet", "rs", 60))
    ended = kubewasp("simulate", path, "--explain", "default/huge")
    assert ended.code == 0
    assert max(len(line) for line in ended.out.splitlines()) <= 80
    for title in ("NODE", "PENDING", "placed", "duration", "plugin time", "REJECTED"):
        assert title in ended.out


def test_tables_tell_who_was_preempted(kubewasp: Kubewasp, manifests: Manifests) -> None:
    path = manifests(node("a"), pod("low", on="a", cpu="3"), pod("high", cpu="3", priority=5))
    assert re.search(r"PREEMPTED +BY +NODE\ndefault/low +default/high +a\n", kubewasp("simulate", path).out)


def test_nothing_at_all_is_no_error(kubewasp: Kubewasp, manifests: Manifests) -> None:
    assert kubewasp("simulate", manifests()).code == 0
    found = kubewasp("simulate", manifests(pod("web")), "-o", "json").json
    assert found["pending"] == [{"pod": "default/web", "message": "no nodes available to schedule pods"}]


# ---------------------------------------------------------------------- plugins


def test_plugins_by_option(kubewasp: Kubewasp, manifests: Manifests) -> None:
    nodes = [node("node-1"), node("node-2"), node("node-3")]
    path = manifests(*nodes, pod("web-3"))
    ended = kubewasp("simulate", path, "--plugin", example("nodenumber"), "--plugin", wat("prefilter"), "-o", "json")
    found = without_timing(ended)
    assert found["placements"] == [{"pod": "default/web-3", "node": "node-3"}]


def test_two_plugins_of_one_name_are_refused(kubewasp: Kubewasp, manifests: Manifests, tmp_path: Path) -> None:
    guest = wat("filter")
    again = tmp_path / guest.name
    again.write_bytes(guest.read_bytes())
    error = refused(kubewasp("simulate", manifests(node("a")), "--plugin", guest, "--plugin", again))
    assert error == f"--plugin {again} and {guest} have the same name; give one another: --plugin NAME=GUEST"


def test_a_pod_that_waits_for_permission_is_told_as_such(
    kubewasp: Kubewasp, manifests: Manifests, config: Callable[..., Path]
) -> None:
    settings = config(wasm("hold", steered("permit", status_code=4, timeout=10_000)))
    found = kubewasp("simulate", manifests(node("a"), pod("web")), "--config", settings, "-o", "json").json
    told = "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin hold."
    assert found["pending"] == [{"pod": "default/web", "message": told}]
    assert found["timing"]["simulated_seconds"] == 10


# ---------------------------------------------------------------------- scenarios


def test_a_scenario_plays(kubewasp: Kubewasp, manifests: Manifests, write: Write) -> None:
    steps = [{"at": "1m", "apply": "late.yaml"}, {"at": "2m", "drain": "a"}]
    manifests(node("b"), pod("late"), name="late.yaml")
    timeline = write("scenario.yaml", json.dumps({"kind": "Scenario", "steps": steps}))
    path = manifests(node("a"), workload("StatefulSet", "db", 2))
    found = kubewasp("simulate", path, "--scenario", timeline, "-o", "json").json
    assert {item["pod"]: item["node"] for item in found["placements"]} == {
        "default/db-0": "b",
        "default/db-1": "b",
        "default/late": "b",
    }
    assert found["timing"]["simulated_seconds"] == 120


def test_a_scenario_that_fails_is_one_error(kubewasp: Kubewasp, manifests: Manifests, write: Write) -> None:
    timeline = write("scenario.yaml", json.dumps({"kind": "Scenario", "steps": [{"at": "1m", "drain": "ghost"}]}))
    error = refused(kubewasp("simulate", manifests(node("a")), "--scenario", timeline))
    assert error == f"{timeline}: steps[0].drain: there is no node ghost"


# ---------------------------------------------------------------------- explain


def test_the_last_try_of_a_pod_is_explained(kubewasp: Kubewasp, manifests: Manifests) -> None:
    path = manifests(node("a"), pod("one", cpu="3"), pod("two", cpu="3"))
    found = kubewasp("simulate", path, "--explain", "two", "-o", "json").json["explanation"]
    assert (found["pod"], found["node"]) == ("default/two", None)
    assert found["nodes"][0]["reasons"] == ["Insufficient cpu"]
    found = kubewasp("simulate", path, "--explain", "default/one", "-o", "json").json["explanation"]
    assert (found["node"], found["nodes"][0]["feasible"]) == ("a", True)


def test_a_pod_that_was_not_tried_cannot_be_explained(kubewasp: Kubewasp, manifests: Manifests) -> None:
    error = refused(kubewasp("simulate", manifests(node("a"), pod("web", on="a")), "--explain", "default/web"))
    assert error == "pod default/web has no scheduling attempt: it does not exist or is not pending"


# ---------------------------------------------------------------------- failures


def breaking(*hooks: str, what: str = "unreachable") -> Path:
    return steered("misbehave", what=MISBEHAVIOURS.index(what), where=bit(*hooks))


def test_a_failed_plugin_is_an_exit_code_and_one_stack_trace_for_all_pods(
    kubewasp: Kubewasp, manifests: Manifests
) -> None:
    web, db = workload("ReplicaSet", "web", 30), workload("StatefulSet", "db", 8)
    path = manifests(node("a"), node("b"), web, db)
    ended = kubewasp("simulate", path, "--plugin", breaking("filter"))
    assert ended.code == 3
    assert ended.err == "error: plugins failed on 38 pods; with --fail-on never, this is no failure\n"
    assert ended.out.count("wasm stack trace:") == 1
    assert "× 38 pods in 114 attempts: default/web-* (30), default/db-* (8)" in " ".join(ended.out.split())
    assert "PENDING" not in ended.out
    assert len(ended.out.splitlines()) < 24


def test_failures_are_in_json_by_cause(kubewasp: Kubewasp, manifests: Manifests) -> None:
    ended = kubewasp("simulate", manifests(node("a"), pod("x"), pod("y")), "--plugin", breaking("filter"), "-o", "json")
    assert ended.code == 3
    [cause] = ended.json["errors"]
    assert cause["pods"] == ["default/x", "default/y"]
    assert cause["attempts"] == 6
    assert re.match(r'running "misbehave-\w+" filter plugin: wasm: filter error: ', cause["message"])
    assert [item["pod"] for item in ended.json["pending"]] == ["default/x", "default/y"]


@pytest.mark.parametrize(("fail_on", "codes"), [("error", (0, 0, 3)), ("pending", (0, 4, 3)), ("never", (0, 0, 0))])
def test_the_exit_code_is_that_of_fail_on(
    kubewasp: Kubewasp, manifests: Manifests, fail_on: str, codes: tuple[int, int, int]
) -> None:
    path, full = manifests(node("a"), pod("web")), manifests(node("a"), pod("huge", cpu="8"), name="full.yaml")
    fine = kubewasp("simulate", path, "--fail-on", fail_on)
    pending = kubewasp("simulate", full, "--fail-on", fail_on)
    failed = kubewasp("simulate", path, "--plugin", breaking("filter"), "--fail-on", fail_on)
    assert (fine.code, pending.code, failed.code) == codes
    assert (pending.err == "error: 1 pod pending\n") == (codes[1] == 4)


def test_a_plugin_that_fails_before_the_queue_is_a_failure_too(kubewasp: Kubewasp, manifests: Manifests) -> None:
    guest = wat_text(
        """(module (memory (export "memory") 1) (func (export "preenqueue") (result i32) unreachable))""", "gate"
    )
    ended = kubewasp("simulate", manifests(node("a"), pod("web")), "--plugin", guest, "-o", "json")
    assert ended.code == 3
    assert ended.json["errors"][0]["pods"] == ["default/web"]


def test_a_gated_pod_is_no_failure(kubewasp: Kubewasp, manifests: Manifests) -> None:
    ended = kubewasp("simulate", manifests(node("a"), pod("web", schedulingGates=[{"name": "g"}])), "-o", "json")
    assert (ended.code, ended.json["errors"]) == (0, [])


# ---------------------------------------------------------------------- many lines


def test_pending_pods_are_grouped_by_reason_and_folded(kubewasp: Kubewasp, manifests: Manifests) -> None:
    huge = workload("Deployment", "huge", 34, template=spec(cpu="8"))
    path = manifests(node("a"), huge, pod("alone", cpu="9"), pod("lost", nodeSelector={"x": "y"}))
    out = kubewasp("simulate", path).out
    assert re.search(r"^default/huge-\* \(34\) +0/1 nodes are available: 1 Insufficient cpu", out, re.MULTILINE)
    assert re.search(r"^default/lost +0/1 nodes are available: 1 node\(s\) didn't", out, re.MULTILINE)
    assert out.count("1 Insufficient cpu") == 1
    every = kubewasp("simulate", path, "--all").out
    assert every.count("1 Insufficient cpu") == 35
    assert "(34)" not in every


def test_many_placements_are_a_line_per_workload(kubewasp: Kubewasp, manifests: Manifests) -> None:
    nodes = [node(f"{pool}-{number}") for pool in ("spot", "od") for number in range(3)]
    web = workload("Deployment", "web", 50)
    tight = workload("StatefulSet", "db", 4, template=spec(cpu="3", nodeSelector={"kubernetes.io/hostname": "od-1"}))
    path = manifests(*nodes, web, tight)
    out = kubewasp("simulate", path).out
    assert re.search(r"^WORKLOAD +PLACED +PENDING +NODES$", out, re.MULTILINE)
    assert re.search(r"^default/web-\* +50 +0 +spot-\* \d+, od-\* \d+$", out, re.MULTILINE)
    assert re.search(r"^default/db-\* +1 +3 +od-\* 1$", out, re.MULTILINE)
    every = kubewasp("simulate", path, "--all").out
    assert len(re.findall(r"^default/web-\S+ +(?:spot|od)-\d$", every, re.MULTILINE)) == 50


def test_many_nodes_are_a_line_per_pool_and_a_distribution(kubewasp: Kubewasp, manifests: Manifests) -> None:
    nodes = [node(f"{pool}-{number}") for pool in ("spot", "od") for number in range(30)]
    path = manifests(*nodes, workload("DaemonSet", "agent", template=spec(cpu="2")))
    out = kubewasp("simulate", path).out
    assert re.search(r"^spot-\* \(30\) +0 → 30 +0% → 50% +0% → 0%$", out, re.MULTILINE)
    assert re.search(r"^all \(60\) +0 → 60 +0% → 50%", out, re.MULTILINE)
    assert re.search(r"^40% to 60% +60 +0$", out, re.MULTILINE)
    assert re.search(r"^od-17 +0 → 1 +0% → 50%", kubewasp("simulate", path, "--all").out, re.MULTILINE)


def test_many_preemptions_are_folded(kubewasp: Kubewasp, manifests: Manifests) -> None:
    low = [pod(f"low-{number}", on="a", cpu="150m") for number in range(20)]
    high = workload("StatefulSet", "high", 1, template=spec(cpu="4", priority=5))
    out = kubewasp("simulate", manifests(node("a"), *low, high)).out
    assert re.search(r"^default/low-\* \(20\) +default/high-\* +1 nodes$", out, re.MULTILINE)


def test_a_large_cluster_is_a_page_of_80_columns(kubewasp: Kubewasp, tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "examples" / "clusters" / "large.py", "--nodes", "120", "--pods", "600"],
        capture_output=True,
        check=True,
    )
    path = tmp_path / "large.json"
    path.write_bytes(made.stdout)
    for options in ((), ("--baseline", "--plugin", EXAMPLES / "prefer_label.wat")):
        out = kubewasp("simulate", path, *options).out
        assert len(out.splitlines()) < 66
        assert max(map(len, out.splitlines())) <= 80


# ---------------------------------------------------------------------- baseline


NODES = [node(f"node-{number}") for number in range(1, 4)]


def test_the_baseline_is_the_same_input_without_the_plugin(kubewasp: Kubewasp, manifests: Manifests) -> None:
    path = manifests(*NODES, pod("web-3"), pod("huge", cpu="8"))
    arguments = ("simulate", path, "--plugin", NODE_NUMBER, "--baseline")
    found = kubewasp(*arguments, "-o", "json").json
    assert found["placements"] == [{"pod": "default/web-3", "node": "node-3"}]
    baseline = found["baseline"]
    assert baseline["name"] == "without nodenumber"
    assert baseline["moved"] == [{"pod": "default/web-3", "baseline": "node-1", "node": "node-3"}]
    assert (baseline["newly_pending"], baseline["newly_placed"]) == ([], [])
    for side in ("baseline", "result"):
        figures = baseline["totals"][side]
        assert (figures["placed"], figures["pending"], figures["empty_nodes"]) == (1, 1, 2)
        assert figures["utilization"]["cpu"]["busiest"] == 0.025
    out = kubewasp(*arguments).out
    assert re.search(r"^baseline +same input and seed, without nodenumber$", out, re.MULTILINE)
    assert re.search(r"^default/web-3 +node-1 +node-3$", out, re.MULTILINE)
    assert re.search(r"^node-3 +0 → 1 +0% → 2%", out, re.MULTILINE)


def test_many_moved_pods_are_a_line_per_workload(kubewasp: Kubewasp) -> None:
    shop = ROOT / "examples" / "clusters" / "shop"
    zone = "prefer_label=topology.kubernetes.io/zone=eu-west-1a"
    prefer = ("--plugin", EXAMPLES / "prefer_label.wat", "--plugin-config", zone)
    arguments = ("simulate", shop / "nodes.yaml", shop / "workloads.yaml", *prefer, "--baseline")
    out = kubewasp(*arguments).out
    assert re.search(r"^WORKLOAD +MOVED +BASELINE +RESULT$", out, re.MULTILINE)
    assert re.search(r"^default/report-\* +\d+ of 120 +spot-\* \d+, od-\* \d+ ", out, re.MULTILINE)
    assert re.search(r"^od-\* \(12\) +\d+ → \d+ ", out, re.MULTILINE)
    every = kubewasp(*arguments, "--all").out
    moved = kubewasp(*arguments, "-o", "json").json["baseline"]["moved"]
    assert len(moved) > 10
    assert all(
        re.search(rf"^{item['pod']} +{item['baseline']} +{item['node']}$", every, re.MULTILINE) for item in moved
    )


def test_without_a_plugin_option_the_baseline_has_no_wasm_plugin(
    kubewasp: Kubewasp, manifests: Manifests, config: Callable[..., Path]
) -> None:
    path = manifests(*NODES, pod("web-3"))
    settings = config(wasm("number", NODE_NUMBER))
    found = kubewasp("simulate", path, "--config", settings, "--baseline", "-o", "json").json["baseline"]
    assert (found["name"], len(found["moved"])) == ("without number", 1)
    told = "there is no wasm plugin to leave out; give a --plugin, or a --baseline-config to compare with"
    assert refused(kubewasp("simulate", path, "--baseline")) == f"--baseline: {told}"


def test_the_baseline_may_be_another_configuration(
    kubewasp: Kubewasp, manifests: Manifests, config: Callable[..., Path]
) -> None:
    path = manifests(*NODES, pod("web-3"))
    settings = config(wasm("number", NODE_NUMBER))
    found = kubewasp("simulate", path, "--baseline-config", settings, "-o", "json").json
    assert found["baseline"]["name"] == str(settings)
    assert found["baseline"]["moved"] == [{"pod": "default/web-3", "baseline": "node-3", "node": "node-1"}]


def test_pods_that_only_one_side_places_are_listed(kubewasp: Kubewasp, manifests: Manifests) -> None:
    path = manifests(node("a"), workload("ReplicaSet", "web", 2))
    rejecting = steered("filter", status_code=2)
    found = kubewasp("simulate", path, "--plugin", rejecting, "--baseline", "-o", "json").json["baseline"]
    assert [item["pod"] for item in found["newly_pending"]] == ["default/web-0", "default/web-1"]
    out = kubewasp("simulate", path, "--plugin", rejecting, "--baseline").out
    assert "NEWLY PENDING\ndefault/web-0\ndefault/web-1\n" in out


def test_a_comparison_with_the_same_result_says_so(kubewasp: Kubewasp, manifests: Manifests) -> None:
    out = kubewasp("simulate", manifests(node("a"), pod("web")), "--plugin", NODE_NUMBER, "--baseline").out
    assert re.search(r"^moved pods +0$", out, re.MULTILINE)
    assert "MOVED" not in out


@pytest.mark.parametrize("argument", ["manifests", "--config", "--plugin", "--baseline-config"])
def test_both_sides_of_a_comparison_share_standard_input(
    argument: str, kubewasp: Kubewasp, manifests: Manifests, config: Callable[..., Path], stdin: Callable[[bytes], None]
) -> None:
    path, settings = manifests(*NODES, pod("web-3")), config(wasm("guest", NODE_NUMBER))
    piped, arguments = {
        "manifests": (path, ("-", "--config", settings, "--baseline")),
        "--config": (settings, (path, "--config", "-", "--baseline")),
        "--plugin": (NODE_NUMBER, (path, "--plugin", "-", "--baseline")),
        "--baseline-config": (settings, (path, "--baseline-config", "-")),
    }[argument]
    stdin(piped.read_bytes())
    found = kubewasp("simulate", *arguments, "-o", "json").json["baseline"]
    assert {found["moved"][0]["baseline"], found["moved"][0]["node"]} == {"node-1", "node-3"}
    assert found["name"] == ("standard input" if argument == "--baseline-config" else "without guest")


def test_the_baseline_of_a_replaced_plugin_has_that_of_the_configuration(
    kubewasp: Kubewasp, manifests: Manifests, config: Callable[..., Path]
) -> None:
    path, settings = manifests(*NODES, pod("web-3")), config(wasm("policy", NODE_NUMBER))
    replaced = ("--plugin", f"policy={wat('filter')}", "--plugin", NODE_NUMBER)
    found = kubewasp("simulate", path, "--config", settings, *replaced, "--baseline", "-o", "json").json["baseline"]
    assert found["name"] == "without nodenumber, with policy of the configuration"


def test_logs_and_errors_are_those_of_the_result_not_of_the_baseline(
    kubewasp: Kubewasp, manifests: Manifests, config: Callable[..., Path]
) -> None:
    path, logging = manifests(node("a"), pod("web")), ROOT / "tests" / "guests" / "wat" / "log.wat"
    one = kubewasp("simulate", path, "--plugin", logging, "--logs", "-o", "json").json["logs"]
    compared = kubewasp("simulate", path, "--plugin", logging, "--logs", "--baseline", "-o", "json").json["logs"]
    assert [item["text"] for item in compared["entries"]] == [item["text"] for item in one["entries"]] != []
    breaks = steered("misbehave", what=MISBEHAVIOURS.index("unreachable"), where=bit("filter"))
    for guest in (logging, breaks):
        ended = kubewasp("simulate", path, "--baseline-config", config(wasm("other", guest)), "--logs", "-o", "json")
        assert (ended.code, ended.json["errors"], ended.json["logs"]["lines"]) == (0, [], 0)


@pytest.mark.parametrize("real_entropy", [False, True])
def test_both_sides_of_a_comparison_have_one_seed_and_one_clock_unless_entropy_is_real(
    manifests: Manifests, config: Callable[..., Path], *, real_entropy: bool
) -> None:
    settings = config(wasm("random", go_guest("nodenumber")))
    simulated = command.run(
        [manifests(node("entropy"), pod("web"))],
        config=settings,
        plugins=(),
        plugin_configs={},
        timeline=None,
        explained="",
        seed=7,
        real_entropy=real_entropy,
        start_time=None,
        logs=False,
        strict=False,
        baseline=False,
        baseline_config=settings,
    )
    assert simulated.baseline is not None
    messages = {report.result.pending[0].message for report in (simulated.report, simulated.baseline.report)}
    assert len(messages) == 1 + real_entropy


def test_warnings_of_a_comparison_are_printed_once_and_strict_refuses_its_input(
    kubewasp: Kubewasp, manifests: Manifests, write: Write
) -> None:
    path = manifests(node("a"), pod("web", nodeSelecter={}))
    text = f'{path}: Pod default/web: spec.nodeSelecter: unknown field; did you mean "nodeSelector"?'
    compared = ("simulate", path, "--plugin", NODE_NUMBER, "--baseline")
    assert kubewasp(*compared).err == f"warning: {text}\n"
    assert refused(kubewasp(*compared, "--strict")) == text
    other = write(
        "o.yaml", yaml.safe_dump({**HEAD, "profiles": [{"pluginConfig": [{"name": "NodeName", "args": {"x": 1}}]}]})
    )
    first, second = kubewasp("simulate", path, "--baseline-config", other).err.splitlines()
    assert first == f"warning: {text}"
    assert "NodeName takes no args" in second


def test_options_that_exclude_each_other(kubewasp: Kubewasp, manifests: Manifests, config: Callable[..., Path]) -> None:
    path, settings = manifests(node("a")), config()
    error = kubewasp("simulate", path, "--baseline", "--baseline-config", settings).usage_error
    assert "not allowed together with --baseline-config" in error
    error = kubewasp("simulate", path, "--baseline-config", settings, "-o", "yaml").usage_error
    assert "a comparison has no YAML form" in error


# ---------------------------------------------------------------------- mistakes


def test_mistakes_in_manifests_are_one_error(
    kubewasp: Kubewasp, manifests: Manifests, write: Write, tmp_path: Path
) -> None:
    assert "none.yaml: cannot be read" in refused(kubewasp("simulate", tmp_path / "none.yaml"))
    empty = tmp_path / "empty"
    empty.mkdir()
    assert refused(kubewasp("simulate", empty)) == f"{empty}: no .yaml, .yml, .json, .kwsnap file in this folder"
    bad = write("bad.yaml", "kind: Pod\nmetadata: {name: web\nspec: {}\n")
    assert refused(kubewasp("simulate", bad)).startswith(f"{bad}: document 1: line 3")
    wrong = manifests(node("a"), pod("web", cpu="-1"))
    place = 'spec.containers[0].resources.requests["cpu"]'
    told = f'{wrong}: document 2: {place}: expected a quantity from 0 to 1e15, got "-1"'
    assert refused(kubewasp("simulate", wrong)) == told
    twice = manifests(pod("web"), pod("web"))
    assert "duplicate Pod default/web" in refused(kubewasp("simulate", twice))
    vip = manifests(pod("web", priorityClassName="vip"))
    assert "no PriorityClass with name vip was found" in refused(kubewasp("simulate", vip))


def test_mistakes_in_the_configuration_are_one_error(
    kubewasp: Kubewasp, manifests: Manifests, config: Callable[..., Path], write: Write
) -> None:
    path = manifests(node("a"))
    unknown = write(
        "unknown.yaml",
        yaml.safe_dump({**HEAD, "profiles": [{"plugins": {"score": {"enabled": [{"name": "Nonsense"}]}}}]}),
    )
    assert "Nonsense" in refused(kubewasp("simulate", path, "--config", unknown))
    ended = kubewasp("simulate", path, "--config", config(wasm("policy", wat("start_trap"))))
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: ")
    assert 'plugin "policy"' in ended.err
    assert "Traceback" not in ended.err
    ended = kubewasp("simulate", path, "--plugin", "none.wasm")
    assert (ended.code, ended.out) == (1, "")
    assert 'plugin "none"' in ended.err


def test_usage_errors(kubewasp: Kubewasp, manifests: Manifests) -> None:
    assert "missing argument PATH" in kubewasp("simulate").usage_error
    assert "expected table, json or yaml, got 'xml'" in kubewasp("simulate", manifests(), "-o", "xml").usage_error


def test_yaml_is_utf8_whatever_the_terminal_speaks(tmp_path: Path) -> None:
    manifests = tmp_path / "cluster.yaml"
    manifests.write_text(
        """
kind: Node
metadata: {name: n}
status: {allocatable: {cpu: "1", memory: 1Gi, pods: "9"}}
---
kind: Pod
metadata: {name: p, annotations: {who: "Zoë"}}
spec: {containers: [{name: c, image: i}]}
""",
        encoding="utf-8",
    )
    result = subprocess.run(
        [Path(sys.executable).parent / "kubewasp", "simulate", manifests, "-o", "yaml"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "who: Zoë" in result.stdout.decode("utf-8")


# ---------------------------------------------------------------------- the time it begins at


def wall_time_at_the_end(paths: list[Path], **given: Any) -> float:
    return Simulation(read_input(paths, **given), default_config()).run().cluster.clock.wall()


def test_a_simulation_begins_when_it_is_told_to(manifests: Manifests, tmp_path: Path) -> None:
    path = manifests(node("a"))
    timeline = tmp_path / "timeline.yaml"
    timeline.write_text("kind: Scenario\nstartTime: 1970-01-01T01:00:00Z\nsteps: [{at: 1m, cordon: a}]\n")
    assert wall_time_at_the_end([path], timeline=timeline) == 3660
    assert wall_time_at_the_end([path], timeline=timeline, start_time=0) == 60


def test_a_simulation_begins_now_if_nothing_else_is_said(manifests: Manifests, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1234.5)
    assert wall_time_at_the_end([manifests(node("a"))]) == 1234.5


@pytest.mark.parametrize("arguments", [("simulate",), ("explain", "web")])
def test_the_start_time_must_be_a_time(kubewasp: Kubewasp, manifests: Manifests, arguments: tuple[str, ...]) -> None:
    path = manifests(node("a"), pod("web"))
    problem = 'expected a time such as 2026-01-05T12:00:00Z, got "yesterday"'
    assert problem in kubewasp(*arguments, path, "--start-time", "yesterday").usage_error
    assert kubewasp(*arguments, path, "--start-time", "2026-01-05T12:00:00Z").code == 0


def test_a_plugin_is_given_its_configuration(kubewasp: Kubewasp, tmp_path: Path) -> None:
    def nodes(*options: object) -> set[str]:
        ended = kubewasp("simulate", SMALL, "--plugin", NODE_NUMBER, *options, "-o", "json")
        assert ended.code == 0, ended.err
        return {item["node"] for item in json.loads(ended.out)["placements"]}

    (tmp_path / "reserved").write_text("1")
    assert nodes() == {"node-1", "node-2", "node-3"}
    assert nodes("--plugin-config", "nodenumber=1") == {"node-2", "node-3"}
    assert nodes("--plugin-config", f"nodenumber=@{tmp_path / 'reserved'}") == {"node-2", "node-3"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("other=1", "--plugin-config other: there is no plugin of that name; there are nodenumber"),
        ("nodenumber", "expected NAME=VALUE, got 'nodenumber'"),
        ("nodenumber=@missing", "missing: No such file or directory"),
    ],
)
def test_a_plugin_configuration_that_cannot_be_used_is_told(kubewasp: Kubewasp, given: str, told: str) -> None:
    ended = kubewasp("simulate", SMALL, "--plugin", NODE_NUMBER, "--plugin-config", given)
    assert ended.code in (1, 2)
    assert told in " ".join(ended.err.replace("│", " ").split())


# ---------------------------------------------------------------------- repeatable guests


def test_a_simulation_repeats_itself_unless_seed_or_entropy_change(kubewasp: Kubewasp, manifests: Manifests) -> None:
    path = manifests(node("entropy"), pod("web"))
    guest = go_guest("nodenumber")
    time = ("--start-time", "2026-01-05T12:00:00Z")

    def message(*options: object) -> str:
        [pending] = kubewasp("simulate", path, "--plugin", guest, *time, *options, "-o", "json").json["pending"]
        return str(pending["message"])

    found = message()
    assert "2026-01-05T12:00:00Z" in found
    assert message("--seed", 0) == found
    assert message("--seed", 1) != found
    assert "2026-01-05T12:00:00Z" not in message("--real-entropy")


def test_an_explanation_of_manifests_repeats_itself(kubewasp: Kubewasp, manifests: Manifests) -> None:
    path = manifests(node("entropy"), pod("web"))

    def rejection(*options: object) -> str:
        options = ("--plugin", go_guest("nodenumber"), "--start-time", "2026-01-05T12:00:00Z", *options)
        return str(kubewasp("explain", "web", path, *options, "-o", "json").json["nodes"][0]["reasons"])

    found = rejection()
    assert rejection() == found
    assert rejection("--seed", 1) != found
    assert rejection("--real-entropy") != found
    error = kubewasp("explain", "web", "--real-entropy").usage_error
    assert "only for manifests" in error


def test_without_pods_there_is_no_time_per_attempt(kubewasp: Kubewasp, manifests: Manifests) -> None:
    lines = kubewasp("simulate", manifests(node("n1"))).out.splitlines()
    assert lines[-2] == "placed    0 pods, 0 pending, 0 preempted"
    assert lines[-1].endswith(" s for 0 attempts")
