"""Help for pending pods: hints of single nodes put together."""

from typing import Any

import pytest

from kubewasp.console.views.help_texts import help_texts
from tests.console.sources import ran
from tests.simulation.simulating import node, pod, priority_class


def helped(*objects: Any, key: str = "default/web", at: int | None = None) -> list[str]:
    run = ran(*objects)
    return help_texts(run.study.decide(run.history.picture_at(at), key))


def gpus(name: str, count: int, **more: Any) -> Any:
    found = node(name, **more)
    found["status"]["allocatable"]["example.com/gpu"] = str(count)
    return found


def asking(name: str, count: int, **more: Any) -> Any:
    found = pod(name, **more)
    found["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = str(count)
    found["spec"]["containers"][0]["resources"]["limits"] = {"example.com/gpu": str(count)}
    return found


def test_equal_changes_of_nodes_are_one() -> None:
    nodes = [gpus(f"gpu-{number}", 2) for number in range(12)]
    assert helped(*nodes, node("cpu", cpu="50m"), asking("web", 4)) == [
        "2 more example.com/gpu (allocatable 2) on any of 12 nodes",
        "50m more cpu (allocatable 50m) and 4 more example.com/gpu (allocatable 0) on cpu",
    ]


def test_the_least_of_different_amounts_is_named() -> None:
    nodes = [node(f"n{number}", cpu=str(number)) for number in range(1, 6)]
    assert helped(*nodes, pod("web", cpu="7")) == [
        "2 more cpu (allocatable 5) on n5, or larger amounts on 4 other nodes"
    ]


def test_fewer_changes_come_first() -> None:
    taint = {"key": "team", "value": "a", "effect": "NoSchedule"}
    found = helped(node("t", cpu="1", taints=[taint]), node("b", cpu="1"), pod("web", cpu="2"))
    assert found[0] == "1 more cpu (allocatable 1) on b"
    assert found[1].startswith("toleration of team=a:NoSchedule and 1 more cpu")


def test_a_pod_that_fits_needs_nothing() -> None:
    assert helped(node("a"), pod("web"), at=0) == ["nothing: it fits on a, and waits for its next attempt"]


@pytest.mark.parametrize(("victims", "text"), [(1, "1 pod is"), (2, "2 pods are")])
def test_a_preemption_is_help(victims: int, text: str) -> None:
    lows = [pod(f"low-{number}", on="a", cpu=f"{4 // victims}") for number in range(victims)]
    high = pod("web", cpu="4", priorityClassName="high")
    found = helped(node("a"), priority_class("high", 10), *lows, high, at=0)
    assert found[0] == f"nothing: it will have room on a once {text} preempted"
