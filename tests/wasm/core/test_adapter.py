"""Adapter imports inside the sandbox: values, and buffers that are too small."""

import re

import pytest
import wasmtime

from kubewasp.k8s.codec import encode
from kubewasp.state.node_objects import Nodes
from kubewasp.wasm.core.abi import ADAPTER_IMPORTS
from kubewasp.wasm.core.adapter import adapter_wat, shim_wat
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_cycle import GuestCycle
from tests import samples
from tests.guests import IMPORTS
from tests.guests.build import wat, wat_text
from tests.wasm.steering import getter, peek, steer

BUFFER = 1024


@pytest.fixture
def echo() -> Guest:
    return Guest.load(wat("echo"), name="echo", config="the config")


@pytest.fixture
def imports() -> Guest:
    return Guest.load(wat("imports"), name="imports", config="the config")


def echoed(cycle: GuestCycle, name: str, node: str = "node-1", limit: int = 2048) -> bytes:
    """Bytes read by the guest `echo`; also its reason, though not all of it is text."""
    steer(cycle, which=getter(name), limit=limit)
    assert cycle.filter([node]).codes.tolist() == [2]
    return last_echoed(cycle)


def last_echoed(cycle: GuestCycle) -> bytes:
    return cycle.runner.guest_memory.read(BUFFER, peek(cycle, "first_len"), "test")


def ask(cycle: GuestCycle, function: str, *arguments: int, node: str = "node-1") -> int:
    """Result of a host function, called by the guest with these arguments."""
    which = [name for _, name, _ in IMPORTS].index(function)
    steer(cycle, which=which, **dict(zip("abcde", arguments, strict=False)))
    verdicts = cycle.filter([node])
    assert verdicts.codes.tolist() == [0], verdicts.reason(0)
    return peek(cycle, "result")


# ---------------------------------------------------------------- the two modules


def test_the_shim_has_a_trampoline_for_each_import() -> None:
    module = wasmtime.Module(wasmtime.Engine(), wasmtime.wat2wasm(shim_wat()))
    assert {item.name for item in module.exports} == {"table", *(item.key for item in ADAPTER_IMPORTS)}


def test_the_adapter_fills_the_shims_table_in_its_order() -> None:
    found = re.search(r"\(elem \(table \$shim\) \(i32.const 0\) func (.*)\)", adapter_wat())
    assert found
    assert found[1].split() == [f"${item.key}" for item in ADAPTER_IMPORTS]


# ---------------------------------------------------------------- values


def test_the_guest_reads_the_pod_as_it_was_given(echo: Guest, nodes: Nodes) -> None:
    encoded = encode("Pod", samples.pod("pod-1", labels={"app": "web"}))
    with echo.cycle(encoded, nodes) as cycle:
        assert echoed(cycle, "currentPod") == encoded


def test_the_guest_reads_the_node_at_hand(echo: Guest, nodes: Nodes) -> None:
    with echo.cycle(samples.pod(), nodes) as cycle:
        for name in nodes:
            assert echoed(cycle, "currentNodeName", name) == name.encode()
            assert echoed(cycle, "node", name) == encode("Node", samples.node(name))


def test_the_guest_reads_its_configuration(echo: Guest, nodes: Nodes) -> None:
    with echo.cycle(samples.pod(), nodes) as cycle:
        assert echoed(cycle, "get_config") == b"the config"


def test_a_configuration_may_be_any_text(nodes: Nodes) -> None:
    for text in ("ä€😀", "\0\0", "x" * 100_000):
        guest = Guest.load(wat("echo"), config=text, limits={"reason": 200_000})
        with guest.cycle(samples.pod(), nodes) as cycle:
            assert echoed(cycle, "get_config") == text.encode()


def test_the_guest_reads_a_node_that_is_not_at_hand(imports: Guest, nodes: Nodes) -> None:
    encoded = encode("Node", samples.node("node-1"))
    with imports.cycle(samples.pod(), nodes) as cycle:
        assert ask(cycle, "node", 64, 6, BUFFER, 4096, node="node-3") == len(encoded)
        assert cycle.runner.guest_memory.read(BUFFER, len(encoded), "test") == encoded


def test_a_node_that_does_not_exist_has_no_bytes(imports: Guest, nodes: Nodes) -> None:
    with imports.cycle(samples.pod(), nodes) as cycle:
        assert ask(cycle, "node", 64, 5, BUFFER, 4096) == 0, "node- is none"
        assert ask(cycle, "node", 64, 0, BUFFER, 4096) == 0, "and neither is the empty name"
        assert ask(cycle, "node", 0, 5000, BUFFER, 4096) == 0, "and neither is a long one"


