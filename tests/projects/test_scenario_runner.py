"""Scenario tests on a real scheduler: passes, failures and their texts."""

import logging
from pathlib import Path
from typing import Any

import pytest

from kubewasp.projects import scenario_runner
from tests.guests.build import wat, wat_text
from tests.projects.writing import case, read_one, run_one
from tests.simulation.simulating import steered

UNSCHEDULABLE, WAIT = 2, 4


def passes(folder: Path, guest: Path | None = None, **fields: Any) -> bool:
    result = run_one(folder, case(**fields), guest)
    assert result.seconds > 0
    return result.passed


def failure(folder: Path, guest: Path | None = None, **fields: Any) -> list[str]:
    """The lines of what is said."""
    told = run_one(folder, case(**fields), guest).failure
    assert told, "the test passed"
    return told.splitlines()


# ---------------------------------------------------------------------- placement


def test_the_node_is_compared(tmp_path: Path) -> None:
    assert passes(tmp_path, expect={"node": "node-2"})
    assert passes(tmp_path, expect={"node": ["node-1", "node-2"]})
    assert failure(tmp_path, expect={"node": "node-3"}) == [
        "pod default/web-2",
        "  node  expected  node-3",
        "        got       node-2",
        "",
        "  NODE    policy  OTHERS  TOTAL",
        "  node-2  10      397     407",
        "  node-1  0       397     397",
        "  node-3  0       397     397",
    ]


def test_the_configuration_reaches_the_guest(tmp_path: Path) -> None:
    assert passes(tmp_path, config={"reverse": True}, only=True, expect={"node": ["node-1", "node-3"]})
    assert passes(tmp_path, config="2", expect={"filtered": {"node-2": "number 2 is reserved"}})


def test_a_rejection_is_compared_with_its_message(tmp_path: Path) -> None:
    refuses = steered("filter", status_code=UNSCHEDULABLE)
    assert passes(tmp_path, refuses, expect={"rejected": "3 filter says no"})
    assert passes(tmp_path, refuses, expect={"rejected": ""})
    assert failure(tmp_path, refuses, expect={"rejected": "no GPU"})[1:3] == [
        '  rejected  expected  no node, with "no GPU" in the message',
        "            got       no node: 0/3 nodes are available: 3 filter says no. no new claims to deallocate, "
        "preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.",
    ]
    assert failure(tmp_path, refuses, expect={"node": "node-2"})[2].startswith("        got       no node: 0/3 nodes")
    assert failure(tmp_path, expect={"rejected": ""})[1:3] == [
        "  rejected  expected  no node",
        "            got       node-2",
    ]


def test_an_error_is_not_a_rejection(tmp_path: Path) -> None:
    breaks = steered("misbehave", what=10, where=0x10)
    assert passes(tmp_path, breaks, expect={"error": "panic!"})
    told = failure(tmp_path, breaks, expect={"rejected": ""})
    assert told[2] == '            got       an error: running "policy" filter plugin: wasm: filter error: panic!'
    assert told[3].startswith(" " * 22 + "wasm trap: ")
    assert failure(tmp_path, expect={"error": ""})[1:3] == ["  error  expected  an error", "         got       node-2"]


def test_one_stack_trace_for_all_pods_and_nodes_with_one_cause(tmp_path: Path) -> None:
    breaks = steered("misbehave", what=10, where=0x10)
    pods = [{"name": "web-1"}, {"name": "web-2"}]
    expect = {"web-1": {"node": "node-1"}, "web-2": {"node": "node-2"}}
    told = run_one(tmp_path, case(pod=None, pods=pods, expect=expect), breaks).failure
    assert told.count("wasm stack trace:") == 1
    message = 'an error: running "policy" filter plugin: wasm: filter error: panic! (as pod default/web-1)'
    assert f"got       {message}\n" in told
    assert told.count("panic!") == 8  # two errors, and the cells of three nodes each; not in the log


def test_a_pod_that_waits_for_permission(tmp_path: Path) -> None:
    holds = steered("permit", status_code=WAIT, timeout=60_000)
    assert passes(tmp_path, holds, until="30s", expect={"waiting": True, "node": ["node-1", "node-2", "node-3"]})
    assert passes(tmp_path, holds, expect={"rejected": "rejected due to timeout after waiting 1m0s at plugin policy"})
    assert failure(tmp_path, holds, until="30s", expect={"node": ["node-1"]})[2].endswith("(waiting for permission)")
    assert failure(tmp_path, expect={"waiting": True})[1:3] == [
        "  waiting  expected  waiting for permission",
        "           got       node-2",
    ]


def test_the_weight_counts(tmp_path: Path) -> None:
    full = [
        {"name": "node-1"},
        {"name": "node-2"},
        {"kind": "Pod", "name": "x", "node": "node-2", "requests": {"cpu": 2}},
    ]
    assert passes(tmp_path, cluster=full, expect={"node": "node-1"})
    assert passes(tmp_path, cluster=full, weight=100, expect={"node": "node-2", "scores": {"node-2": 10}})
    assert "10 ×100" in "\n".join(failure(tmp_path, cluster=full, weight=100, expect={"node": "node-1"}))


