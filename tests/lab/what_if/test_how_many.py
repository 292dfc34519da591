"""Room for further pods: as many fit as are said to fit, and no more."""

import pytest

from kubewasp.lab.what_if.how_many import Copies, HowMany, RejectionLog, how_many, template_in
from kubewasp.lab.what_if.what_if_errors import WhatIfError
from tests.lab.what_if.asking import asking, workload
from tests.simulation.simulating import Object, added, node, pod, priority_class, settled

NODES = (node("a", cpu="4"), node("b", cpu="2"), node("t", cpu="9", taints=[{"key": "k", "effect": "NoSchedule"}]))


def asked(copied: Object, *objects: Object, at_most: int = 1000, preempts: bool = False) -> HowMany:
    copies = Copies(copied, preempts)
    log = RejectionLog(copies.stem)
    return how_many(asking(*objects, listeners=[log]), copies, log, at_most=at_most)


def test_copies_of_a_pod_are_counted_by_node_with_the_rejections_of_the_next_one() -> None:
    found = asked(pod("web", cpu="1"), *NODES, pod("other", on="a", cpu="1"))
    assert (found.fits, found.by_node, found.is_bounded) == (5, {"a": 3, "b": 2}, False)
    assert [(item.nodes, item.plugin, item.reason) for item in found.rejections] == [
        (2, "NodeResourcesFit", "Insufficient cpu"),
        (1, "TaintToleration", "node(s) had untolerated taint(s)"),
    ]
    assert found.limiting == "cpu"
    assert "preemption" not in found.message


@pytest.mark.parametrize("cpu", ["1", "700m", "3", "5"])
def test_that_many_fit_and_one_more_does_not(cpu: str) -> None:
    found = asked(workload("Deployment", "web", 1, cpu=cpu), *NODES)
    for more in (0, 1):
        pods = [pod(f"p{number}", cpu=cpu) for number in range(found.fits + more)]
        placed = sum(bool(each.node) for each in settled(*NODES, *pods).pods.values())
        assert placed == found.fits


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Job", "ReplicaSet"])
def test_a_workload_of_the_cluster_gets_more_pods_beside_its_own(kind: str) -> None:
    web = workload(kind, "web", 2)
    assert asked(web, *NODES, web).fits == 4


def test_spreading_over_nodes_limits_copies_and_no_resource_does() -> None:
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    found = asked(pod("web", labels={"app": "web"}, affinity=apart), *NODES)
    assert found.fits == 2
    assert found.limiting == ""
    assert "InterPodAffinity" in found.plugins


def test_the_number_of_pods_of_a_node_is_a_limit_too() -> None:
    found = asked(pod("web", cpu="1m"), node("a", pods="7"))
    assert (found.fits, found.limiting) == (7, "pods")


def test_a_bound_ends_the_count() -> None:
    found = asked(pod("web", cpu="1m"), *NODES, at_most=9)
    assert (found.fits, found.is_bounded, found.message) == (9, True, "")


def test_copies_preempt_only_if_that_is_wanted() -> None:
    objects = (node("a", cpu="2"), priority_class("high", 9), workload("Deployment", "low", 2))
    high = pod("vip", cpu="1", priorityClassName="high")
    assert asked(high, *objects).fits == 0
    found = asked(high, *objects, preempts=True)
    assert found.fits == 2
    assert [change["change"] for change in found.as_dict()["preempted"]] == ["displaced", "displaced"]


def test_a_file_must_have_one_pod_or_workload() -> None:
    assert template_in(added(pod("a")), "f")["kind"] == "Pod"
    with pytest.raises(WhatIfError, match="f: expected one Pod or workload, found 2"):
        template_in(added(pod("a"), pod("b")), "f")
    with pytest.raises(WhatIfError, match="one pod per node"):
        template_in(added(workload("DaemonSet", "agent")), "f")
