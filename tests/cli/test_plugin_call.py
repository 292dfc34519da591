import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Answers, Kubewasp
from tests.guests import GETTERS, HOOKS, MISBEHAVIOURS
from tests.guests.build import c_guest, example, go_guest, wat, wat_text

Write = Callable[[str, str], Path]

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: pod-1, namespace: default}\n"
STATUSES = {
    0: "Success",
    1: "Error",
    2: "Unschedulable",
    3: "UnschedulableAndUnresolvable",
    4: "Wait",
    5: "Skip",
    42: "Error",
    -7: "Error",
}
OF_EVERY_CALL = {"hook", "node", "code", "status", "reason", "hint", "logs", "recorded_events", "output", "duration_us"}
OF_ONE_HOOK = {
    "enqueue": {"events"},
    "prefilter": {"node_names"},
    "postfilter": {"nominated_node", "nominating_mode"},
    "score": {"score"},
    "normalizescore": {"normalized_scores"},
    "permit": {"timeout_ms"},
    "reserve": {"annotations"},
    "prebind": {"annotations"},
}
EACH_NODE = ("filter", "score")
NO_NODE = ("enqueue", "prefilter", "postfilter", "prescore", "normalizescore")
NO_STATUS = ("enqueue", "unreserve", "postbind")


def echo(getter: str) -> tuple[object, ...]:
    """The guest whose reason is what that getter answers."""
    return (wat("echo"), "--global", f"which={GETTERS.index(getter)}")


def misbehave(what: str, where: str, after: int = 0) -> tuple[object, ...]:
    number, hook = MISBEHAVIOURS.index(what), HOOKS.index(where)
    settings = (f"what={number}", f"where={1 << hook}", f"after={after}")
    return (wat("misbehave"), *(word for setting in settings for word in ("--global", setting)))


def told(calls: list[dict[str, Any]], *keys: str) -> list[tuple[Any, ...]]:
    return [tuple(call[key] for key in keys) for call in calls]


# ---------------------------------------------------------------------- one hook


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_has_the_common_fields_and_its_own(answers: Answers, hook: str) -> None:
    calls = answers(wat("all_hooks"), hook)
    assert [call["node"] for call in calls] == (
        ["node-1", "node-2", "node-3"] if hook in EACH_NODE else [None] if hook in NO_NODE else ["node-1"]
    )
    for call in calls:
        assert set(call) == OF_EVERY_CALL | OF_ONE_HOOK.get(hook, set())
        assert (call["hook"], call["code"], call["status"], call["reason"]) == (hook, 0, "Success", "")
        assert (call["logs"], call["recorded_events"], call["output"]) == ([], [], "")
        assert call["duration_us"] > 0


@pytest.mark.parametrize("code", STATUSES)
@pytest.mark.parametrize("hook", [hook for hook in HOOKS if hook not in NO_STATUS])
def test_every_status_is_told_by_number_and_by_name(answers: Answers, hook: str, code: int) -> None:
    calls = answers(wat("all_hooks"), hook, "--global", f"status_code={code}", "--global", "with_reason=1")
    for call in calls:
        assert (call["code"], call["status"]) == (code, STATUSES[code])
        assert call["reason"] == ("all hooks say so" if code else "")


@pytest.mark.parametrize(("answer", "shown"), [("-1", "ffffffffffffffff"), ("258", "0000000000000102"), ("0", "")])
def test_signpod_tells_the_signature(kubewasp: Kubewasp, answers: Answers, answer: str, shown: str) -> None:
    guest = wat_text(
        f"""(module (memory (export "memory") 1) (func (export "filter") (result i32) (i32.const 0))
          (func (export "signpod") (result i64) (i64.const {answer})))"""
    )
    [call] = answers(guest, "signpod")
    assert (call["node"], call["status"], call["signature"]) == (None, "Success", shown)
    assert f"signature {shown or '(none)'}" in kubewasp("plugin", "call", guest, "signpod").out