def test_the_plugin_may_decide_alone(tmp_path: Path) -> None:
    full = [
        {"name": "node-1"},
        {"name": "node-2"},
        {"kind": "Pod", "name": "x", "node": "node-2", "requests": {"cpu": 2}},
    ]
    assert passes(tmp_path, cluster=full, only=True, expect={"node": "node-2"})
    assert failure(tmp_path, cluster=full, only=True, expect={"node": "node-1"})[-2:] == [
        "  node-2  10      0       10",
        "  node-1  0       0       0",
    ]
    tight = [{"name": "node-1"}, {"name": "node-2", "allocatable": {"cpu": "500m"}}]
    asks = {"name": "web-2", "requests": {"cpu": 1}}
    assert passes(tmp_path, cluster=tight, pod=asks, only=True, expect={"node": "node-1"})


# All pods are the same to it, so that the queue is first come, first served.
FIRST_COME = """
(module
  (import "kubewasp/v1" "result.sort_key" (func $sort_key (param i32 i32)))
  (memory (export "memory") 1)
  (func (export "queuesort") (result i32)
    (call $sort_key (i32.const 0) (i32.const 1))
    (i32.const 0)))
"""


def test_a_plugin_that_sorts_the_queue_does_so_instead_of_the_default(tmp_path: Path) -> None:
    room_for_one = [{"name": "a", "allocatable": {"pods": 1}}]
    urgent = {"name": "urgent", "spec": {"priority": 100, "preemptionPolicy": "Never"}}
    both: dict[str, Any] = {"cluster": room_for_one, "pod": None, "pods": [{"name": "first"}, urgent]}
    assert passes(tmp_path, **both, expect={"urgent": {"node": "a"}, "first": {"rejected": ""}})
    first_come = wat_text(FIRST_COME)
    assert passes(tmp_path, first_come, **both, expect={"first": {"node": "a"}, "urgent": {"rejected": ""}})


# ---------------------------------------------------------------------- what the plugin said of the nodes


def test_scores_are_compared(tmp_path: Path) -> None:
    assert passes(tmp_path, expect={"scores": {"node-2": 10, "node-1": 0}})
    told = failure(tmp_path, config="3", expect={"scores": {"node-1": 5, "node-2": 10, "node-3": 1, "node-9": 1}})
    assert told[1:7] == [
        "  score of node-1  expected  5",
        "                   got       0",
        "  score of node-3  expected  1",
        "                   got       no score: rejected by policy: node number 3 is reserved",
        "  score of node-9  expected  1",
        "                   got       no such node",
    ]


@pytest.mark.parametrize("order", [["node-2"], ["node-2", "node-1"], ["node-2", "node-3"]])
def test_the_best_nodes_are_in_order(tmp_path: Path, order: list[str]) -> None:
    assert passes(tmp_path, expect={"order": order})


@pytest.mark.parametrize(
    "order", [["node-1"], ["node-1", "node-2"], ["node-2", "node-1", "node-3"], ["node-2", "node-9"]]
)
def test_another_order_is_told(tmp_path: Path, order: list[str]) -> None:
    assert failure(tmp_path, expect={"order": order})[1:3] == [
        f"  order  expected  {' > '.join(order)}",
        "         got       node-2 (10) > node-1 (0) > node-3 (0)",
    ]


def test_annotations_of_the_bound_pod_are_compared(tmp_path: Path) -> None:
    guest = wat_text("""
        (module
          (import "kubewasp/v1" "result.annotation" (func $annotate (param i32 i32 i32 i32)))
          (memory (export "memory") 1)
          (data (i32.const 0) "gpu2")
          (func (export "reserve") (result i32)
            (call $annotate (i32.const 0) (i32.const 3) (i32.const 3) (i32.const 1)) (i32.const 0)))
        """)
    assert passes(tmp_path, guest, expect={"annotations": {"gpu": "2"}})
    told = failure(tmp_path, guest, expect={"annotations": {"gpu": "3", "numa": "0"}})
    assert told[1:5] == [
        '  annotation gpu   expected  "3"',
        '                   got       "2"',
        '  annotation numa  expected  "0"',
        "                   got       none",
    ]


def test_filtered_are_just_the_nodes_that_the_plugin_rejects(tmp_path: Path) -> None:
    assert passes(tmp_path, expect={"filtered": {}})
    assert passes(tmp_path, config="3", expect={"filtered": {"node-3": "is reserved"}})
    told = failure(tmp_path, config="3", expect={"filtered": {"node-1": "full", "node-9": ""}})
    assert told[1:7] == [
        '  filter of node-1  expected  rejected with "full"',
        "                    got       passed",
        "  filter of node-9  expected  rejected",
        "                    got       no such node",
        "  filter of node-3  expected  passed",
        '                    got       rejected with "node number 3 is reserved"',
    ]
    told = failure(tmp_path, config="3", expect={"filtered": {"node-3": "full"}})
    assert told[1:3] == [
        '  filter of node-3  expected  rejected with "full"',
        '                    got       rejected with "node number 3 is reserved"',
    ]


