"""Files in examples/: valid, with the documented results."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.guests.build import ROOT

SHOP = ("examples/clusters/shop/nodes.yaml", "examples/clusters/shop/workloads.yaml")


def kubewasp(*arguments: str, warning: str = "") -> str:
    command = [str(Path(sys.executable).parent / "kubewasp"), *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, f"warning: {warning}\n" if warning else "")
    return ended.stdout


def simulated(*arguments: str, warning: str = "") -> Any:
    return json.loads(kubewasp("simulate", *arguments, "-o", "json", warning=warning))


@pytest.fixture(scope="module")
def shop() -> Any:
    return simulated(*SHOP, "--config", "examples/clusters/shop/spot-first.yaml")


def test_the_small_cluster() -> None:
    found = simulated("examples/clusters/small.yaml")
    assert len(found["placements"]) == 5
    assert [item["pod"] for item in found["pending"]] == ["default/huge"]
    assert found["warnings"] == []


def test_the_shop_is_placed_but_for_two_trainings(shop: Any) -> None:
    assert len(shop["nodes"]) == 28
    assert len(shop["placements"]) == 242
    assert all(item["pod"].startswith("default/train-") for item in shop["pending"])
    assert (len(shop["pending"]), shop["preempted"], shop["warnings"]) == (2, [], [])


def test_every_node_of_the_shop_has_its_agent_and_none_too_much(shop: Any) -> None:
    agents = {item["node"] for item in shop["placements"] if item["pod"].startswith("default/agent-")}
    assert agents == {node["name"] for node in shop["nodes"]}
    for node in shop["nodes"]:
        assert all(amount <= node["allocatable"][name] for name, amount in node["after"].items())


def test_the_policy_of_the_shop_prefers_spot_nodes(shop: Any) -> None:
    def on_spot(found: Any) -> int:
        return sum(
            item["pod"].startswith("default/front-") and item["node"].startswith("spot") for item in found["placements"]
        )

    assert on_spot(shop) == 60
    assert on_spot(simulated(*SHOP)) < 60


def test_the_folder_of_the_shop_can_be_given_as_a_whole() -> None:
    warning = "ignored objects of unsupported kinds: 1 KubeSchedulerConfiguration"
    found = simulated("examples/clusters/shop", warning=warning)
    assert len(found["nodes"]) == 28
    assert found["warnings"] == [warning]


def test_the_configuration_with_a_second_scheduler(tmp_path: Path) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web-2"},
        "spec": {"schedulerName": "nodenumber-scheduler", "containers": [{"name": "web"}]},
    }
    path = tmp_path / "pod.json"
    path.write_text(json.dumps(pod))
    arguments = ("examples/clusters/small.yaml", str(path), "--config", "examples/configs/nodenumber.yaml")
    found = simulated(*arguments)
    assert found["placements"] == [{"pod": "default/web-2", "node": "node-2"}]
    assert {item["message"] for item in found["pending"]} == {"no profile has the schedulerName default-scheduler"}


def test_the_manifests_are_a_cluster_too() -> None:
    found = simulated("examples/manifests")
    assert len(found["placements"]) == 1


@pytest.mark.parametrize("guest", sorted(path.name for path in (ROOT / "examples" / "guests").glob("*.wat")))
def test_every_guest_runs(guest: str) -> None:
    found = simulated("examples/clusters/small.yaml", "--plugin", f"examples/guests/{guest}")
    assert len(found["placements"]) == 5
