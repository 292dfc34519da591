"""Probes, one by one, for a scheduler without the right to bind: its result for each, from the API server.

The scheduler's user may read everything, write the status of pods, and delete pods; neither bind nor touch volumes.
It decides about a pod, is refused, and releases it: the cluster is unchanged for the next pod. Preempted pods are
created again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.e2e.kubewasp import SOON, condition
from tests.e2e.parity.world import World
from tools.testbed.client import Object
from tools.testbed.waiting import wait_until

UNSCHEDULABLE: Final = "Unschedulable"
ERROR: Final = "SchedulerError"
Key = tuple[str, str]  # namespace, name

RIGHTS: Final[Sequence[Mapping[str, Sequence[str]]]] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["patch", "update"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]},
    {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
)


@dataclass(slots=True)
class Verdict:
    """A scheduler's result for a pod. `expected` is the node it nominated before slow PreBind steps."""

    probe: Object
    reason: str = ""
    message: str = ""
    event: str = ""
    nominated: str = ""
    expected: str = ""
    victims: set[Key] = field(default_factory=set)

    @property
    def key(self) -> Key:
        return key_of(self.probe)


def key_of(manifest: Object) -> Key:
    return manifest["metadata"]["namespace"], manifest["metadata"]["name"]


def ask(world: World, probes: Sequence[Object]) -> list[Verdict]:
    """Gives the pods to the scheduler that runs, one by one."""
    with world.client.watch("Pod") as changes:
        verdicts = [_ask(world, probe, changes) for probe in probes]
    _add_events(world, verdicts)
    return verdicts


def _ask(world: World, probe: Object, changes: Iterator[tuple[str, Object]]) -> Verdict:
    verdict = Verdict(world.client.create(probe))
    leaving: set[Key] = set()
    is_over = False
    for change, pod in changes:
        key = key_of(pod)
        if key == verdict.key:
            is_over = is_over or (change == "MODIFIED" and _is_over(verdict, pod))
        elif change == "DELETED" and world.is_running(key):
            verdict.victims.add(key)
        elif condition(pod, "DisruptionTarget"):
            leaving.add(key)
        if is_over and leaving <= verdict.victims:
            break
    _remove(world, verdict.key, changes)
    world.restore(verdict.victims)
    return verdict


def _is_over(verdict: Verdict, pod: Object) -> bool:
    """Whether the scheduler is done with the pod: nothing helps it, or the API server has refused to bind it.

    A pod that others make way for is tried again when they are gone.
    """
    told, nominated = condition(pod), pod["status"].get("nominatedNodeName", "")
    if told.get("status") != "False":
        verdict.expected = nominated or verdict.expected
        return False
    if not verdict.reason:
        verdict.reason, verdict.message, verdict.nominated = told["reason"], told["message"], nominated
    return told["reason"] == ERROR or not verdict.nominated


def _remove(world: World, key: Key, changes: Iterator[tuple[str, Object]]) -> None:
    namespace, name = key
    world.client.delete("Pod", name, namespace=namespace)
    for change, pod in changes:
        if change == "DELETED" and key_of(pod) == key:
            return


def _add_events(world: World, verdicts: Sequence[Verdict]) -> None:
    """The first event about each pod; they are written while the scheduler goes on."""
    waiting = {verdict.probe["metadata"]["uid"]: verdict for verdict in verdicts}

    def all_told() -> bool:
        for event in sorted(world.events(), key=lambda event: str(event["eventTime"])):
            verdict = waiting.pop(event["regarding"].get("uid", ""), None)
            if verdict is not None:
                verdict.event = event["note"]
        return not waiting

    def missing() -> list[Any]:
        return [verdict.key for verdict in waiting.values()]

    wait_until(all_told, SOON, "an event about each pod", missing)
    world.forget_events()
