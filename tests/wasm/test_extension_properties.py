"""Properties of kubewasp/v1 after any changes: node values of a plain host and of the manifests."""

import gc
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from wasmtime import Global

from kubewasp.k8s.codec import encode
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.pods import PodParser
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.core.callback_host import CallbackHost
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_cycle import GuestCycle
from tests import samples
from tests.guests import EXTENSION
from tests.plugins.building import make_node
from tests.wasm.probing import BUFFER, ROOM, ask, encoded_pod, get, load, node_info, resource, text

NODES = ("node-1", "node-2", "nöde", "x" * 120, "a", "b")
PODS = tuple(f"pod-{number}" for number in range(6))
GPU, FPGA, UNKNOWN = "example.com/gpu", "example.com/fpga", "example.com/no-node-has-it"
AMOUNTS = st.integers(0, 9)
PARSER = PodParser()


@dataclass
class Model:
    """The cluster by hand: how much of each resource nodes have and pods ask for, as plain numbers."""

    nodes: dict[str, dict[str, int]] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    pods: dict[str, tuple[str, dict[str, int], bytes]] = field(default_factory=dict)

    def on(self, node: str) -> list[dict[str, int]]:
        return [asks for place, asks, _ in self.pods.values() if place == node]

    def pair(self, node: str, name: str) -> tuple[int, int]:
        if name == "pods":
            return self.nodes[node]["pods"], len(self.on(node))
        return self.nodes[node].get(name, 0), sum(asks.get(name, 0) for asks in self.on(node))

    def non_zero(self, node: str) -> tuple[int, int]:
        """Missing requests of a container count as 100 m and 200 Mi."""
        asked = self.on(node)
        return sum(asks.get("cpu", 100) for asks in asked), sum(asks.get("memory", 200 << 20) for asks in asked)


def quantities(amounts: dict[str, int]) -> dict[str, str]:
    return {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in amounts.items()}


NAMED = st.sampled_from(["cpu", "memory", "ephemeral-storage", GPU, FPGA])


@cache
def guest() -> Guest:
    return load()


class Oracle:
    """The same guest on the plain host."""

    def __init__(self, table: NodeTable) -> None:
        self.host = CallbackHost(guest().module)
        self.host.nodes, self.host.table = table.objects, table
        self.host.resources = guest().module.engine.resources

    def ask(self, function: str, *arguments: int) -> int:
        which = [name for name, _ in EXTENSION].index(function)
        for name, value in {"which": which, **dict(zip("abcd", arguments, strict=False))}.items():
            self._global(name).set_value(self.host._store, value)
        self.host.call("prefilter")
        return int(self._global("result").value(self.host._store))

    def get(self, function: str, *arguments: int) -> bytes:
        return self.host._read(BUFFER, self.ask(function, *arguments, BUFFER, ROOM))

    def _global(self, name: str) -> Global:
        return cast(Global, self.host.exports[name])