def test_the_node_list_has_every_node(echo: Guest, nodes: Nodes) -> None:
    items = b"".join(
        b"\x12" + bytes([len(item)]) + item for item in (encode("Node", samples.node(name)) for name in nodes)
    )
    with echo.cycle(samples.pod(), nodes) as cycle:
        assert echoed(cycle, "nodeList") == b"\x0a\x06\x0a\x00\x12\x00\x1a\x00" + items


def test_without_nodes_the_node_list_is_empty_but_valid(echo: Guest) -> None:
    with echo.cycle(samples.pod(), ()) as cycle:
        steer(cycle, which=getter("nodeList"))
        assert cycle.prefilter().reason.encode() == encode("NodeList", {})


def test_image_states_count_the_nodes_that_have_an_image(echo: Guest) -> None:
    cluster = Nodes(
        [
            samples.node("node-1", images={'b"\n': 7, "a": 0}),
            samples.node("node-2", images={"a": 0, "ü": 2**63 - 1}),
            samples.node("node-3"),
        ]
    )
    with echo.cycle(samples.pod(), cluster) as cycle:
        states = [echoed(cycle, "nodeImageStates", name).decode() for name in cluster]
    assert states == [
        '{"a":{"Size":0,"NumNodes":2},"b\\"\\n":{"Size":7,"NumNodes":1}}',
        '{"a":{"Size":0,"NumNodes":2},"ü":{"Size":9223372036854775807,"NumNodes":1}}',
        "{}",
    ]


def test_image_states_of_an_unknown_node_are_null(imports: Guest, nodes: Nodes) -> None:
    with imports.cycle(samples.pod(), nodes) as cycle:
        assert ask(cycle, "nodeImageStates", 64, 5, BUFFER, 100) == 4
        assert cycle.runner.guest_memory.read(BUFFER, 4, "test") == b"null"


def test_empty_lists_and_maps_are_not_empty_bytes(echo: Guest, nodes: Nodes) -> None:
    with echo.cycle(samples.pod(), nodes) as cycle:
        steer(cycle, which=getter("filteredNodeList"))
        assert cycle.prescore([]).reason == "[]"
        steer(cycle, which=getter("nodeToStatusMap"))
        assert cycle.postfilter({}).reason == "{}"
        steer(cycle, which=getter("nodeScoreList"))
        assert cycle.normalize_score({}).reason == "{}"


def test_lists_and_maps_are_json_in_the_order_given(echo: Guest, nodes: Nodes) -> None:
    nodes.put({"metadata": {"name": 'n"ö'}})
    with echo.cycle(samples.pod(), nodes) as cycle:
        steer(cycle, which=getter("filteredNodeList"))
        assert cycle.prescore(["node-2", 'n"ö']).reason == '["node-2","n\\"ö"]'
        assert cycle.prescore().reason == '["node-1","node-2","node-3","n\\"ö"]'
        steer(cycle, which=getter("nodeToStatusMap"))
        assert cycle.postfilter({"node-2": 2, "node-1": 3}).reason == '{"node-2":2,"node-1":3}'
        steer(cycle, which=getter("nodeScoreList"))
        assert cycle.normalize_score({"node-1": -(2**31), "node-2": 7}).reason == '{"node-1":-2147483648,"node-2":7}'


@pytest.mark.parametrize("name", ["targetPod", "filteredNodeList", "nodeToStatusMap", "nodeScoreList"])
def test_what_belongs_to_another_hook_is_absent(name: str, echo: Guest, nodes: Nodes) -> None:
    with echo.cycle(samples.pod(), nodes) as cycle:
        assert echoed(cycle, name) == b""
        steer(cycle, which=getter(name))
        assert cycle.score(["node-1"]).reason(0) == ""


def test_the_target_pod_is_there_for_one_call(echo: Guest, nodes: Nodes) -> None:
    other = encode("Pod", samples.pod("other"))
    with echo.cycle(samples.pod(), nodes) as cycle:
        steer(cycle, which=getter("targetPod"))
        for hook in (cycle.add_pod, cycle.remove_pod):
            for target in (other, samples.pod("other")):
                hook(target, "node-1")
                assert last_echoed(cycle) == other
        assert cycle.reserve("node-1").reason == ""


def test_a_hook_without_a_node_has_no_node_at_hand(echo: Guest, nodes: Nodes) -> None:
    with echo.cycle(samples.pod(), nodes) as cycle:
        cycle.filter()
        for name in ("currentNodeName", "node"):
            steer(cycle, which=getter(name))
            assert cycle.prefilter().reason == ""
        steer(cycle, which=getter("nodeImageStates"))
        assert cycle.prefilter().reason == "null"


