"""Fuzzed arguments of every import: a result or an Error, without effects on others."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.state.node_objects import Nodes
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.core.abi import EXTENSION_IMPORTS
from kubewasp.wasm.core.adapter_layout import TEXTS
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_cycle import GuestCycle
from kubewasp.wasm.limits import Limits
from tests import samples
from tests.guests import EXTENSION, IMPORTS
from tests.guests.build import SOURCES, wat, wat_text
from tests.plugins.building import make_node, make_table
from tests.wasm.fakes import FakeHandle
from tests.wasm.probing import encoded_pod
from tests.wasm.steering import peek, steer

SMALL, HUGE = 65536, 2**32
FIXED_TEXTS = b'\x0a\x06\x0a\x00\x12\x00\x1a\x00null:{"Size":,"NumNodes":}'


def numbers(size: int) -> st.SearchStrategy[int]:
    """Addresses and lengths around everything that could be an edge, for a memory of that size; as i32."""
    edges = {0, 1, 6, 8, 48, 64, 128, 1024, size - 8, size - 1, size, size + 1, 2**31 - 1, 2**31, 2**32 - 1}
    unsigned = st.sampled_from(sorted(edge % 2**32 for edge in edges)) | st.integers(0, 2**32 - 1)
    return unsigned.map(lambda number: (number + 2**31) % 2**32 - 2**31)


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


@cache
def impatient() -> Guest:
    return Guest.load(wat("imports"), name="fuzzed", limits={"call_timeout": 0.05})


def own_texts(cycle: GuestCycle) -> bytes:
    """The adapter's fixed texts, which a guest must not be able to change."""
    return bytes(cycle.runner._memory.view[TEXTS : TEXTS + len(FIXED_TEXTS)])


def shared_nodes(cycle: GuestCycle) -> list[bytes]:
    """The nodes as they lie in the memory that all instances read."""
    view = cycle.runner.inputs._nodes._heap._view
    places = [int(row["node"]) for row in cycle.runner.inputs._nodes._rows]
    return [view[place & 0xFFFFFFFF : (place & 0xFFFFFFFF) + (place >> 32)].tobytes() for place in places]


def fuzz(size: int, which: int, data: st.DataObject) -> None:
    arguments = data.draw(st.tuples(*[numbers(size)] * IMPORTS[which][2]), label="arguments")
    with guest(size).cycle(samples.pod(), cluster()) as cycle:
        steer(cycle, which=which, **dict(zip("abcde", arguments, strict=False)))
        verdicts = cycle.filter(["node-2"])
        assert verdicts.codes[0] in (0, 1)
        if verdicts.codes[0]:
            assert verdicts.reason(0).startswith("wasm: filter error: ")
            assert '(plugin "fuzzed")' in verdicts.reason(0)
            assert cycle.runner.broken
        own = own_texts(cycle)
        assert own == FIXED_TEXTS, "the adapter's own texts"
        assert shared_nodes(cycle) == [cluster().encoded(row) for row in range(len(cluster()))]
    with guest(size).cycle(samples.pod(), cluster()) as cycle:
        steer(cycle, which=5, a=1024, b=64)
        assert cycle.filter(["node-3"]).codes.tolist() == [0]
        assert peek(cycle, "result") == 6
        assert cycle.runner.guest_memory.read(1024, 6, "test") == b"node-3"


@pytest.mark.parametrize("which", range(len(IMPORTS)), ids=[name for _, name, _ in IMPORTS])
@given(data=st.data())
@settings(max_examples=50)
def test_an_import_called_with_any_numbers_answers_or_fails_cleanly(which: int, data: st.DataObject) -> None:
    fuzz(SMALL, which, data)


# random_get is left out: it would fill the 4 GiB.
@pytest.mark.parametrize(
    "which", [pytest.param(index, id=name) for index, (_, name, _) in enumerate(IMPORTS) if name != "random_get"]
)
@given(data=st.data())
@settings(max_examples=25)
def test_a_guest_that_has_all_the_memory_there_is_gets_no_further(which: int, data: st.DataObject) -> None:
    fuzz(HUGE, which, data)


def shared_records(cycle: GuestCycle) -> list[bytes]:
    """The numbers of the nodes, without where their pods are, and the pods that were asked for."""
    heap, numbers_ = cycle.runner.inputs._nodes._heap, cycle.runner.inputs._nodes._records
    records = numbers_._records[: len(table().nodes)]
    places = [(place & 0xFFFFFFFF, place >> 32) for place in records[:, 0].tolist() if place > 0]
    pods = [heap._view[address : address + length].tobytes() for address, length in places]
    return [records[:, 1:13].tobytes(), *pods]


