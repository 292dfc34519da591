"""Checks of one host call with any numbers, shared by the property tests and the fuzz target."""

from collections.abc import Sequence
from functools import cache

from kubewasp.state.node_objects import Nodes
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.core.abi import EXTENSION_IMPORTS
from kubewasp.wasm.core.adapter_layout import TEXTS
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_cycle import GuestCycle
from kubewasp.wasm.limits import Limits
from tests import samples
from tests.guests.build import SOURCES, wat, wat_text
from tests.plugins.building import make_node, make_table
from tests.wasm.fakes import FakeHandle
from tests.wasm.probing import encoded_pod
from tests.wasm.steering import peek, steer

SMALL, HUGE = 65536, 2**32
FIXED_TEXTS = b'\x0a\x06\x0a\x00\x12\x00\x1a\x00null:{"Size":,"NumNodes":}'


@cache
def cluster() -> Nodes:
    return Nodes(samples.node(f"node-{number}", images={"image": 100}, labels={"a": "b"}) for number in range(1, 10))


@cache
def table() -> NodeTable:
    """The same with pods, and with a row that is empty."""
    nodes = [make_node(f"node-{number}", {"a": "b"}) for number in range(1, 10)]
    found = make_table(nodes, [encoded_pod(f"pod-{number}", node=f"node-{number}") for number in range(1, 5)])
    found.remove_node("node-9")
    return found


@cache
def table_nodes() -> list[bytes]:
    """The nodes of that table, encoded."""
    return [table().objects.encoded(row) for row in range(9)]


@cache
def guest(size: int, name: str = "imports") -> Guest:
    """A guest with a memory of that size: in 4 GiB every address exists, and sums wrap around."""
    source = wat(name)
    if size == HUGE:
        text = (SOURCES / "wat" / f"{name}.wat").read_text()
        source = wat_text(text.replace('(memory (export "memory") 1)', '(memory (export "memory") 65536)'))
    limits = {"call_timeout": 0.3, "memory": HUGE}
    if name == "extension":
        limits["stack"] = Limits().stack + 8192  # an engine apart, where the resources that are asked for are kept
    return Guest.load(source, name="fuzzed", config="a config", limits=limits, handle=FakeHandle())


def own_texts(cycle: GuestCycle) -> bytes:
    """The adapter's fixed texts, which a guest must not be able to change."""
    return bytes(cycle.runner._memory.view[TEXTS : TEXTS + len(FIXED_TEXTS)])


def shared_nodes(cycle: GuestCycle) -> list[bytes]:
    """The nodes as they lie in the memory that all instances read."""
    view = cycle.runner.inputs._nodes._heap._view
    places = [int(row["node"]) for row in cycle.runner.inputs._nodes._rows]
    return [view[place & 0xFFFFFFFF : (place & 0xFFFFFFFF) + (place >> 32)].tobytes() for place in places]


def filter_failure(cycle: GuestCycle) -> str:
    """Calls filter; returns the reason of its failure, which has to be a clean one."""
    verdicts = cycle.filter(["node-2"])
    assert verdicts.codes[0] in (0, 1)
    if not verdicts.codes[0]:
        return ""
    failed = verdicts.reason(0)
    assert failed.startswith("wasm: filter error: ")
    assert '(plugin "fuzzed")' in failed
    assert cycle.runner.broken
    return failed


def check_import(size: int, which: int, arguments: Sequence[int]) -> str:
    """Calls an import of the classic ABI with those arguments; returns the reason of a failure."""
    with guest(size).cycle(samples.pod(), cluster()) as cycle:
        steer(cycle, which=which, **dict(zip("abcde", arguments, strict=False)))
        failed = filter_failure(cycle)
        own = own_texts(cycle)
        assert own == FIXED_TEXTS, "the adapter's own texts"
        assert shared_nodes(cycle) == [cluster().encoded(row) for row in range(len(cluster()))]
    with guest(size).cycle(samples.pod(), cluster()) as cycle:
        steer(cycle, which=5, a=1024, b=64)
        assert cycle.filter(["node-3"]).codes.tolist() == [0]
        assert peek(cycle, "result") == 6
        assert cycle.runner.guest_memory.read(1024, 6, "test") == b"node-3"
    return failed


def shared_records(cycle: GuestCycle) -> list[bytes]:
    """The numbers of the nodes, without where their pods are, and the pods that were asked for."""
    heap, numbers_ = cycle.runner.inputs._nodes._heap, cycle.runner.inputs._nodes._records
    records = numbers_._records[: len(table().nodes)]
    places = [(place & 0xFFFFFFFF, place >> 32) for place in records[:, 0].tolist() if place > 0]
    pods = [heap._view[address : address + length].tobytes() for address, length in places]
    return [records[:, 1:13].tobytes(), *pods]


def check_extension(size: int, which: int, arguments: Sequence[int]) -> str:
    """Calls an import of kubewasp/v1 with those arguments; returns the reason of a failure."""
    item = EXTENSION_IMPORTS[which]
    fuzzed = guest(size, "extension")
    with fuzzed.cycle(encoded_pod("pod-1"), table()) as cycle:
        cycle.prescore(["node-2", "node-1"])
        for row in range(9):  # so that pods lie in the shared memory
            steer(cycle, which=12, a=row, b=0, c=0)
            cycle.filter(["node-2"])
        records = shared_records(cycle)
        assert len(records) == 5
        before = cycle.runner.guest_memory.read(0, SMALL, "test")
        steer(cycle, which=which, **dict(zip("abcd", arguments, strict=False)))
        failed = filter_failure(cycle)
        written = (0, 0)
        if item.parameters[-2:] == ("buf", "limit"):
            buf, limit = (number % 2**32 for number in arguments[-2:])
            written = (buf, buf + min(limit, 0 if failed else peek(cycle, "result")))
        elif item.parameters == ("buf",):
            written = (arguments[0] % 2**32, arguments[0] % 2**32 + 24)
        after = cycle.runner.guest_memory.read(0, SMALL, "test")
        assert (after[: written[0]], after[written[1] :]) == (before[: written[0]], before[written[1] :])
        assert own_texts(cycle) == FIXED_TEXTS, "the adapter's own texts"
        # A new resource makes the records wider: the pods are written again when somebody asks.
        assert shared_records(cycle) in ([records, records[:1]] if item.name == "resource" else [records])
        assert shared_nodes(cycle) == table_nodes()
    with fuzzed.cycle(encoded_pod("pod-1"), table()) as cycle:
        steer(cycle, which=9, a=2, b=1024, c=64)
        assert cycle.filter(["node-3"]).codes.tolist() == [0]
        assert peek(cycle, "result") == 6
        assert cycle.runner.guest_memory.read(1024, 6, "test") == b"node-3"
    return failed
