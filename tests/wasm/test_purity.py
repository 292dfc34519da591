"""Pure guests: the same decisions as without the declaration, with few calls; a wrong declaration is found."""

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.framework.config.reading import default_config
from kubewasp.framework.cycle_state import CycleState
from kubewasp.scheduler.composition import set_up
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from kubewasp.wasm.plugin import WasmPlugin
from tests.guests.build import project_guest, wat_text

GUEST = Path(__file__).parents[1] / "sdk" / "go" / "pure"
NEVER = 10**9


def cluster_with(
    nodes: int = 4, check_every: int = NEVER, guest: Callable[[], Path] | None = None, **config: Any
) -> EmbeddedCluster:
    path = project_guest(GUEST) if guest is None else guest()
    chosen = default_config().with_wasm_plugin("policy", str(path), json.dumps(config) if config else "")
    cluster = EmbeddedCluster(set_up(chosen, check_every=check_every))
    for number in range(nodes):
        cluster.apply(node(number))
    return cluster


def node(number: int, size: int = 0, **labels: str) -> dict[str, Any]:
    allocatable = {"cpu": "2", "memory": "32Gi", "pods": "6"}
    metadata = {"name": f"node-{number}", "labels": {"size": str(size), **labels}}
    return {"kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}}


def pod(name: str, tier: str = "", *, least: int = 0, priority: int = 0, cpu: int = 100) -> dict[str, Any]:
    metadata = {"name": name, "labels": {"tier": tier}, "annotations": {"least": str(least)}}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": f"{cpu}m"}}}
    return {"kind": "Pod", "metadata": metadata, "spec": {"containers": [container], "priority": priority}}


def scheduled(cluster: EmbeddedCluster, *pods: dict[str, Any]) -> list[str]:
    for manifest in pods:
        cluster.apply(manifest)
        cluster.settle()
    return [cluster.pods[f"default/{manifest['metadata']['name']}"].node for manifest in pods]


def plugin_of(cluster: EmbeddedCluster) -> WasmPlugin:
    (framework,) = cluster.scheduler.frameworks.values()
    plugin = framework.plugins["policy"]
    assert isinstance(plugin, WasmPlugin)
    return plugin


def fields_of(cluster: EmbeddedCluster) -> tuple[str, ...]:
    purity = plugin_of(cluster).guest.purity
    assert purity is not None
    return purity.fields.names


def refutation(cluster: EmbeddedCluster) -> str:
    purity = plugin_of(cluster).guest.purity
    return "" if purity is None else purity.refutation


@pytest.fixture
def asked(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """Log lines of the guest since the list was last cleared: the names of the nodes that it filtered."""
    found: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record.getMessage().removeprefix("policy: "))

    logger, listener = logging.getLogger("kubewasp.guest"), Listener()
    caplog.set_level(logging.INFO, logger.name)
    logger.addHandler(listener)
    yield found
    logger.removeHandler(listener)


# ---------------------------------------------------------------------- calls


def test_only_the_node_of_the_previous_pod_is_asked_about_again(asked: list[str]) -> None:
    cluster = cluster_with(pure=True)
    scheduled(cluster, pod("a"), pod("b"))  # the second pod is known by all fields that the first one's answers took
    asked.clear()
    (before,) = scheduled(cluster, pod("c"))
    assert len(asked) == 1
    asked.clear()
    scheduled(cluster, pod("d"))
    assert asked == [before]


def test_without_the_declaration_every_node_is_asked_about(asked: list[str]) -> None:
    cluster = cluster_with(pure=False)
    scheduled(cluster, pod("a"), pod("b"), pod("c"))
    assert len(asked) == 12


def test_pods_that_differ_in_what_is_read_do_not_share(asked: list[str]) -> None:
    cluster = cluster_with(pure=True)
    scheduled(cluster, pod("a"), pod("b"))
    asked.clear()
    scheduled(cluster, pod("c", "silver"))
    assert len(asked) == 4
    asked.clear()
    scheduled(cluster, pod("d", least=5, cpu=200))  # read of other tiers and priorities only
    assert len(asked) < 4


def test_a_field_that_is_read_later_counts_from_then_on(asked: list[str]) -> None:
    cluster = cluster_with(pure=True)
    scheduled(cluster, pod("a"), pod("b"))
    assert "metadata.annotations" not in fields_of(cluster)
    scheduled(cluster, pod("c", "gold", least=1), pod("d", "gold", least=1))
    assert "metadata.annotations" in fields_of(cluster)
    for number in range(4):
        cluster.apply(node(number, size=5))
    assert scheduled(cluster, pod("e", "gold", least=6)) == [""]
    assert scheduled(cluster, pod("f", "gold", least=5)) != [""]


def test_what_other_hooks_read_does_not_count() -> None:
    cluster = cluster_with(pure=True, reserve=True)
    scheduled(cluster, pod("a"), pod("b"))
    assert "metadata.name" not in fields_of(cluster)


def test_a_pure_guest_evaluates_all_nodes_and_needs_no_sample() -> None:
    for pure, asking in ((False, (["policy"], ["policy"])), (True, ([], []))):
        (framework,) = cluster_with(pure=pure).scheduler.frameworks.values()
        assert framework.asking_each_node(CycleState()) == asking


FALLBACK = """
(module
  (import "kubewasp/v1" "pure" (func $pure (param i32)))
  (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
  (import "k8s.io/scheduler" "currentNodeName" (func $name (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_initialize") (call $pure (i32.const 0)))
  (func (export "filter") (result i32)
    (call $log (i32.const 0) (i32.const 0) (call $name (i32.const 0) (i32.const 100)))
    (i32.const 0)))
"""


def test_a_guest_that_does_not_report_shares_by_all_but_the_name(asked: list[str]) -> None:
    cluster = cluster_with(guest=lambda: wat_text(FALLBACK))
    scheduled(cluster, pod("a"), pod("b"))
    assert len(asked) == 5
    scheduled(cluster, pod("c", cpu=200))
    assert len(asked) == 9
    scheduled(cluster, pod("d", least=1))
    assert len(asked) == 13


# ---------------------------------------------------------------------- decisions

STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("pod"),
            st.sampled_from(["", "gold", "silver", "skip", "narrow", "never"]),
            st.integers(0, 3),
            st.sampled_from([0, 0, 5]),
            st.sampled_from([100, 900]),
        ),
        st.tuples(st.just("node"), st.integers(0, 5), st.integers(0, 3)),
        st.tuples(st.just("drop"), st.integers(0, 5)),
        st.tuples(st.just("end"), st.integers(0, 20)),
    ),
    max_size=30,
)