def test_enqueue_tells_resources_and_actions(answers: Answers) -> None:
    [call] = answers(wat("enqueue"), "enqueue")
    assert call["events"] == [
        {"resource": "Node", "resource_id": 1, "action": 9, "actions": ["Add", "UpdateNodeLabel"]},
        {"resource": "Pod", "resource_id": 0, "action": 2, "actions": ["Delete"]},
    ]


def test_prefilter_tells_the_nodes_it_narrows_down_to(answers: Answers) -> None:
    [call] = answers(wat("prefilter"), "prefilter")
    assert call["node_names"] == ["node-1", "node-3"]
    [call] = answers(wat("all_hooks"), "prefilter")
    assert call["node_names"] is None


@pytest.mark.parametrize("mode", [0, 1])
def test_postfilter_tells_node_and_mode(answers: Answers, mode: int) -> None:
    [call] = answers(wat("postfilter"), "postfilter", "--global", f"mode={mode}")
    assert told([call], "nominated_node", "nominating_mode", "code") == [("node-2", mode, 0)]


@pytest.mark.parametrize("points", [0, 100, -1, -(2**31), 2**31 - 1])
def test_score_is_signed(answers: Answers, points: int) -> None:
    calls = answers(wat("score"), "score", "--global", f"points={points}")
    assert told(calls, "node", "score", "code") == [(f"node-{number}", points, 0) for number in (1, 2, 3)]


def test_score_has_a_status_of_its_own(answers: Answers) -> None:
    calls = answers(wat("score"), "score", "--global", "points=-3", "--global", "status_code=2")
    assert told(calls, "score", "code", "reason") == [(-3, 2, "score says no")] * 3


@pytest.mark.parametrize(("status", "timeout"), [(4, 1500), (0, 0), (2, 2**32 - 1), (-7, 2**31)])
def test_permit_has_the_status_in_the_high_half(answers: Answers, status: int, timeout: int) -> None:
    calls = answers(wat("permit"), "permit", "--global", f"status_code={status}", "--global", f"timeout={timeout}")
    assert told(calls, "code", "status", "timeout_ms", "reason") == [
        (status, STATUSES[status], timeout, "node-1" if status else "")
    ]


@pytest.mark.parametrize("hook", ["reserve", "prebind", "bind"])
def test_hooks_after_the_choice_are_called_for_the_first_node(answers: Answers, hook: str) -> None:
    assert told(answers(wat(hook), hook, "--global", "status_code=2"), "node", "reason") == [("node-1", "node-1")]


@pytest.mark.parametrize("hook", ["unreserve", "postbind"])
def test_hooks_without_answer_succeed_and_log(answers: Answers, hook: str) -> None:
    [call] = answers(wat("reserve" if hook == "unreserve" else hook), hook)
    assert (call["status"], call["logs"]) == ("Success", [f"{hook} node-1"])


@pytest.mark.parametrize("hook", ["unreserve", "postbind"])
def test_trap_in_a_hook_without_answer_is_told(answers: Answers, hook: str) -> None:
    [call] = answers(*misbehave("unreachable", hook), hook)
    assert call["status"] == "Error"
    assert call["reason"].startswith(f"wasm: {hook} error: wasm trap: wasm `unreachable` instruction executed")


def test_log_lines_are_told(answers: Answers) -> None:
    calls = answers(wat("log"), "filter")
    assert calls[0]["logs"] == ["hello", '"moved" pod="a" node="b"', '"quoted" text="say \\"hi\\"\\nand bye"']


def test_recorded_events_are_told(answers: Answers, write: Write) -> None:
    [event] = answers(wat("events"), "filter", "--pod", write("pod.yaml", POD))[0]["recorded_events"]
    assert event["regarding"]["name"] == "pod-1"
    assert event["related"]["kind"] == "Node"
    assert (event["type"], event["reason"], event["action"]) == ("Normal", "Considered", "Filter")
    assert event["note"] == "looked at node-1"


def test_no_pod_is_waiting(answers: Answers) -> None:
    assert answers(wat("waiting"), "filter")[0]["reason"] == "missing, declined"


def test_text_that_is_not_utf8_is_shown_as_far_as_it_goes(answers: Answers) -> None:
    reason = answers(*misbehave("reason that is not UTF-8", "filter"), "filter")[0]["reason"]
    assert reason.startswith("bad \ufffd")
    assert reason.endswith(" text")


