"""Fixed clusters for both schedulers: rare decisions and texts, with expected results."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from tests.e2e.kubewasp import condition
from tests.e2e.parity.comparing import Tally, compare_decisions, compare_runs
from tests.e2e.parity.drawn import Drawn
from tests.e2e.parity.looking import LookingScheduler
from tests.e2e.parity.pods import POLITE
from tests.e2e.parity.probing import Verdict
from tests.e2e.parity.schedulers import Schedulers
from tests.e2e.parity.settings import SCHEDULER, profile_of
from tools.testbed.client import Object
from tools.testbed.cluster import pod
from tools.testbed.nodes import node

_DEFAULTS: Final = profile_of(1)
HIGH: Final = "parity-high"
LOW: Final = "parity-low"


def probe(name: str = "probe", **fields: Any) -> Object:
    return pod(name, scheduler=SCHEDULER, **fields)


def running(name: str, where: str, *, priority: str = "", day: int = 1, **fields: Any) -> Object:
    made = pod(name, nodeName=where, priorityClassName=priority, **fields)
    return made | {"status": {"phase": "Running", "startTime": f"2026-01-{day:02}T00:00:00Z"}}


def budget(name: str, labels: dict[str, str], allowed: int) -> Object:
    healthy = {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1, "observedGeneration": 1}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed, **healthy},
    }


def two_nodes() -> list[Object]:
    return [node(name, capacity={"cpu": "4"}) for name in ("one", "two")]


@dataclass(frozen=True, slots=True)
class Case:
    """A pod, the cluster it is tried on, and what must come of it; without a text, any will do."""

    objects: Sequence[Object]
    pod: Object
    text: str = ""
    node: str = ""  # that the pod is nominated to
    victims: Sequence[str] = field(default_factory=list)


CASES: Final = {
    "nobody is protected on the node that is taken": Case(
        [
            *two_nodes(),
            running("guarded", "one", cpu="3", labels={"app": "guarded"}),
            running("free", "two", cpu="3", priority=LOW),
            budget("budget", {"app": "guarded"}, allowed=0),
        ],
        probe(cpu="3", priorityClassName=HIGH),
        "0/2 nodes are available: 2 Insufficient cpu.",
        node="two",
        victims=["free"],
    ),
    "the most important victim is as unimportant as can be": Case(
        [*two_nodes(), running("important", "one", cpu="3", priority=LOW), running("other", "two", cpu="3")],
        probe(cpu="3", priorityClassName=HIGH),
        node="two",
        victims=["other"],
    ),
    "few victims are better than many": Case(
        [
            *two_nodes(),
            *(running(f"small-{number}", "one", cpu="1") for number in range(4)),
            *(running(f"large-{number}", "two", cpu="2") for number in range(2)),
        ],
        probe(cpu="3", priorityClassName=HIGH),
        node="two",
        victims=["large-0", "large-1"],
    ),
    "who began last has to go": Case(
        [*two_nodes(), running("old", "one", cpu="3", day=1), running("young", "two", cpu="3", day=2)],
        probe(cpu="3", priorityClassName=HIGH),
        node="two",
        victims=["young"],
    ),
    "who is important or old is spared": Case(
        [
            node("one", capacity={"cpu": "4"}),
            running("important", "one", cpu="1", priority=LOW, day=9),
            running("old", "one", cpu="1", day=1),
            running("young", "one", cpu="1", day=8),
            running("tiny", "one", cpu="10m", day=9),
        ],
        probe(cpu="1500m", priorityClassName=HIGH),
        node="one",
        victims=["young"],
    ),
    "host ports are freed": Case(
        [
            node("one"),
            running(
                "holder",
                "one",
                containers=[{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}],
            ),
        ],
        probe(
            containers=[{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}],
            priorityClassName=HIGH,
        ),
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
        node="one",
        victims=["holder"],
    ),
    "a polite pod preempts nobody": Case(
        [node("one", capacity={"cpu": "4"}), running("other", "one", cpu="3")],
        probe(cpu="3", priorityClassName=POLITE),
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: not eligible due to preemptionPolicy=Never.",
    ),
    "nobody is less important": Case(
        [node("one", capacity={"cpu": "4"}), running("other", "one", cpu="3")],
        probe(cpu="3"),
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
    ),
    "preemption does not help": Case(
        [node("one", capacity={"cpu": "4"}), running("other", "one", cpu="1")],
        probe(cpu="5", priorityClassName=HIGH),
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    ),
    "there are no nodes": Case([], probe(), "no nodes available to schedule pods"),
    "terms that no node can match": Case(
        [node("one")],
        probe(
            affinity={
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {
                                "matchFields": [
                                    {"key": "metadata.name", "operator": "In", "values": [name]}
                                    for name in ("one", "two")
                                ]
                            }
                        ]
                    }
                }
            }
        ),
        "0/1 nodes are available: pod affinity terms conflict. not found",
    ),
    "a claim that is not there": Case(
        [node("one")],
        probe(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}]),
        '0/1 nodes are available: persistentvolumeclaim "missing" not found. not found',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_both_schedulers_do_what_is_expected(name: str, schedulers: Schedulers, tally: Tally) -> None:
    case = CASES[name]
    drawn = _drawn(schedulers, case.objects, [case.pod])
    schedulers.world.make(drawn)
    looking = LookingScheduler(schedulers.world.listed(), _DEFAULTS)
    (theirs,), scored = schedulers.ask_kube_scheduler(drawn.probes, _DEFAULTS)
    (ours,) = schedulers.ask_kubewasp(drawn.probes, _DEFAULTS)
    decision = looking.decide(theirs.probe)

    assert list(compare_decisions(theirs, scored[theirs.key], decision, tally)) == []
    assert list(compare_runs(theirs, ours, decision, tally)) == []
    for verdict in (theirs, ours):
        assert not case.text or verdict.message == verdict.event == case.text
        assert (verdict.nominated, _names(verdict)) == (case.node, set(case.victims))


def test_a_gated_pod_is_left_alone_by_both(schedulers: Schedulers) -> None:
    gated = probe("gated", schedulingGates=[{"name": "example.com/gate"}])
    drawn = _drawn(schedulers, [node("one"), gated], [probe()])
    world = schedulers.world
    world.make(drawn)

    def told() -> Object:
        return condition(world.homes[0].get("Pod", "gated"))

    before = told()
    assert before["reason"] == "SchedulingGated"
    _, scored = schedulers.ask_kube_scheduler(drawn.probes, _DEFAULTS)
    assert set(scored) == {(world.namespaces[0], "probe")}
    schedulers.ask_kubewasp(drawn.probes, _DEFAULTS)
    assert told() == before


def _drawn(schedulers: Schedulers, objects: Sequence[Object], probes: Sequence[Object]) -> Drawn:
    """In the first namespace, where they belong to one."""
    client, namespace = schedulers.world.client, schedulers.world.namespaces[0]

    def placed(made: Object) -> Object:
        if not client.namespaced(made["kind"], made["apiVersion"]):
            return made
        return {**made, "metadata": {**made["metadata"], "namespace": namespace}}

    return Drawn(0, [placed(made) for made in objects], [placed(made) for made in probes])


def _names(verdict: Verdict) -> set[str]:
    return {name for _, name in verdict.victims}
