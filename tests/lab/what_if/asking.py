"""Small clusters for what-if questions, made of the one-line objects of `simulating`."""

from collections.abc import Sequence
from typing import Any

from kubewasp.lab.experiments.experiment import Candidate
from kubewasp.lab.what_if.what_if_trial import Trial
from kubewasp.scheduler.attempt import AttemptListener
from kubewasp.scheduler.configuration import configure
from kubewasp.simulation.simulator import SimulationInput
from tests.simulation.simulating import Object, added, owned_by, pod, spec
from tests.simulation.simulating import workload as any_workload

SETTINGS, ADDED = configure(None)
CANDIDATE = Candidate("default", SETTINGS, ADDED)


def given(*objects: Object) -> SimulationInput:
    return SimulationInput(added(*objects), None, 0, real_entropy=False, start_time=0.0)


def asking(*objects: Object, listeners: Sequence[AttemptListener] = ()) -> Trial:
    return Trial(given(*objects), CANDIDATE, listeners=listeners)


def workload(kind: str, name: str, replicas: int | None = None, *, cpu: str = "1", **more: Any) -> Object:
    """`more` are fields of the spec of its pods."""
    return any_workload(kind, name, replicas, template=spec(cpu, **more))


def budget(app: str, name: str = "", **limits: Any) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name or app},
        "spec": {"selector": {"matchLabels": {"app": app}}, **limits},
    }


def owned(name: str, kind: str, owner: str, on: str = "") -> Object:
    """A pod of a controller outside the input."""
    return owned_by(kind, owner, pod(name, on=on, labels={"app": owner}, cpu="1"))
