"""Simulation from Python."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewasp.errors import KubewaspError
from kubewasp.simulation import Placement, simulate
from tests.guests.build import wat_text


def node(name: str) -> dict[str, Any]:
    amounts = {"cpu": "1", "memory": "1Gi", "pods": "10"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": amounts}}


def pod(name: str, cpu: str = "1", priority: int = 0) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]
    spec = {"containers": containers, "priority": priority}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_pods_are_placed_until_no_node_is_left() -> None:
    result = simulate([node("a"), pod("p"), pod("q")], start_time=0.0)
    assert result.placements == (Placement("default/p", "a", 0.0),)
    assert (result.node_of("default/p"), result.node_of("default/q")) == ("a", None)
    assert [item.pod for item in result.pending] == ["default/q"]
    assert result.pending[0].message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert result.warnings == ()


def test_manifests_may_be_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "pods").mkdir()
    (tmp_path / "nodes.yaml").write_text(yaml.safe_dump(node("a")))
    (tmp_path / "pods" / "p.yaml").write_text(yaml.safe_dump(pod("p")))
    assert simulate([tmp_path / "nodes.yaml", str(tmp_path / "pods")]).node_of("default/p") == "a"


def test_lists_are_taken_apart_and_unknown_kinds_are_warned_of() -> None:
    items = {"apiVersion": "v1", "kind": "List", "items": [node("a"), {"apiVersion": "x.io/v1", "kind": "Widget"}]}
    result = simulate([items, pod("p")])
    assert result.node_of("default/p") == "a"
    assert result.warnings == ("ignored objects of unsupported kinds: 1 Widget",)


def test_preempted_pods_have_their_preemptor() -> None:
    low = pod("low")
    low["spec"]["nodeName"] = "a"
    result = simulate([node("a"), low, pod("high", priority=5)])
    assert [(item.pod, item.by, item.node) for item in result.preempted] == [("default/low", "default/high", "a")]
    assert result.node_of("default/high") == "a"


def test_wasm_plugins_are_named_and_configured() -> None:
    nodes = [node(f"node-{digit}") for digit in range(10)]
    guest = str(Path(__file__).parents[2] / "examples" / "guests" / "nodenumber.wat")
    result = simulate([*nodes, pod("p-7")], plugins={"nodenumber": guest})
    assert result.node_of("default/p-7") == "node-7"


def test_an_invalid_manifest_is_named_by_its_place() -> None:
    with pytest.raises(KubewaspError, match="manifest 2: kind is missing"):
        simulate([node("a"), {"metadata": {}}])


def test_the_configuration_of_an_unknown_plugin_is_refused() -> None:
    with pytest.raises(KubewaspError, match="plugin_configs: x: there is no plugin of that name"):
        simulate([], plugin_configs={"x": "1"})


def test_errors_of_plugins_are_in_the_result_by_cause() -> None:
    guest = wat_text('(module (memory (export "memory") 1) (func (export "filter") (result i32) unreachable))', "trap")
    result = simulate([node("a"), pod("p"), pod("q")], plugins={"trap": str(guest)})
    [cause] = result.errors
    assert (cause.pods, cause.attempts) == (("default/p", "default/q"), 6)
    assert "unreachable" in cause.message
    assert [(item.pod, item.is_error) for item in result.pending] == [("default/p", True), ("default/q", True)]
    assert simulate([node("a"), pod("p", cpu="9")]).pending[0].is_error is False