# ---------------------------------------------------------------------- several hooks


def test_hooks_are_called_in_the_given_order(answers: Answers) -> None:
    given = ["score", "bind", "prefilter", "score", "filter"]
    calls = answers(wat("all_hooks"), *given)
    assert [call["hook"] for call in calls] == [
        name for hook in given for name in ([hook] * 3 if hook in EACH_NODE else [hook])
    ]


def test_all_calls_share_one_instance(answers: Answers) -> None:
    hooks = ["prefilter", "filter", "score", "reserve", "permit", "prebind", "bind", "postbind", "unreserve"]
    calls = answers(wat("state"), *hooks)
    assert all(call["code"] == 0 for call in calls)
    lines = [line for call in calls for line in call["logs"]]
    assert lines == [
        f"{call['hook']} pod=web-2 cycle=1 call={number}" for number, call in enumerate(calls[1:], start=1)
    ]


def test_second_prefilter_begins_a_new_cycle_on_the_same_instance(answers: Answers) -> None:
    calls = answers(wat("state"), "prefilter", "reserve", "prefilter", "reserve")
    assert [call["logs"] for call in calls] == [
        [],
        ["reserve pod=web-2 cycle=1 call=1"],
        [],
        ["reserve pod=web-2 cycle=2 call=1"],
    ]


def test_start_function_runs_once(answers: Answers) -> None:
    calls = answers(wat("start_counts"), "filter", "filter")
    assert {call["reason"] for call in calls} == {"starts: 1"}


def test_failing_call_leaves_the_other_nodes_their_own_answers(answers: Answers) -> None:
    calls = answers(*misbehave("panic! on stderr, then unreachable", "filter", after=1), "filter", "score")
    assert told(calls[:3], "node", "status") == [("node-1", "Success"), ("node-2", "Error"), ("node-3", "Success")]
    assert calls[1]["reason"].startswith("wasm: filter error: panic!\n")
    assert [call["status"] for call in calls[3:]] == ["Success"] * 3


def test_every_call_may_fail(answers: Answers) -> None:
    calls = answers(*misbehave("divide by zero", "filter"), "filter", "reserve")
    assert [call["status"] for call in calls] == ["Error", "Error", "Error", "Success"]
    assert all("divide by zero" in call["reason"] for call in calls[:3])


def test_fresh_instance_sees_prefilter_before_it_goes_on(answers: Answers) -> None:
    guest = wat_text("""
        (module
          (memory (export "memory") 1)
          (global $ready (mut i32) (i32.const 0))
          (func (export "prefilter") (result i32) (global.set $ready (i32.const 1)) (i32.const 0))
          (func (export "filter") (result i32) unreachable)
          (func (export "reserve") (result i32)
            (if (i32.eqz (global.get $ready)) (then (return (i32.const 3))))
            (i32.const 0)))
    """)
    calls = answers(guest, "prefilter", "filter", "reserve")
    assert told(calls, "hook", "code") == [("prefilter", 0), *[("filter", 1)] * 3, ("reserve", 0)]
    assert answers(guest, "filter", "reserve")[-1]["code"] == 3


def test_sleeping_and_looping_guests_are_stopped(answers: Answers) -> None:
    for what in ("infinite loop", "sleeps an hour"):
        [call] = answers(*misbehave(what, "reserve"), "reserve", "--limit", "callTimeout=50ms")
        assert "time limit of 0.05 s exceeded" in call["reason"]


# ---------------------------------------------------------------------- what hooks hear of each other


def test_postfilter_hears_what_filter_said(answers: Answers) -> None:
    calls = answers(*echo("nodeToStatusMap"), "filter", "postfilter")
    assert json.loads(calls[-1]["reason"]) == {"node-1": 2, "node-2": 2, "node-3": 2}


def test_postfilter_hears_nothing_when_filter_was_not_called(answers: Answers) -> None:
    [call] = answers(*echo("nodeToStatusMap"), "postfilter")
    assert json.loads(call["reason"]) == {}


