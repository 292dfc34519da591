"""Allowed disruptions of budgets in an embedded cluster."""

from dataclasses import replace
from typing import Any

import pytest

from kubewasp.k8s.pods import Pod, PodParser
from kubewasp.simulation.disruption_controller import DisruptionController
from kubewasp.state.object_kinds import DISRUPTION_BUDGET
from kubewasp.state.object_store import ObjectStore

PARSER = PodParser()


def budget(**spec: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "web"}}
    return {"kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": {"selector": selector, **spec}}


def pod(name: str, node: str = "n", app: str = "web", namespace: str = "default") -> Pod:
    metadata = {"name": name, "namespace": namespace, "labels": {"app": app}}
    return PARSER.parse({"metadata": metadata, "spec": {"nodeName": node}})


def allowed(store: ObjectStore) -> int:
    return int(store.get(DISRUPTION_BUDGET, "b", "default").disruptions_allowed)


def watching(manifest: dict[str, Any], *pods: Pod) -> tuple[ObjectStore, DisruptionController]:
    store = ObjectStore()
    store.put(manifest)
    controller = DisruptionController(store)
    controller.take(manifest, pods)
    return store, controller


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 3}, 2),
        ({"minAvailable": 9}, 0),
        ({"minAvailable": "50%"}, 2),  # of 6 pods, 3 must run, and 5 do
        ({"minAvailable": "51%"}, 1),  # rounded up to 4
        ({"maxUnavailable": 1}, 0),  # one is not running already
        ({"maxUnavailable": 2}, 1),
        ({"maxUnavailable": "50%"}, 2),
        ({"maxUnavailable": "9" * 5000 + "%"}, 0),  # no percentage
        ({}, 4),
    ],
)
def test_the_budget_is_what_runs_beyond_what_must(spec: dict[str, Any], expected: int) -> None:
    pods = [pod(f"p{number}") for number in range(5)] + [pod("pending", node="")]
    store, _ = watching(budget(**spec), *pods, pod("other", app="db"), pod("elsewhere", namespace="far"))
    assert allowed(store) == expected


def test_it_follows_pods_that_come_and_go() -> None:
    store, controller = watching(budget(minAvailable=1))
    waiting = pod("a", node="")
    controller.moved(None, waiting)
    assert allowed(store) == 0
    controller.moved(waiting, replace(waiting, node="n"))
    controller.moved(None, pod("b"))
    assert allowed(store) == 1
    controller.moved(pod("b"), None)
    assert allowed(store) == 0


def test_a_status_that_is_given_stays() -> None:
    store, controller = watching(budget(minAvailable=1) | {"status": {"disruptionsAllowed": 7}})
    controller.moved(None, pod("a"))
    assert allowed(store) == 7


def test_a_budget_that_is_gone_is_not_written_again() -> None:
    store, controller = watching(budget(minAvailable=1))
    store.delete("PodDisruptionBudget", "default", "b")
    controller.drop("default", "b")
    controller.moved(None, pod("a"))
    assert store.get(DISRUPTION_BUDGET, "b", "default") is None


def test_only_changes_are_written() -> None:
    store, controller = watching(budget(minAvailable=1), pod("a"))
    before = store.generation(DISRUPTION_BUDGET)
    controller.moved(None, pod("x", app="db"))
    controller.moved(None, pod("pending", node=""))
    assert store.generation(DISRUPTION_BUDGET) == before


def test_an_unready_pod_is_not_healthy_and_may_go_while_enough_others_are() -> None:
    ready, sick = pod("a"), replace(pod("b"), is_unready=True)
    _, controller = watching(budget(minAvailable=1), ready, sick)
    (state,) = controller.of(ready)
    assert (state.pods, state.healthy, state.desired, state.allowed) == (2, 1, 1, 0)
    assert not state.allows(ready)
    assert state.allows(sick)


def test_an_unready_pod_of_a_broken_budget_may_go_only_by_its_policy() -> None:
    sick = replace(pod("a"), is_unready=True)
    _, controller = watching(budget(minAvailable=1), sick)
    assert not controller.of(sick)[0].allows(sick)
    _, controller = watching(budget(minAvailable=1, unhealthyPodEvictionPolicy="AlwaysAllow"), sick)
    assert controller.of(sick)[0].allows(sick)