def played(cluster: EmbeddedCluster, steps: list[Any]) -> list[Any]:
    """The placements after each step, and at last the messages of the pods that wait."""
    seen = []
    for count, (what, *values) in enumerate(steps):
        if what == "pod":
            tier, least, priority, cpu = values
            cluster.apply(pod(f"pod-{count}", tier, least=least, priority=priority, cpu=cpu))
        elif what == "node":
            cluster.apply(node(values[0], values[1]))
        elif what == "drop":
            cluster.delete("Node", "", f"node-{values[0]}")
        elif f"default/pod-{values[0]}" in cluster.pods:
            cluster.delete("Pod", "default", f"pod-{values[0]}")
        cluster.settle()
        seen.append({key: found.node for key, found in cluster.pods.items()})
    return [*seen, sorted((queued.pod.name, queued.message) for queued in cluster.scheduler.queue)]


@pytest.mark.parametrize(
    "more", [{}, {"extensions": True}, {"normalize": "hook"}, {"normalize": "declared"}, {"reserve": True}]
)
@settings(max_examples=12, deadline=None)
@given(steps=STEPS)
def test_the_declaration_changes_no_decision(more: dict[str, Any], steps: list[Any]) -> None:
    plain = played(cluster_with(nodes=3, pure=False, **more), steps)
    pure = cluster_with(nodes=3, pure=True, **more)
    assert played(pure, steps) == plain
    checked = cluster_with(nodes=3, check_every=1, pure=True, **more)
    assert played(checked, steps) == plain
    assert refutation(pure) == refutation(checked) == ""


# ---------------------------------------------------------------------- checks


@pytest.mark.parametrize("impure", ["counter", "others"])
def test_a_wrong_declaration_is_found_and_ends(impure: str, asked: list[str], caplog: pytest.LogCaptureFixture) -> None:
    cluster = cluster_with(check_every=1, pure=True, impure=impure)
    scheduled(cluster, pod("a"), pod("b"), pod("c"))
    assert "declares itself pure, but score of node node-" in refutation(cluster)
    (record,) = [record for record in caplog.records if "not pure" in record.getMessage()]
    assert record.levelno == logging.ERROR
    asked.clear()
    scheduled(cluster, pod("d"))
    assert len(asked) == 4, "every node, as without the declaration"
    assert plugin_of(cluster).asks_each_node(CycleState())


def test_a_sample_of_pods_is_checked(asked: list[str]) -> None:
    cluster = cluster_with(nodes=3, check_every=4, pure=True)
    for number in range(3):
        cluster.apply(node(number))
    counts = []
    for number in range(8):
        asked.clear()
        scheduled(cluster, pod(f"p-{number}", cpu=1))
        counts.append(len(asked))
    assert counts[4:7] == [1, 1, 1]
    assert counts[3::4] == [4, 4], "the changed node, and then all of them for the check"