def test_node_statuses_are_given_by_number_or_name(answers: Answers) -> None:
    given = ["node-1=3", "node-2=Unschedulable", "b.example=UnschedulableAndUnresolvable", "c=-1", "d=0x2a", "e=Wait"]
    options = [word for item in given for word in ("--node-status", item)]
    calls = answers(*echo("nodeToStatusMap"), "filter", "postfilter", *options)
    assert json.loads(calls[-1]["reason"]) == {"node-1": 3, "node-2": 2, "b.example": 3, "c": -1, "d": 42, "e": 4}


def test_prescore_hears_of_all_nodes_when_filter_was_not_called(answers: Answers) -> None:
    assert json.loads(answers(wat("prescore"), "prescore")[0]["reason"]) == ["node-1", "node-2", "node-3"]


def test_prescore_hears_of_the_nodes_that_passed(answers: Answers) -> None:
    guest = wat_text("""
        (module
          (import "k8s.io/scheduler" "filteredNodeList" (func $filtered_nodes (param i32 i32) (result i32)))
          (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
          (memory (export "memory") 1)
          (global $call (mut i32) (i32.const 0))
          (func (export "filter") (result i32) ;; only the second node does not pass
            (global.set $call (i32.add (global.get $call) (i32.const 1)))
            (i32.shl (i32.eq (global.get $call) (i32.const 2)) (i32.const 1)))
          (func (export "prescore") (result i32)
            (call $reason (i32.const 0) (call $filtered_nodes (i32.const 0) (i32.const 65536)))
            (i32.const 2))
          (func (export "score") (result i64) (i64.const 0)))
    """)
    calls = answers(guest, "filter", "prescore")
    assert json.loads(calls[-1]["reason"]) == ["node-1", "node-3"]


def test_normalizescore_hears_what_score_said(answers: Answers) -> None:
    guest = wat_text("""
        (module
          (import "k8s.io/scheduler" "nodeScoreList" (func $scores (param i32 i32) (result i32)))
          (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
          (memory (export "memory") 1)
          (func (export "score") (result i64) (i64.const 0xfffffff700000000)) ;; -9
          (func (export "normalizescore") (result i32)
            (call $reason (i32.const 0) (call $scores (i32.const 0) (i32.const 65536)))
            (i32.const 2)))
    """)
    calls = answers(guest, "score", "normalizescore")
    assert json.loads(calls[-1]["reason"]) == {"node-1": -9, "node-2": -9, "node-3": -9}
    calls = answers(guest, "score", "normalizescore", "--score", "node-1=5", "--score", "node-3=-6")
    assert json.loads(calls[-1]["reason"]) == {"node-1": 5, "node-3": -6}
    [call] = answers(guest, "normalizescore")
    assert json.loads(call["reason"]) == {"node-1": 0, "node-2": 0, "node-3": 0}


def test_normalized_scores_are_told(answers: Answers) -> None:
    calls = answers(wat("normalizescore"), "score", "normalizescore")
    assert [call["score"] for call in calls[:3]] == [7, 7, 7]
    assert calls[-1]["normalized_scores"] == {"node-1": 10, "node-2": 20, "node-3": 30}


def test_scores_stay_as_they_are_when_none_are_sent(answers: Answers) -> None:
    calls = answers(wat("all_hooks"), "score", "normalizescore", "--global", "points=12")
    assert calls[-1]["normalized_scores"] == {"node-1": 12, "node-2": 12, "node-3": 12}


@pytest.mark.parametrize("what", ["normalized scores that are not JSON", "normalized scores of an unknown node"])
def test_unusable_normalized_scores_are_an_error_of_the_hook(answers: Answers, what: str) -> None:
    [call] = answers(*misbehave(what, "normalizescore"), "normalizescore")
    assert call["status"] == "Error"
    assert call["reason"].startswith("wasm: normalizescore error: ")


# ---------------------------------------------------------------------- manifests


def manifest(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **more}


NODES = [manifest("Node", "a-1"), manifest("Node", "b-2")]


