"""One drawn cluster: its objects, and the probe pods."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.e2e.parity import machines, pods, volumes
from tests.e2e.parity.dice import POD_LABELS, Dice
from tests.e2e.parity.settings import SCHEDULER
from tools.testbed.client import Object

_OWNERS: Final = (("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet"), ("v1", "ReplicationController"))
_OWNED: Final = {"app": "cache", "version": "1"}


@dataclass(frozen=True, slots=True)
class Drawn:
    """`objects` in the order in which they are made; pods that run are among them. A status is written afterwards."""

    seed: int
    objects: Sequence[Object]
    probes: Sequence[Object]


def draw(seed: int, namespaces: Sequence[str], probes: int) -> Drawn:
    """The first namespace has the claims."""
    dice = Dice(f"cluster {seed}")
    nodes = machines.draw_nodes(dice, f"s{seed}")
    names = [node["metadata"]["name"] for node in nodes]
    storage = volumes.draw_storage(dice, namespaces[0], names)
    claims = volumes.claims_in(storage)
    attached = [found["metadata"]["name"] for found in storage if found["kind"] == "PersistentVolume"]
    crowded = dice.chance(0.4)  # full of pods that others may drive away
    count = dice.number(3, 6) * len(names) if crowded else dice.number(0, 3 * len(names))
    running = [_running(dice, number, namespaces, names, claims, crowded=crowded) for number in range(count)]
    _leave_ports_to_one(running)
    nominees = [_nominee(dice, number, namespaces) for number in range(dice.number(0, 2))]
    objects: list[Object] = [
        *storage,
        *nodes,
        *machines.draw_csi_nodes(dice, names),
        *(volumes.attachment(dice, number, names, attached) for number in range(dice.number(0, 3))),
        *_budgets(dice, namespaces),
        *running,
        *nominees,
    ]
    asked = [_probe(dice, number, namespaces, claims, crowded=crowded) for number in range(probes)]
    return Drawn(
        seed,
        [_filled(dice, made, names, namespaces) for made in objects],
        [_filled(dice, made, names, namespaces) for made in asked],
    )


def everywhere() -> list[Object]:
    """Objects common to all clusters; namespaced ones are in the first namespace."""
    made: list[Object] = [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "preemptionPolicy": "Never" if name == pods.POLITE else "PreemptLowerPriority",
        }
        for name, value in pods.PRIORITIES.items()
    ]
    made.append(
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": pods.OVERHEAD_CLASS},
            "handler": "heavy",
            "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}},
        }
    )
    return made + _owners()


def _running(
    dice: Dice, number: int, namespaces: Sequence[str], nodes: list[str], claims: list[str], *, crowded: bool
) -> Object:
    features = dice.some(pods.FEATURES_THAT_OTHERS_FEEL, 0, 3)
    if crowded:
        features = [pods.big, pods.priority] if dice.chance(0.5) else [*dice.some(features, 0, 1), pods.big]
    made = pods.draw_pod(dice, f"running-{number}", _namespace(dice, namespaces), features=features)
    made["spec"]["nodeName"] = dice.one(nodes)
    if dice.chance(0.15):
        made["metadata"]["namespace"] = namespaces[0]
        volumes.use_claims(dice, made, claims)
    if dice.chance(0.1):
        volumes.use_disk(dice, made)
    # No two at the same time: which of two equals has to go is chance.
    started = f"2026-01-{dice.number(1, 28):02}T{number // 60:02}:{number % 60:02}:00Z"
    made["status"] = {"phase": "Running", "startTime": started}
    if dice.chance(0.05):
        made["status"]["phase"] = dice.one(("Succeeded", "Failed"))
    if dice.chance(0.06):  # it is being deleted, and nobody ends it
        made["spec"] |= {"terminationGracePeriodSeconds": 3600, "priorityClassName": pods.TOP}
    return made


def _leave_ports_to_one(running: Sequence[Object]) -> None:
    """On each node; a kubelet would not run two pods that want the same port."""
    taken = set()
    for pod in running:
        for container in pod["spec"]["containers"]:
            if "ports" in container and pod["spec"]["nodeName"] in taken:
                del container["ports"]
            elif "ports" in container:
                taken.add(pod["spec"]["nodeName"])


def _nominee(dice: Dice, number: int, namespaces: Sequence[str]) -> Object:
    """A pod that is not tried, as it has a gate, but that room is kept for on a node."""
    made = pods.draw_pod(dice, f"nominee-{number}", _namespace(dice, namespaces), features=[pods.priority])
    made["spec"] |= {"schedulerName": SCHEDULER, "schedulingGates": [{"name": "example.com/gate"}]}
    made["status"] = {"nominatedNodeName": "{NODE}"}
    return made


def _probe(dice: Dice, number: int, namespaces: Sequence[str], claims: list[str], *, crowded: bool) -> Object:
    features = dice.some(pods.FEATURES, 0, dice.number(1, 4))
    if crowded and dice.chance(0.5):
        features = [*dice.some(features, 0, 2), pods.priority, pods.big]
    made = pods.draw_pod(dice, f"probe-{number}", _namespace(dice, namespaces), features=features)
    made["spec"]["schedulerName"] = SCHEDULER
    if dice.chance(0.2):
        made["metadata"]["namespace"] = namespaces[0]
        volumes.use_claims(dice, made, claims)
    if dice.chance(0.08):
        volumes.use_disk(dice, made)
    if dice.chance(0.15):
        version, kind = dice.one(_OWNERS)
        made["metadata"]["namespace"] = namespaces[0]
        made["metadata"]["labels"] |= _OWNED
        owner = {"apiVersion": version, "kind": kind, "name": "owner", "uid": "owner", "controller": True}
        made["metadata"]["ownerReferences"] = [owner]
    return made


def _owners() -> list[Object]:
    """Services and controllers whose pods are spread by default."""
    made: list[Object] = [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"service-{number}"},
            "spec": {"selector": selector, "ports": [{"port": 80}]},
        }
        for number, selector in enumerate(({"app": "web", "tier": "front"}, {"app": "db"}))
    ]
    for version, kind in _OWNERS:
        template = {"metadata": {"labels": _OWNED}, "spec": {"containers": [{"name": "main", "image": "image"}]}}
        selector: Object = dict(_OWNED) if kind == "ReplicationController" else {"matchLabels": _OWNED}
        spec: Object = {"replicas": 1, "selector": selector, "template": template}
        if kind == "StatefulSet":
            spec["serviceName"] = "service-0"
        made.append({"apiVersion": version, "kind": kind, "metadata": {"name": "owner"}, "spec": spec})
    return made


def _budgets(dice: Dice, namespaces: Sequence[str]) -> list[Object]:
    """With the status that a controller would give them."""
    return [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"budget-{number}", "namespace": namespaces[0]},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": dice.one(POD_LABELS["app"])}}},
            "status": {
                "disruptionsAllowed": dice.number(0, 1),
                "currentHealthy": 1,
                "desiredHealthy": 1,
                "expectedPods": 1,
                "observedGeneration": 1,
            },
        }
        for number in range(dice.number(0, 2))
    ]


def _namespace(dice: Dice, namespaces: Sequence[str]) -> str:
    return namespaces[0] if dice.chance(0.6) else dice.one(namespaces)


def _filled(dice: Dice, made: Object, nodes: Sequence[str], namespaces: Sequence[str]) -> Object:
    """Names of nodes and namespaces where a name of any of them is wanted."""
    text = json.dumps(made)
    for word, names in (("{NODE}", nodes), ("{NAMESPACE}", namespaces)):
        while word in text:
            text = text.replace(word, dice.one(names), 1)
    return dict(json.loads(text))
