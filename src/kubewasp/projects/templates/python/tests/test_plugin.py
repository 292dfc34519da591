import pytest
from kubewasp_sdk import ConfigError, NodeInfo
from kubewasp_sdk.testing import make_node, make_pod, run

from plugin import PreferLabel


def disks() -> list[NodeInfo]:
    return [
        make_node("nvme-1", labels={"disktype": "nvme"}),
        make_node("ssd-1", labels={"disktype": "ssd"}),
        make_node("plain-1"),
    ]


def test_the_best_disk_is_preferred() -> None:
    outcome = run(PreferLabel, make_pod("web"), disks())
    assert outcome.node == "nvme-1"
    assert outcome.scores == {"nvme-1": 100, "ssd-1": 50, "plain-1": 0}


def test_closed_nodes_take_pods_of_kube_system_only() -> None:
    config = {"closed": ["nvme"]}
    web = run(PreferLabel, make_pod("web"), disks(), config=config)
    agent = run(PreferLabel, make_pod("agent", namespace="kube-system"), disks(), config=config)
    assert web.rejected == {"nvme-1": "nodes with disktype=nvme are closed"}
    assert (web.node, agent.node) == ("ssd-1", "nvme-1")


def test_a_bad_configuration_is_refused() -> None:
    with pytest.raises(ConfigError, match="label must not be empty"):
        run(PreferLabel, make_pod(), disks(), config={"label": ""})
    with pytest.raises(ConfigError, match="lable: unknown field"):
        run(PreferLabel, make_pod(), disks(), config={"lable": "disktype"})
