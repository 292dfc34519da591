"""The policy nodenumber in the process, guests of it in every language, and random clusters to compare them on."""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from kubewasp.framework import registry
from kubewasp.framework.config.reading import read_config
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.plugin import NodeByNode
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.nodes import Node
from kubewasp.k8s.pods import Pod
from kubewasp.scheduler.composition import set_up
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from tests.guests import build
from tests.scheduler.building import HEAD
from tests.simulation.simulating import node, pod

PLUGINS = build.ROOT / "examples" / "plugins"
NAMES = [*(f"node-{number}" for number in range(6)), "node-13", "node-23", "spare", "node-3a"]


class NodeNumber(NodeByNode):
    """Prefers the node with the pod's number."""

    name = "NodeNumber"

    def __init__(self, args: Mapping[str, Any], handle: object) -> None:
        self._reverse = args.get("reverse", False)
        self._reserved = args.get("reserved")

    def filter_node(self, state: CycleState, pod: Pod, node: Node, pods: object) -> Status:
        digit = last_digit(node.name)
        if digit is not None and digit == self._reserved:
            return Status(Code.UNSCHEDULABLE, f"node number {digit} is reserved")
        return SUCCESS

    def score_node(self, state: CycleState, pod: Pod, node: Node, pods: object) -> int:
        wanted, digit = last_digit(pod.name), last_digit(node.name)
        if wanted is None or digit is None:
            return 0
        return 10 if (wanted == digit) != self._reverse else 0


def last_digit(name: str) -> int | None:
    return int(name[-1]) if name[-1:].isdecimal() else None


@functools.cache
def guest(language: str) -> Path:
    """The guest of the policy in a language."""
    if language == "wat":
        return build.example("nodenumber")
    if language == "zig":
        return build.zig_guest(build.EXAMPLES / "nodenumber.zig")
    if language == "assemblyscript":
        return build.assemblyscript_guest(build.ROOT / "tests/e2e/guests/assemblyscript/nodenumber.ts")
    return build.project_guest(PLUGINS / f"nodenumber-{language}")


@dataclass(frozen=True)
class Wave:
    """What changes at one time: nodes that come and go, pods that are new."""

    nodes: list[dict[str, Any]]
    gone: list[str]
    pods: list[dict[str, Any]]


def waves() -> st.SearchStrategy[list[Wave]]:
    made_node = st.builds(node, st.sampled_from(NAMES), cpu=st.sampled_from(["1", "2", "4"]))
    made_pod = st.builds(
        pod,
        st.from_regex(r"[a-z]{1,3}-?[0-9a-c]{1,2}", fullmatch=True),
        cpu=st.sampled_from(["100m", "500m", "1", "3"]),
        priority=st.sampled_from([0, 0, 0, 10]),
    )
    wave = st.builds(
        Wave,
        nodes=st.lists(made_node, max_size=6),
        gone=st.lists(st.sampled_from(NAMES), max_size=2),
        pods=st.lists(made_pod, max_size=8),
    )
    return st.lists(wave, min_size=1, max_size=3)


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    config: dict[str, Any] = {"reverse": True} if draw(st.booleans()) else {}
    reserved = draw(st.none() | st.integers(0, 5))
    return config if reserved is None else config | {"reserved": reserved}


def outcome(name: str, args: dict[str, Any], weight: int, given_waves: list[Wave]) -> list[dict[str, tuple[str, str]]]:
    """Where every pod is after each wave, or why it is nowhere."""
    profile = {
        "plugins": {"multiPoint": {"enabled": [{"name": name, "weight": weight}]}},
        "pluginConfig": [{"name": name, "args": args}],
    }
    # The class is offered as an installed package would.
    entry = EntryPoint(NodeNumber.name, f"{__name__}:{NodeNumber.__name__}", registry.ENTRY_POINTS)
    with patch.object(registry, "entry_points", lambda *, group: [entry]):
        cluster = EmbeddedCluster(set_up(read_config({**HEAD, "profiles": [profile]})))
    found = []
    for wave in given_waves:
        for gone in wave.gone:
            cluster.delete("Node", "", gone)
        for manifest in [*wave.nodes, *wave.pods]:
            if f"default/{manifest['metadata']['name']}" not in cluster.pods:
                cluster.apply(manifest)
        cluster.settle()
        found.append({key: (item.node, cluster.why_pending(item)) for key, item in cluster.pods.items()})
    return found


# Pods with a node and pods without one: for the numbers of the nodes, and for their size.
MIXED = [
    Wave([node("node-3", cpu="1"), node("node-13", cpu="1")], [], [pod("web-3", cpu="500m"), pod("big-4", cpu="3")]),
    Wave(
        [node("node-4", cpu="1"), node("spare", cpu="1")], ["node-13"], [pod("web-4", cpu="500m"), pod("x", cpu="500m")]
    ),
]


def check_parity(language: str, config: dict[str, Any], weight: int, given_waves: list[Wave]) -> None:
    """Equal nodes and messages of the guest and of the plugin in the process."""
    args = {"guestURL": str(guest(language)), "guestConfig": json.dumps(config)}
    assert outcome("policy", args, weight, given_waves) == outcome("NodeNumber", config, weight, given_waves)
