"""Answer cache for guests with signatures: only changed nodes are evaluated again."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.framework.config.reading import default_config
from kubewasp.scheduler.composition import set_up
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.plugin import WasmPlugin
from tests.guests.build import example, wat_text

# Scores 50 where the last characters of pod and node are the same, rejects nodes ending in 9, and logs each question.
# SIGN is where the signature is set, if at all.
TWINS = """
(module
  (import "k8s.io/scheduler" "currentPod" (func $pod (param i32 i32) (result i32)))
  (import "k8s.io/scheduler" "currentNodeName" (func $name (param i32 i32) (result i32)))
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
  (import "kubewasp/v1" "pod_signature" (func $sign (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "nine")
  (global $last (mut i32) (i32.const 0))
  (func (export "prefilter") (result i32)
    ;; the name is the first field of metadata, the first field of the pod: its length is the sixth byte at most
    (drop (call $pod (i32.const 1024) (i32.const 8192)))
    (global.set $last (call $last_of_name))
    SIGN
    (i32.const 0))
  (func $last_of_name (result i32)
    (local $at i32)
    (local.set $at (i32.const 1025))
    (loop $skip ;; the length of metadata
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $skip (i32.ge_u (i32.load8_u (i32.sub (local.get $at) (i32.const 1))) (i32.const 128))))
    (local.set $at (i32.add (local.get $at) (i32.const 1)))
    (i32.load8_u (i32.add (local.get $at) (i32.load8_u (local.get $at)))))
  (func $last_of_node (result i32)
    (local $len i32)
    (local.set $len (call $name (i32.const 100) (i32.const 200)))
    (call $log (i32.const 0) (i32.const 100) (local.get $len))
    (i32.load8_u (i32.add (i32.const 99) (local.get $len))))
  (func (export "filter") (result i32)
    (if (i32.ne (call $last_of_node) (i32.const 57)) (then (return (i32.const 0))))
    (call $reason (i32.const 0) (i32.const 4))
    (i32.const 2))
  (func (export "score") (result i64)
    (if (result i64) (i32.eq (call $last_of_node) (global.get $last))
      (then (i64.const 0x3200000000)) (else (i64.const 0)))))
"""
SIGNED = TWINS.replace("SIGN", "(call $sign (global.get $last) (i32.const 0))")
UNSIGNED = TWINS.replace("SIGN", "")


def node(name: str, **labels: str) -> dict[str, Any]:
    allocatable = {"cpu": "8", "memory": "32Gi", "pods": "100"}
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}}


def pod(name: str) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def cluster_with(guest: Path, nodes: int = 6) -> EmbeddedCluster:
    cluster = EmbeddedCluster(set_up(default_config().with_wasm_plugin("policy", str(guest))))
    for number in range(nodes):
        cluster.apply(node(f"node-{number}"))
    return cluster


def scheduled(cluster: EmbeddedCluster, *names: str) -> list[str]:
    for name in names:
        cluster.apply(pod(name))
    cluster.settle()
    return [cluster.pods[f"default/{name}"].node for name in names]


@pytest.fixture
def asked(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """The nodes that the guest was asked about since the list was last cleared."""
    found: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record.getMessage().removeprefix("policy: "))

    logger, listener = logging.getLogger("kubewasp.guest"), Listener()
    caplog.set_level(logging.INFO, logger.name)
    logger.addHandler(listener)
    yield found
    logger.removeHandler(listener)


def test_a_pod_like_one_before_asks_about_no_node(asked: list[str]) -> None:
    cluster = cluster_with(wat_text(SIGNED))
    assert scheduled(cluster, "a-3") == ["node-3"]
    assert len(asked) == 12  # filter and score, of six nodes
    asked.clear()
    assert scheduled(cluster, "b-3", "c-3") == ["node-3", "node-3"]
    assert asked == []


def test_another_signature_is_asked_for_itself(asked: list[str]) -> None:
    cluster = cluster_with(wat_text(SIGNED))
    assert scheduled(cluster, "a-3", "a-4") == ["node-3", "node-4"]
    assert len(asked) == 24
    assert scheduled(cluster, "b-3", "b-4") == ["node-3", "node-4"]
    assert len(asked) == 24


def test_only_a_node_that_changed_is_asked_about_again(asked: list[str]) -> None:
    cluster = cluster_with(wat_text(SIGNED))
    scheduled(cluster, "a-3")
    asked.clear()
    cluster.apply(node("node-2", colour="red"))
    cluster.apply(node("node-7"))
    assert scheduled(cluster, "b-3") == ["node-3"]
    assert sorted(set(asked)) == ["node-2", "node-7"]


def test_without_a_signature_every_node_is_asked_about(asked: list[str]) -> None:
    cluster = cluster_with(wat_text(UNSIGNED))
    scheduled(cluster, "a-3", "b-3")
    assert len(asked) == 24


def test_shared_verdicts_have_their_reasons() -> None:
    cluster = cluster_with(wat_text(SIGNED), nodes=0)
    for name in ("node-9", "other-9"):
        cluster.apply(node(name))
    scheduled(cluster, "a-3", "b-3")
    messages = [queued.message for queued in cluster.scheduler.queue]
    assert len(messages) == 2
    assert all(message.startswith("0/2 nodes are available: 2 nine.") for message in messages)


def test_a_signature_of_the_start_function_holds_for_all_pods() -> None:
    guest = Guest.load(example("prefer_label"), config="tier=gold")
    assert guest.signature == 1
    cluster = EmbeddedCluster(set_up(default_config().with_wasm_plugin("policy", str(example("prefer_label")))))
    (framework,) = cluster.scheduler.frameworks.values()
    plugin = framework.plugins["policy"]
    assert isinstance(plugin, WasmPlugin)
    for number in range(4):
        cluster.apply(node(f"node-{number}"))
    scheduled(cluster, "a", "b", "c", "d", "e")
    assert plugin.guest.stats.created == 1


def test_a_guest_that_fails_is_not_remembered() -> None:
    trapping = SIGNED.replace('(func (export "score") (result i64)', '(func (export "score") (result i64) unreachable')
    cluster = cluster_with(wat_text(trapping))
    scheduled(cluster, "a-3", "b-3")
    messages = [queued.message for queued in cluster.scheduler.queue]
    assert all("wasm: score error" in message for message in messages)
    assert len(messages) == 2


def test_a_score_with_an_error_is_told_for_every_pod() -> None:
    failing = SIGNED.replace("(else (i64.const 0))", "(else (i64.const 1))")
    cluster = cluster_with(wat_text(failing))
    scheduled(cluster, "a-3", "b-3")
    messages = [queued.message for queued in cluster.scheduler.queue]
    assert len(messages) == 2
    assert all('plugin "policy" failed with: Error' in message for message in messages)


def test_what_is_said_of_other_pods_ends_the_sharing() -> None:
    guest = Guest.load(wat_text(SIGNED.replace('(export "filter")', '(export "filter") (export "addpod")')))
    with guest.cycle(pod("a-3"), [node("node-1")]) as cycle:
        cycle.prefilter()
        assert cycle.signature == ord("3")
        cycle.add_pod(pod("other"), "node-1")
        assert cycle.signature == 0


def test_a_signature_is_that_of_the_last_prefilter() -> None:
    guest = Guest.load(wat_text(SIGNED))
    nodes = [node("node-1")]
    for name in ("a-3", "a-4"):
        with guest.cycle(pod(name), nodes) as cycle:
            assert cycle.signature == 0
            cycle.prefilter()
            assert cycle.signature == ord(name[-1])


def test_many_different_reasons_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubewasp.wasm.answer_cache._MOST_VERDICTS", 1)
    cluster = cluster_with(wat_text(SIGNED), nodes=0)
    cluster.apply(node("node-9"))
    scheduled(cluster, "a-3", "b-3", "a-4")
    (framework,) = cluster.scheduler.frameworks.values()
    plugin = framework.plugins["policy"]
    assert isinstance(plugin, WasmPlugin)
    assert len(plugin._cached._statuses) <= 3
    assert all("1 nine" in queued.message for queued in cluster.scheduler.queue)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("pnd"), st.integers(0, 9), st.integers(0, 9)), max_size=25))
def test_sharing_changes_no_placement(steps: list[tuple[str, int, int]]) -> None:
    """Pods (p), nodes that come or change (n) and go (d), on a guest that signs and on one that does not."""
    placements = []
    for text in (SIGNED, UNSIGNED):
        cluster = cluster_with(wat_text(text), nodes=3)
        for count, (what, first, second) in enumerate(steps):
            if what == "p":
                scheduled(cluster, f"pod-{count}-{first}")
            elif what == "n":
                cluster.apply(node(f"node-{first}", value=f"v{second}"))
            else:
                cluster.delete("Node", "", f"node-{first}")
        placements.append({key: found.node for key, found in cluster.pods.items()})
    assert placements[0] == placements[1]


# ---------------------------------------------------------------------- prescore


# As TWINS, but the pod is looked at in prescore, which logs that it was called; EXTRA is for more hooks.
PREPARED = (
    SIGNED.replace("(global.set $last (call $last_of_name))\n    ", "(global.set $seen (call $last_of_name))\n    ")
    .replace("(call $sign (global.get $last)", "(call $sign (global.get $seen)")
    .replace(
        '(func (export "score")',
        """(global $seen (mut i32) (i32.const 0))
  (data (i32.const 16) "prescore")
  (func (export "prescore") (result i32)
    (call $log (i32.const 0) (i32.const 16) (i32.const 8))
    (global.set $last (call $last_of_name))
    (i32.const 0))
  EXTRA
  (func (export "score")""",
    )
)


def test_prescore_is_called_when_a_node_has_to_be_scored(asked: list[str]) -> None:
    cluster = cluster_with(wat_text(PREPARED.replace("EXTRA", "")))
    assert scheduled(cluster, "a-3") == ["node-3"]
    assert asked.count("prescore") == 1
    asked.clear()
    assert scheduled(cluster, "b-3", "c-3") == ["node-3", "node-3"]
    assert asked == [], "everything is known of such pods"
    assert scheduled(cluster, "d-4") == ["node-4"]
    assert asked.count("prescore") == 1, "another kind of pod"
    asked.clear()
    cluster.delete("Node", "", "node-3")
    cluster.apply(node("node-13"))
    assert scheduled(cluster, "e-3") == ["node-13"], "prepared before it is asked about the new node"
    assert asked.count("prescore") == 1


@pytest.mark.parametrize("hook", ["normalizescore", "reserve", "permit", "prebind", "postbind"])
def test_prescore_is_called_for_every_pod_where_a_later_hook_may_need_it(hook: str, asked: list[str]) -> None:
    result = {"postbind": "", "permit": "(result i64)"}.get(hook, "(result i32)")
    value = {"postbind": "", "permit": "(i64.const 0)"}.get(hook, "(i32.const 0)")
    cluster = cluster_with(wat_text(PREPARED.replace("EXTRA", f'(func (export "{hook}") {result} {value})')))
    scheduled(cluster, "a-3", "b-3", "c-3")
    assert asked.count("prescore") == 3
