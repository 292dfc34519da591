"""Drawn pods: running pods, and pods to schedule (probes)."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tests.e2e.parity.dice import (
    CORES,
    DISK,
    GPU,
    HUGE_PAGES,
    IMAGES,
    NODE_LABELS,
    POD_LABELS,
    REGION,
    TAINT_KEYS,
    TAINT_VALUES,
    TEAMS,
    TOPOLOGIES,
    ZONE,
    Dice,
)
from tools.testbed.client import Object

OVERHEAD_CLASS: Final = "parity-overhead"
# Highest first. Pods that are being deleted have the top one: nobody waits for them to make way.
PRIORITIES: Final = {"parity-top": 1_000_000, "parity-high": 1000, "parity-polite": 900, "parity-low": 10}
POLITE: Final = "parity-polite"  # preempts nobody
TOP: Final = "parity-top"
_CPU = ("0", "50m", "100m", "250m", "0.5", "1", "1500m", "3")
_MEMORY = ("0", "32Mi", "100M", "256Mi", "1Gi", "1536Mi", "3000000000")


def draw_pod(dice: Dice, name: str, namespace: str, *, features: Sequence["Feature"]) -> Object:
    labels = dice.labels(POD_LABELS, 0.7)
    made: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [_container(dice, f"c{number}") for number in range(dice.one((1, 1, 1, 2)))],
        },
    }
    for feature in sorted(features, key=FEATURES.index):
        feature(dice, made)
    return made


Feature = Callable[[Dice, Object], None]


def priority(dice: Dice, pod: Object) -> None:
    names = [name for name in PRIORITIES if name != TOP]
    pod["spec"]["priorityClassName"] = dice.one(names)


def big(dice: Dice, pod: Object) -> None:
    """Few nodes have room for it."""
    requests = pod["spec"]["containers"][0].setdefault("resources", {}).setdefault("requests", {})
    requests |= {"cpu": dice.one(("2", "3"))} if dice.chance(0.5) else {"memory": dice.one(("2Gi", "6Gi", "30Gi"))}


def extended(dice: Dice, pod: Object) -> None:
    amounts = {GPU: dice.one(("1", "2", "3"))}
    if dice.chance(0.3):
        amounts = {HUGE_PAGES: "32Mi"}
        pod["spec"]["containers"][0].setdefault("resources", {}).setdefault("requests", {}).setdefault("cpu", "10m")
    if dice.chance(0.2):
        amounts["ephemeral-storage"] = dice.one(("1Gi", "6Gi"))
    resources = pod["spec"]["containers"][0].setdefault("resources", {})
    resources.setdefault("requests", {}).update(amounts)
    resources.setdefault("limits", {}).update(amounts)


def init_containers(dice: Dice, pod: Object) -> None:
    made = [_container(dice, f"i{number}") for number in range(dice.number(1, 3))]
    for container in made:
        if dice.chance(0.4):
            container["restartPolicy"] = "Always"  # a sidecar
    pod["spec"]["initContainers"] = made


def overhead(dice: Dice, pod: Object) -> None:
    pod["spec"]["runtimeClassName"] = OVERHEAD_CLASS


def pod_resources(dice: Dice, pod: Object) -> None:
    """For the pod as a whole; its containers ask for little."""
    for container in [*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())]:
        container["resources"] = {"requests": {"cpu": "10m", "memory": "8Mi"}} if dice.chance(0.5) else {}
    requests = {"cpu": dice.one(("500m", "1", "2")), "memory": dice.one(("512Mi", "2Gi"))}
    pod["spec"]["resources"] = {"requests": requests if dice.chance(0.7) else {"cpu": requests["cpu"]}}


def tolerations(dice: Dice, pod: Object) -> None:
    pod["spec"]["tolerations"] = dice.several(1, 3, lambda: _toleration(dice))


def node_selector(dice: Dice, pod: Object) -> None:
    keys = dice.some((ZONE, REGION, DISK), 1, 2)
    pod["spec"]["nodeSelector"] = {key: dice.one(NODE_LABELS[key]) for key in keys}


def required_node_affinity(dice: Dice, pod: Object) -> None:
    terms = dice.several(1, 2, lambda: _node_term(dice, dice.number(1, 2)))
    _affinity(pod, "nodeAffinity")["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}


def named_nodes(dice: Dice, pod: Object) -> None:
    """Fields of nodes: only their name can be selected. {NODES} is replaced by names of nodes."""
    expression = {"key": "metadata.name", "operator": "In", "values": ["{NODE}"]}
    terms: list[Object] = [{"matchFields": [dict(expression)]} for _ in range(dice.number(1, 3))]
    if dice.chance(0.2):
        terms[0]["matchFields"][0]["operator"] = "NotIn"
    if dice.chance(0.2):
        terms[0]["matchExpressions"] = [_node_expression(dice)]
    if dice.chance(0.1):
        terms[0]["matchFields"][0]["values"] = ["nowhere"]
    _affinity(pod, "nodeAffinity")["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}


def preferred_node_affinity(dice: Dice, pod: Object) -> None:
    terms = dice.several(
        1, 3, lambda: {"weight": dice.number(1, 100), "preference": _node_term(dice, dice.number(1, 2))}
    )
    _affinity(pod, "nodeAffinity")["preferredDuringSchedulingIgnoredDuringExecution"] = terms


def host_ports(dice: Dice, pod: Object) -> None:
    made = []
    for number in range(dice.number(1, 2)):
        port: Object = {"containerPort": 80 + number, "hostPort": dice.one((8080, 9090)), "name": f"p{number}"}
        if dice.chance(0.4):
            port["hostIP"] = dice.one(("10.0.0.1", "10.0.0.2", "0.0.0.0"))
        if dice.chance(0.3):
            port["protocol"] = "UDP"
        made.append(port)
    # Two containers of a pod may not ask for the same port.
    unique = {(port["hostPort"], port.get("protocol", "TCP"), port.get("hostIP", "")): port for port in made}
    pod["spec"]["containers"][0]["ports"] = list(unique.values())


def pod_affinity(dice: Dice, pod: Object) -> None:
    _between_pods(dice, pod, "podAffinity")


def pod_anti_affinity(dice: Dice, pod: Object) -> None:
    _between_pods(dice, pod, "podAntiAffinity")


def hard_spread(dice: Dice, pod: Object) -> None:
    _spread(dice, pod, "DoNotSchedule")


def soft_spread(dice: Dice, pod: Object) -> None:
    _spread(dice, pod, "ScheduleAnyway")


def of_service(dice: Dice, pod: Object) -> None:
    """Labels that a service selects."""
    pod["metadata"]["labels"] |= {"app": "web", "tier": "front"} if dice.chance(0.5) else {"app": "db"}


def images(dice: Dice, pod: Object) -> None:
    for container in pod["spec"]["containers"]:
        container["image"] = dice.one(IMAGES)


def restart_rules(dice: Dice, pod: Object) -> None:
    """They need nodes that declare to know them."""
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    pod["spec"]["containers"][0] |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}


# In this order: what a pod asks for as a whole comes after what its containers ask for.
FEATURES: Final[Sequence[Feature]] = (
    priority,
    big,
    extended,
    init_containers,
    overhead,
    pod_resources,
    tolerations,
    node_selector,
    required_node_affinity,
    named_nodes,
    preferred_node_affinity,
    host_ports,
    pod_affinity,
    pod_anti_affinity,
    hard_spread,
    soft_spread,
    of_service,
    images,
    restart_rules,
)
# Those that run were chosen for a node by somebody: only what others feel of them matters.
FEATURES_THAT_OTHERS_FEEL: Final[Sequence[Feature]] = (
    priority,
    extended,
    init_containers,
    overhead,
    pod_resources,
    host_ports,
    pod_affinity,
    pod_anti_affinity,
    of_service,
)


def _container(dice: Dice, name: str) -> Object:
    made: Object = {"name": name, "image": dice.one(("image", *IMAGES))}
    requests = {}
    if dice.chance(0.8):
        requests["cpu"] = dice.one(_CPU)
    if dice.chance(0.8):
        requests["memory"] = dice.one(_MEMORY)
    if requests:
        made["resources"] = {"requests": requests}
    return made


def _affinity(pod: Object, kind: str) -> Object:
    found: Object = pod["spec"].setdefault("affinity", {}).setdefault(kind, {})
    return found


def _toleration(dice: Dice) -> Object:
    if dice.chance(0.1):
        return {"operator": "Exists"}
    made: Object = {"key": dice.one(TAINT_KEYS)}
    if dice.chance(0.4):
        made["operator"] = "Exists"
    else:
        made["value"] = dice.one(TAINT_VALUES)
    effect = dice.one(("", "NoSchedule", "PreferNoSchedule", "NoExecute"))
    return made | ({"effect": effect} if effect else {})


def _node_term(dice: Dice, count: int) -> Object:
    term: Object = {"matchExpressions": [_node_expression(dice) for _ in range(count)]}
    if dice.chance(0.1):
        term["matchFields"] = [{"key": "metadata.name", "operator": "NotIn", "values": ["{NODE}"]}]
    return term


def _node_expression(dice: Dice) -> Object:
    operator = dice.one(("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    if operator in ("Gt", "Lt"):
        return {"key": CORES, "operator": operator, "values": [dice.one(("1", "4", "8", "100"))]}
    key = dice.one(list(NODE_LABELS))
    expression: Object = {"key": key, "operator": operator}
    if operator in ("In", "NotIn"):
        expression["values"] = dice.some(NODE_LABELS[key], 1, 2)
    return expression


def _between_pods(dice: Dice, pod: Object, kind: str) -> None:
    found = _affinity(pod, kind)
    if dice.chance(0.5):
        terms = dice.several(1, 2, lambda: _pod_term(dice))
        found["requiredDuringSchedulingIgnoredDuringExecution"] = terms
    if not found or dice.chance(0.6):
        weighted = dice.several(1, 3, lambda: {"weight": dice.number(1, 100), "podAffinityTerm": _pod_term(dice)})
        found["preferredDuringSchedulingIgnoredDuringExecution"] = weighted


def _pod_term(dice: Dice) -> Object:
    term: Object = {"topologyKey": dice.one(TOPOLOGIES), "labelSelector": dice.selector()}
    if dice.chance(0.2):
        term["namespaces"] = ["{NAMESPACE}"]
    if dice.chance(0.25):
        term["namespaceSelector"] = _namespace_selector(dice)
    if dice.chance(0.2):
        term[dice.one(("matchLabelKeys", "mismatchLabelKeys"))] = ["version"]
    return term


def _namespace_selector(dice: Dice) -> dict[str, Any]:
    if dice.chance(0.2):
        return {}
    operator = dice.one(("In", "NotIn", "Exists", "DoesNotExist"))
    values = {"values": dice.some(TEAMS, 1, 2)} if operator in ("In", "NotIn") else {}
    return {"matchExpressions": [{"key": "team", "operator": operator, **values}]}


def _spread(dice: Dice, pod: Object, when: str) -> None:
    found = pod["spec"].setdefault("topologySpreadConstraints", [])
    for key in dice.some(TOPOLOGIES, 1, 2):
        constraint: Object = {
            "topologyKey": key,
            "maxSkew": dice.one((1, 1, 2, 5)),
            "whenUnsatisfiable": when,
            "labelSelector": dice.selector(),
        }
        if when == "DoNotSchedule" and dice.chance(0.3):
            constraint["minDomains"] = dice.number(1, 4)
        if dice.chance(0.3):
            constraint["nodeAffinityPolicy"] = dice.one(("Honor", "Ignore"))
        if dice.chance(0.3):
            constraint["nodeTaintsPolicy"] = dice.one(("Honor", "Ignore"))
        if dice.chance(0.2):
            constraint["matchLabelKeys"] = ["version"]
        if dice.chance(0.05):
            del constraint["labelSelector"]
            constraint.pop("matchLabelKeys", None)
        found.append(constraint)