@pytest.mark.parametrize(
    "content",
    [
        "\n---\n".join(map(json.dumps, NODES)),
        "\n".join(map(json.dumps, NODES)),
        "kind: Node\nmetadata: {name: a-1}\n---\n# nothing\n---\nkind: Node\nmetadata: {name: b-2}\n",
        json.dumps({"apiVersion": "v1", "kind": "List", "items": NODES}),
        json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": n["metadata"]} for n in NODES]}),
        "apiVersion: v1\nkind: NodeList\nitems:\n- metadata: {name: a-1}\n- metadata: {name: b-2}\n",
    ],
    ids=["documents", "json-lines", "yaml-documents", "list", "node-list", "yaml-node-list"],
)
def test_nodes_come_in_many_forms(answers: Answers, write: Write, content: str) -> None:
    calls = answers(*echo("currentNodeName"), "filter", "--node", write("nodes", content))
    assert told(calls, "node", "reason") == [("a-1", "a-1"), ("b-2", "b-2")]


def test_nodes_come_from_several_files_in_their_order(answers: Answers, write: Write) -> None:
    files = [write(f"{number}.json", json.dumps(manifest("Node", f"n{number}"))) for number in (3, 1, 2)]
    options = [word for path in files for word in ("--node", path)]
    assert [call["node"] for call in answers(wat("filter"), "filter", *options)] == ["n3", "n1", "n2"]
    assert [call["node"] for call in answers(wat("permit"), "permit", *options)] == ["n3"]


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_pod_of_the_manifest_is_scheduled(answers: Answers, write: Write, suffix: str) -> None:
    text = json.dumps(manifest("Pod", "db-7")) if suffix == "json" else "kind: Pod\nmetadata: {name: db-7}\n"
    calls = answers(wat("state"), "prefilter", "reserve", "--pod", write(f"pod.{suffix}", text))
    assert calls[-1]["logs"] == ["reserve pod=db-7 cycle=1 call=1"]


def test_sample_pod_and_nodes_stand_in_for_manifests(answers: Answers) -> None:
    calls = answers(example("nodenumber"), "prefilter", "score")
    assert told(calls[1:], "node", "score") == [("node-1", 0), ("node-2", 10), ("node-3", 0)]


@pytest.mark.parametrize("hook", ["addpod", "removepod"])
def test_target_pod_is_the_given_one_or_a_sample(answers: Answers, write: Write, hook: str) -> None:
    target = write("target.yaml", "kind: Pod\nmetadata: {name: the-target}\n")
    assert told(answers(wat(hook), hook), "node", "code", "reason") == [("node-1", 2, "node-1")]
    assert "the-target" in answers(*echo("targetPod"), hook, "--target-pod", target)[0]["reason"]
    assert "db-1" in answers(*echo("targetPod"), hook)[0]["reason"]


def test_only_addpod_and_removepod_hear_of_the_target_pod(answers: Answers) -> None:
    assert answers(*echo("targetPod"), "addpod", "filter")[-1]["reason"] == ""


# ---------------------------------------------------------------------- settings


@pytest.mark.parametrize("text", ["", "plain", '{"reverse": true}', "λ – 日本\n two lines"])
def test_config_is_handed_over_as_it_is(answers: Answers, text: str) -> None:
    assert answers(*echo("get_config"), "filter", "--config", text)[0]["reason"] == text


def test_config_is_there_when_the_guest_starts(kubewasp: Kubewasp, answers: Answers) -> None:
    assert answers(wat("start_initialize"), "filter", "--config", "at start")[0]["reason"] == "at start"
    assert "at start" in kubewasp("plugin", "call", wat("start_initialize"), "filter", "--config", "at start").out


def test_args_are_the_guests_argv(kubewasp: Kubewasp) -> None:
    ended = kubewasp("plugin", "call", go_guest("allhooks"), "reserve", "--arg", "one", "--arg", "--two=2", "--arg", "")
    lines = [line.split(maxsplit=2)[2] for line in ended.out.splitlines() if " I  " in line]
    assert lines == ["arg one", "arg --two=2", "arg", "reserve"]