def test_of_many_nodes_the_first_are_shown(tmp_path: Path) -> None:
    cluster = [{"name": f"node-{number}"} for number in range(30)]
    assert failure(tmp_path, cluster=cluster, expect={"rejected": ""})[-1] == "  … 10 more nodes"


# ---------------------------------------------------------------------- time


def test_the_timeline_is_played(tmp_path: Path) -> None:
    late = {
        "at": "1m",
        "apply": {"kind": "Node", "metadata": {"name": "node-2"}, "status": {"allocatable": {"pods": 9}}},
    }
    one = [{"name": "node-1", "taints": ["closed:NoSchedule"]}]
    assert passes(tmp_path, cluster=one, steps=[late], expect={"node": "node-2"})
    assert passes(tmp_path, cluster=one, steps=[late], until="30s", expect={"rejected": "untolerated taint"})


def test_files_of_the_timeline_lie_in_the_project(tmp_path: Path) -> None:
    (tmp_path / "late.yaml").write_text("{kind: Node, metadata: {name: node-2}, status: {allocatable: {pods: 9}}}")
    steps = [{"at": "1m", "apply": "late.yaml"}]
    one = [{"name": "node-1", "taints": ["closed:NoSchedule"]}]
    assert passes(tmp_path, cluster=one, steps=steps, expect={"node": "node-2"})


def test_a_step_that_cannot_be_done_fails_the_test(tmp_path: Path) -> None:
    [line] = failure(tmp_path, steps=[{"at": "1m", "cordon": "node-9"}])
    assert line.endswith("steps[0].cordon: there is no node node-9")


# ---------------------------------------------------------------------- what goes wrong


def test_a_pod_that_is_not_there_is_told(tmp_path: Path) -> None:
    told = failure(tmp_path, pod=None, pods=[{"name": "a"}], expect={"b": {"node": "x"}})
    assert told == ["no pod default/b; pods: default/a"]


def test_every_pod_that_differs_is_told(tmp_path: Path) -> None:
    pods = [{"name": "web-1"}, {"name": "web-2"}, {"name": "web-3"}]
    expect = {"web-1": {"node": "node-9"}, "web-2": {"node": "node-2"}, "web-3": {"node": "node-9"}}
    told = failure(tmp_path, pod=None, pods=pods, expect=expect)
    assert [line for line in told if line.startswith("pod ")] == ["pod default/web-1", "pod default/web-3"]


def test_a_guest_that_does_not_start_fails_the_test(tmp_path: Path) -> None:
    traps = wat("start_trap")
    assert failure(tmp_path, traps)[0].startswith('plugin "policy": wasm: ')
    assert passes(tmp_path, traps, loadError="unreachable", expect=None)
    told = failure(tmp_path, traps, loadError="bad price", expect=None)
    assert told[0] == 'expected  load error with "bad price"'
    told = failure(tmp_path, loadError="bad price", expect=None)
    assert told[1] == "got       no error"


def test_what_a_guest_logged_is_shown_when_the_test_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = wat("log")
    told = failure(tmp_path, logs, cluster=[{"name": "a"}], expect={"node": "b"})
    assert told[told.index("log") + 1 :] == [
        "  default/web-2",
        "    policy filter  I  hello",
        '    policy filter  I  "moved" pod="a" node="b"',
        '    policy filter  I  "quoted" text="say \\"hi\\"\\nand bye"',
    ]
    assert not caplog.records
    assert capsys.readouterr().err == ""
    assert logging.getLogger("kubewasp.wasm").propagate


def test_the_log_of_a_test_that_passes_is_kept_on_request(tmp_path: Path) -> None:
    test = read_one(tmp_path, case(cluster=[{"name": "node-2"}]))
    assert scenario_runner.run(test, wat("log"), "policy").log == ()
    result = scenario_runner.run(test, wat("log"), "policy", logs=True)
    assert result.passed
    assert result.log[:2] == ["default/web-2", "  policy filter  I  hello"]


def test_a_long_log_of_a_failed_test_ends_with_its_last_lines(tmp_path: Path) -> None:
    nodes = [{"name": f"node-{number}"} for number in range(3)]
    pods = [{"name": f"web-{number}"} for number in range(10)]
    document = case(cluster=nodes, pod=None, pods=pods, expect={"web-0": {"node": "none"}})
    shown = run_one(tmp_path, document, wat("log")).failure.splitlines()
    assert shown[shown.index("log") + 1] == "  … 20 earlier lines; --logs shows them"
    assert len(shown[shown.index("log") + 2 :]) == 20