def test_what_belongs_to_one_pod_is_gone_with_the_next(echo: Guest, nodes: Nodes) -> None:
    with echo.cycle(samples.pod("one"), nodes) as cycle:
        cycle.prescore()
        cycle.postfilter({"node-1": 2})
        cycle.normalize_score({"node-1": 2})
    with echo.cycle(samples.pod("two"), nodes) as cycle:
        assert b"two" in echoed(cycle, "currentPod")
        for name in ("filteredNodeList", "nodeToStatusMap", "nodeScoreList"):
            assert echoed(cycle, name) == b""
    assert echo.stats.created == 1


# ---------------------------------------------------------------- buffers


@pytest.mark.parametrize("name", ["currentPod", "currentNodeName", "node", "nodeList", "get_config", "nodeImageStates"])
def test_a_buffer_of_any_size_leads_to_the_value(name: str, echo: Guest) -> None:
    cluster = Nodes([samples.node("node-1", images={"image": 12345})])
    with echo.cycle(samples.pod(), cluster) as cycle:
        value = echoed(cycle, name)
        length = len(value)
        assert length > 2
        for limit in (0, 1, length - 1, length, length + 1):
            assert echoed(cycle, name, limit=limit) == value
            assert peek(cycle, "first_len") == length, "the full length is told whatever the limit"


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("currentPod", ()),
        ("currentNodeName", ()),
        ("get_config", ()),
        ("nodeList", ()),
        ("node", (64, 6)),
        ("nodeImageStates", (64, 6)),
    ],
)
def test_nothing_is_written_that_does_not_fit(name: str, before: tuple[int, ...], imports: Guest, nodes: Nodes) -> None:
    with imports.cycle(samples.pod(), nodes) as cycle:
        length = ask(cycle, name, *before, BUFFER, 0)
        canary = b"\xaa" * (length + 16)
        cycle.runner.guest_memory.write(BUFFER, canary, "test")
        assert ask(cycle, name, *before, BUFFER, length - 1) == length
        assert cycle.runner.guest_memory.read(BUFFER, len(canary), "test") == canary
        assert ask(cycle, name, *before, BUFFER, length) == length
        written = cycle.runner.guest_memory.read(BUFFER, len(canary), "test")
        assert written != canary
        assert written[length:] == canary[length:], "nothing behind the value"


def test_a_buffer_may_end_where_the_memory_ends(imports: Guest, nodes: Nodes) -> None:
    with imports.cycle(samples.pod(), nodes) as cycle:
        assert ask(cycle, "currentNodeName", 65536 - 6, 6) == 6
        assert cycle.runner.guest_memory.read(65536 - 6, 6, "test") == b"node-1"
        steer(cycle, a=65536 - 5)
        verdicts = cycle.filter(["node-1"])
    assert verdicts.reason(0).startswith(
        "wasm: filter error: currentNodeName: buffer outside of the guest's memory (plugin"
    )


def test_a_large_limit_is_no_length(imports: Guest, nodes: Nodes) -> None:
    """Guests pass limits that reach far behind their memory; only what is written has to lie inside."""
    with imports.cycle(samples.pod(), nodes) as cycle:
        assert ask(cycle, "currentNodeName", BUFFER, -1) == 6
        assert ask(cycle, "nodeList", BUFFER, 2**31 - 1) > 0


READS_NODE_LIST = """
(module
  (import "k8s.io/api" "nodeList" (func $node_list (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (global $length (export "length") (mut i32) (i32.const 0))
  (func (export "filter") (result i32)
    (global.set $length (call $node_list (i32.const 0) (i32.const 2048)))
    (drop (memory.grow (i32.shr_u (global.get $length) (i32.const 16))))
    (i32.ne (global.get $length) (call $node_list (i32.const 0) (global.get $length)))))
"""


def test_a_guest_reads_a_node_list_of_10_megabytes() -> None:
    cluster = Nodes(samples.node(f"node-{number}", annotations={"a": "x" * 10_000}) for number in range(1, 1001))
    with Guest.load(wat_text(READS_NODE_LIST)).cycle(samples.pod(), cluster) as cycle:
        assert cycle.filter(["node-7"]).codes.tolist() == [0]
        length = peek(cycle, "length")
        found = cycle.runner.guest_memory.read(0, length, "test")
    assert length > 10_000_000
    assert found == encode(
        "NodeList", {"items": [samples.node(name, annotations={"a": "x" * 10_000}) for name in cluster]}
    )