@pytest.mark.parametrize(("least", "severity", "lines"), [(0, 0, 3), (1, 0, 0), (1, 1, 3), (3, 2, 0), (3, 3, 3)])
def test_lines_below_the_log_severity_are_dropped(answers: Answers, least: int, severity: int, lines: int) -> None:
    calls = answers(wat("log"), "filter", "--log-severity", least, "--global", f"severity={severity}")
    assert [len(call["logs"]) for call in calls] == [lines] * 3


def test_globals_are_set_before_the_hooks(answers: Answers) -> None:
    calls = answers(wat("filter"), "filter", "--global", "status_code=0x3")
    assert told(calls, "code", "reason") == [(3, "filter says no")] * 3


def test_globals_are_set_on_a_fresh_instance_too(answers: Answers) -> None:
    calls = answers(*misbehave("status 42", "reserve"), "reserve", "reserve")
    assert [call["code"] for call in calls] == [42, 42]
    calls = answers(*misbehave("unreachable", "reserve"), "reserve", "reserve")
    assert [call["code"] for call in calls] == [1, 1]


def test_limits_bound_the_guest(answers: Answers) -> None:
    calls = answers(wat("leak"), *["prefilter"] * 4, "--limit", "memory=128Ki")
    assert [call["code"] for call in calls] == [0, 1, 1, 1]


def test_digest_of_the_guest_may_be_demanded(answers: Answers, kubewasp: Kubewasp) -> None:
    guest = wat("filter")
    digest = hashlib.sha256(guest.read_bytes()).hexdigest()
    for good in (digest, digest.upper(), f"sha256:{digest}"):
        assert len(answers(guest, "filter", "--sha256", good)) == 3
    for bad in ("0" * 64, "abc", ""):
        ended = kubewasp("plugin", "call", guest, "filter", "--sha256", bad)
        assert (ended.code, ended.out) == (1, "")
        assert "sha256" in ended.err


# ---------------------------------------------------------------------- other languages


def test_go_guest_answers(answers: Answers) -> None:
    settings = '{"closed": ["node-1"]}'
    hooks = ["enqueue", "prefilter", "filter", "postfilter", "prescore", "score", "permit", "bind"]
    calls = answers(go_guest("nodenumber"), *hooks, "--config", settings)
    by_hook = {hook: [call for call in calls if call["hook"] == hook] for hook in hooks}
    assert by_hook["enqueue"][0]["events"][0]["resource"] == "Node"
    assert told(by_hook["filter"], "code", "reason") == [(2, "node node-1 is closed"), (0, ""), (0, "")]
    assert told(by_hook["postfilter"], "nominated_node", "nominating_mode") == [("node-1", 1)]
    assert [call["score"] for call in by_hook["score"]] == [0, 10, 0]
    assert by_hook["permit"][0]["logs"] == ["permit on node-1"]
    assert by_hook["bind"][0]["status"] == "Skip"


def test_go_guest_may_panic_at_one_node(answers: Answers, write: Write) -> None:
    nodes = write("nodes.json", "\n".join(json.dumps(manifest("Node", name)) for name in ("ok", "panic", "fine")))
    calls = answers(go_guest("nodenumber"), "prefilter", "filter", "--node", nodes)
    assert [call["status"] for call in calls] == ["Success", "Success", "Error", "Success"]
    assert calls[2]["reason"].startswith("wasm: filter error: panic: the node is called panic")


def test_go_guest_exports_every_hook(answers: Answers) -> None:
    calls = answers(go_guest("allhooks"), *HOOKS)
    assert all(call["logs"] == [call["hook"]] and call["code"] == 0 for call in calls)


def test_c_guest_answers(answers: Answers, write: Write) -> None:
    labelled = manifest("Node", "a")
    labelled["metadata"]["labels"] = {"disk": "ssd", "zone": "b"}
    nodes = write("nodes.json", json.dumps({"kind": "List", "items": [labelled, manifest("Node", "b")]}))
    calls = answers(c_guest("labels"), "filter", "score", "--config", "disk", "--node", nodes)
    assert told(calls[:2], "code", "reason") == [(0, ""), (2, "node lacks the label disk")]
    assert [call["score"] for call in calls[2:]] == [2, 0]


# ---------------------------------------------------------------------- the table