def fuzz_extension(size: int, which: int, data: st.DataObject) -> None:
    item = EXTENSION_IMPORTS[which]
    rows = st.sampled_from([0, 1, 8, 9, -1]) | numbers(size)
    drawn = [rows if name == "row" else numbers(size) for name in item.parameters]
    arguments = data.draw(st.tuples(*drawn), label="arguments")
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
        verdicts = cycle.filter(["node-2"])
        assert verdicts.codes[0] in (0, 1)
        if verdicts.codes[0]:
            assert verdicts.reason(0).startswith("wasm: filter error: ")
            assert '(plugin "fuzzed")' in verdicts.reason(0)
            assert cycle.runner.broken
        written = (0, 0)
        if item.parameters[-2:] == ("buf", "limit"):
            buf, limit = (number % 2**32 for number in arguments[-2:])
            written = (buf, buf + min(limit, 0 if verdicts.codes[0] else peek(cycle, "result")))
        elif item.parameters == ("buf",):
            written = (arguments[0] % 2**32, arguments[0] % 2**32 + 24)
        after = cycle.runner.guest_memory.read(0, SMALL, "test")
        assert (after[: written[0]], after[written[1] :]) == (before[: written[0]], before[written[1] :])
        assert own_texts(cycle) == FIXED_TEXTS, "the adapter's own texts"
        # A new resource makes the records wider: the pods are written again when somebody asks.
        assert shared_records(cycle) in ([records, records[:1]] if item.name == "resource" else [records])
        assert shared_nodes(cycle) == [table().objects.encoded(row) for row in range(9)]
    with fuzzed.cycle(encoded_pod("pod-1"), table()) as cycle:
        steer(cycle, which=9, a=2, b=1024, c=64)
        assert cycle.filter(["node-3"]).codes.tolist() == [0]
        assert peek(cycle, "result") == 6
        assert cycle.runner.guest_memory.read(1024, 6, "test") == b"node-3"


@pytest.mark.parametrize("which", range(len(EXTENSION)), ids=[name for name, _ in EXTENSION])
@given(data=st.data())
@settings(max_examples=40)
def test_an_import_of_the_extension_answers_or_fails_cleanly(which: int, data: st.DataObject) -> None:
    fuzz_extension(SMALL, which, data)


@pytest.mark.parametrize(
    "which", [pytest.param(index, id=name) for index, (name, parameters) in enumerate(EXTENSION) if parameters]
)
@given(data=st.data())
@settings(max_examples=20)
def test_an_extended_guest_that_has_all_the_memory_there_is_gets_no_further(which: int, data: st.DataObject) -> None:
    fuzz_extension(HUGE, which, data)


@given(
    st.lists(st.tuples(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 6, 65536, 2**31, 2**32 - 1])), max_size=8),
    st.integers(0, 10),
)
@settings(max_examples=60)
def test_output_from_anywhere_is_captured_or_fails_cleanly(pieces: list[tuple[int, int]], count: int) -> None:
    """fd_write goes through a list of addresses and lengths that lies in the guest's memory."""
    listed = b"".join(at.to_bytes(4, "little") + length.to_bytes(4, "little") for at, length in pieces)
    with guest(SMALL).cycle(samples.pod(), cluster()) as cycle:
        cycle.runner.guest_memory.write(2048, listed, "test")
        which = [name for _, name, _ in IMPORTS].index("fd_write")
        steer(cycle, which=which, a=1, b=2048, c=min(count, len(pieces)), d=4096)
        verdicts = cycle.filter(["node-2"])
        assert verdicts.codes[0] in (0, 1)
        assert len(verdicts.trace.output) <= cycle.guest.limits.output + 100
        assert own_texts(cycle) == FIXED_TEXTS


@given(st.binary(min_size=96, max_size=96), st.integers(-1, 3))
@settings(max_examples=40)
def test_a_sleep_of_any_kind_ends_or_fails_cleanly(subscriptions: bytes, count: int) -> None:
    with impatient().cycle(samples.pod(), cluster()) as cycle:
        cycle.runner.guest_memory.write(2048, subscriptions, "test")
        which = [name for _, name, _ in IMPORTS].index("poll_oneoff")
        steer(cycle, which=which, a=2048, b=8192, c=count, d=4096)
        verdicts = cycle.filter(["node-2"])
        assert verdicts.codes[0] in (0, 1)
        if verdicts.codes[0]:
            assert "time limit of 0.05 s exceeded" in verdicts.reason(0)
