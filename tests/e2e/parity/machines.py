"""Drawn nodes: sizes, labels, taints, images, and volume limits."""

from tests.e2e.parity.dice import GPU, HOSTNAME, HUGE_PAGES, IMAGES, NODE_LABELS, TAINT_KEYS, TAINT_VALUES, Dice
from tests.e2e.parity.volumes import csi_node
from tools.testbed.client import Object
from tools.testbed.nodes import node

_MIB = 1024 * 1024
_SIZES = (5 * _MIB, 60 * _MIB, 700 * _MIB, 2500 * _MIB)


def draw_nodes(dice: Dice, prefix: str) -> list[Object]:
    count = dice.number(3, 16)
    return [_node(dice, f"{prefix}-n{number:02}") for number in range(count)]


def draw_csi_nodes(dice: Dice, names: list[str]) -> list[Object]:
    return [csi_node(dice, name) for name in names if dice.chance(0.7)]


def _node(dice: Dice, name: str) -> Object:
    capacity = {
        "cpu": dice.one(("2", "3900m", "4", "8", "16")),
        "memory": dice.one(("2000000Ki", "4Gi", "8G", "16Gi", "64Gi")),
        "pods": dice.one(("3", "8", "110", "110")),
        "ephemeral-storage": dice.one(("5Gi", "100Gi")),
    }
    if dice.chance(0.3):
        capacity[GPU] = dice.one(("1", "2", "8"))
    if dice.chance(0.2):
        capacity[HUGE_PAGES] = "64Mi"
    made = node(name, labels=dice.labels(NODE_LABELS, 0.75), capacity=capacity)
    made["metadata"]["labels"]["own-name"] = name
    if dice.chance(0.05):
        del made["metadata"]["labels"][HOSTNAME]
    if dice.chance(0.3):
        made["spec"]["taints"] = _taints(dice)
    if dice.chance(0.08):
        made["spec"]["unschedulable"] = True
    if dice.chance(0.7):
        made["status"]["declaredFeatures"] = ["RestartAllContainersOnContainerExits"]
    made["status"]["images"] = [
        {"names": [_full(image)], "sizeBytes": dice.one(_SIZES)} for image in dice.some(IMAGES, 0, 3)
    ]
    return made


def _taints(dice: Dice) -> list[Object]:
    effects = ("NoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoExecute")
    keys = dice.some(TAINT_KEYS, 1, 2)
    return [{"key": key, "value": dice.one(TAINT_VALUES), "effect": dice.one(effects)} for key in keys]


def _full(image: str) -> str:
    """Container runtimes list images with their tag."""
    return image if ":" in image.rpartition("/")[2] else f"{image}:latest"