class NumbersAgainstTheManifests(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.table = NodeTable()
        self.model = Model()
        # Generations by row and node, with what they stood for.
        self.known: dict[tuple[int, int, int], Any] = {}

    @rule(name=st.sampled_from(NODES), amounts=st.dictionaries(NAMED, AMOUNTS), pods=AMOUNTS, label=st.booleans())
    def put_node(self, name: str, amounts: dict[str, int], pods: int, label: bool) -> None:
        manifest = {
            "metadata": {"name": name, "labels": {"a": "b"} if label else {}},
            "status": {"allocatable": quantities(amounts | {"pods": pods})},
        }
        encoded = encode("Node", manifest)
        self.table.put_node(parse_node(manifest, encoded))
        self.model.nodes[name] = amounts | {"pods": pods}
        self.model.objects[name] = encoded

    @precondition(lambda self: self.model.nodes)
    @rule(data=st.data())
    def remove_node(self, data: st.DataObject) -> None:
        """Its pods wait for it to come back."""
        name = data.draw(st.sampled_from(sorted(self.model.nodes)))
        self.table.remove_node(name)
        del self.model.nodes[name], self.model.objects[name]

    @rule(name=st.sampled_from(PODS), node=st.sampled_from(NODES), amounts=st.dictionaries(NAMED, AMOUNTS))
    def put_pod(self, name: str, node: str, amounts: dict[str, int]) -> None:
        """New, changed on its node, or gone to another one."""
        self.remove_pod(name)
        manifest = {
            "metadata": {"name": name, "uid": name},
            "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": quantities(amounts)}}]},
        }
        encoded = encode("Pod", manifest)
        self.table.add_pod(PARSER.parse(manifest, encoded))
        self.model.pods[name] = (node, amounts, encoded)

    @rule(name=st.sampled_from(PODS))
    def remove_pod(self, name: str) -> None:
        if name in self.model.pods:
            node, _, encoded = self.model.pods.pop(name)
            manifest = {"metadata": {"name": name, "uid": name}, "spec": {"nodeName": node}}
            self.table.remove_pod(PARSER.parse(manifest, encoded))

    @rule()
    def add_many(self) -> None:
        """Enough for the records to move."""
        for number in range(40):
            self.table.put_node(make_node(f"many-{number}"))
        for number in range(40):
            self.table.remove_node(f"many-{number}")

    @invariant()
    def every_row_reads_the_same(self) -> None:
        oracle = Oracle(self.table)
        with guest().cycle(samples.pod(), self.table) as cycle:
            ids = {name: resource(cycle, name) for name in (GPU, FPGA, UNKNOWN)}
            ids |= {"cpu": 0, "memory": 1, "ephemeral-storage": 2, "pods": 3}
            rows = self.table.objects.row_count
            for row in (*range(min(rows, 8)), rows - 1, rows, -1):
                for what in ("node_info", "node_name", "node_object", "node_pods"):
                    assert get(cycle, what, row) == oracle.get(what, row), (what, row)
            for name in NODES:
                self._is_as_computed(cycle, name, ids)

    def _is_as_computed(self, cycle: GuestCycle, name: str, ids: dict[str, int]) -> None:
        row = ask(cycle, "node_row", *text(cycle, name))
        if name not in self.model.nodes:
            assert row == -1
            return
        assert get(cycle, "node_name", row) == name.encode()
        assert get(cycle, "node_object", row) == self.model.objects[name]
        info = node_info(cycle, row)
        assert tuple(info[2:4]) == self.model.non_zero(name)
        for known, number in ids.items():
            assert (info[4 + 2 * number], info[5 + 2 * number]) == self.model.pair(name, known), (name, known)
        pods = sorted(encoded for place, _, encoded in self.model.pods.values() if place == name)
        assert sorted(items(get(cycle, "node_pods", row))) == pods
        # The same generation never stands for something else.
        for place, meaning in ((0, (name, self.model.objects[name])), (1, (name, self.model.objects[name], pods))):
            assert self.known.setdefault((row, place, info[place]), meaning) == meaning


def items(content: bytes) -> list[bytes]:
    """The items of a list, taken apart by hand."""
    found = []
    while content:
        assert content[0] == 0x12
        length, at, shift = 0, 1, 0
        while True:
            length |= (content[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if content[at - 1] < 128:
                break
        found.append(content[at : at + length])
        content = content[at + length :]
    return found


TestNumbersAgainstTheManifests = NumbersAgainstTheManifests.TestCase
TestNumbersAgainstTheManifests.settings = settings(max_examples=15, stateful_step_count=12)


def test_the_shared_memory_does_not_grow_when_nodes_and_pods_come_and_go() -> None:
    table = NodeTable()
    heap = guest().module.engine.heap
    ends = []
    for turn in range(120):
        for number in range(20):
            table.put_node(make_node(f"node-{number}", {"turn": f"{turn:04}"}))
            table.add_pod(encoded_pod(f"pod-{number}", {"turn": f"{turn:04}"}, node=f"node-{number}"))
        with guest().cycle(encoded_pod("web"), table) as cycle:
            for row in range(20):
                expected = table.pods_on[row]
                assert items(get(cycle, "node_pods", row)) == [pod.encoded for pod in expected.values()]
            assert len(get(cycle, "pod_requests")) >= 48
        for number in range(turn % 20):
            table.remove_node(f"node-{number}")
        ends.append(heap._end)
    assert ends[-1] == ends[60], "what was given back is used again"


def test_the_records_of_a_table_that_is_gone_are_given_back() -> None:
    heap = guest().module.engine.heap
    ends = []
    gc.collect()
    gc.freeze()  # collections look at the tables only
    for _ in range(30):
        table = NodeTable()
        for number in range(50):
            table.put_node(make_node(f"node-{number}"))
            table.add_pod(encoded_pod(f"pod-{number}", node=f"node-{number}"))
        with guest().cycle(encoded_pod("web"), table) as cycle:
            for row in range(50):
                get(cycle, "node_pods", row)
        del table, cycle
        gc.collect()  # a table is a circle
        ends.append(heap._end)
    gc.unfreeze()
    assert ends[-1] == ends[10]