@pytest.mark.parametrize("code", STATUSES)
def test_table_fits_80_columns_and_loses_nothing(kubewasp: Kubewasp, code: int) -> None:
    options = ["--global", f"status_code={code}", "--global", "with_reason=1"]
    ended = kubewasp("plugin", "call", wat("all_hooks"), *HOOKS, *options)
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["HOOK", "NODE", "STATUS", "ANSWER", "µs", "REASON"]
    # Durations differ in width, and lines are broken at other words then.
    reason = ["hooks", "say", "so"] if code in range(6) else ["(code", f"{code})"]
    words = ended.out.split()
    assert [words.count(part) for part in reason] == [16 if code else 0] * len(reason)


def test_table_of_long_names_and_reasons_fits_80_columns(kubewasp: Kubewasp, write: Write) -> None:
    name = "ip-10-0-131-27.eu-west-1.compute.internal"
    nodes = write("nodes.json", json.dumps(manifest("Node", name)))
    ended = kubewasp("plugin", "call", wat("log"), "filter", "--node", nodes)
    assert max(map(len, ended.out.splitlines())) <= 80
    ended = kubewasp("plugin", "call", *echo("get_config"), "filter", "--config", "word " * 60, "--node", nodes)
    assert max(map(len, ended.out.splitlines())) <= 80
    assert ended.out.count("word") == 60


def test_table_shows_answers(kubewasp: Kubewasp) -> None:
    out = kubewasp("plugin", "call", wat("postfilter"), "postfilter").out
    assert "node-2 (override)" in out
    assert "only node-1, node-3" in kubewasp("plugin", "call", wat("prefilter"), "prefilter").out
    assert "Node, Pod" in kubewasp("plugin", "call", wat("enqueue"), "enqueue").out
    assert "1500 ms" in kubewasp("plugin", "call", wat("permit"), "permit", "--global", "timeout=1500").out
    assert " -5 " in kubewasp("plugin", "call", wat("score"), "score", "--global", "points=-5").out


def test_table_shows_log_lines_with_their_severity(kubewasp: Kubewasp) -> None:
    ended = kubewasp("plugin", "call", wat("log"), "filter", "--global", "severity=2")
    assert ended.err == ""
    assert ended.out.count("filter     E         hello") == 3


def test_table_shows_recorded_events(kubewasp: Kubewasp, write: Write) -> None:
    out = kubewasp("plugin", "call", wat("events"), "filter", "--pod", write("pod.yaml", POD)).out
    assert out.count("filter    Normal  Considered  looked at node-1") == 3


def test_table_shows_what_the_guest_printed(kubewasp: Kubewasp) -> None:
    guest = wat_text("""
        (module
          (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
          (memory (export "memory") 1)
          (data (i32.const 0) "\\10\\00\\00\\00\\0f\\00\\00\\00")
          (data (i32.const 16) "printed to host")
          (func (export "reserve") (result i32)
            (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 64))))
    """)
    assert "reserve     printed to host" in kubewasp("plugin", "call", guest, "reserve").out


def test_control_characters_of_a_guest_do_not_reach_the_terminal(kubewasp: Kubewasp) -> None:
    guest = wat_text("""
        (module
          (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
          (import "k8s.io/scheduler" "result.nominated_node_name" (func $nominate (param i32 i32)))
          (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
          (memory (export "memory") 1)
          (data (i32.const 0) "\\1b[31mred\\07\\0d\\7f\\c2\\9b[bold]")
          (func (export "filter") (result i32) (i32.const 0))
          (func (export "postfilter") (result i64)
            (call $reason (i32.const 0) (i32.const 19))
            (call $nominate (i32.const 0) (i32.const 19))
            (call $log (i32.const 2) (i32.const 0) (i32.const 19))
            (i64.const 2)))
    """)
    ended = kubewasp("plugin", "call", guest, "postfilter")
    assert (ended.code, ended.err) == (0, "")
    assert all(character.isprintable() or character == "\n" for character in ended.out)
    assert ended.out.replace("\n", "").replace(" ", "").count("\\x1b[31mred\\x07\\x0d\\x7f\\x9b[bold]") >= 1
