"""Go SDK on the real host: inputs and results of every hook; speed and memory."""

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kubewasp.framework.cluster_events import Action, ClusterEvent
from kubewasp.framework.status import Code, Status
from kubewasp.k8s.codec import encode
from kubewasp.k8s.pods import Pod, PodParser
from kubewasp.projects import go, toolchain
from kubewasp.state.node_objects import Nodes
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_cycle import GuestCycle
from kubewasp.wasm.hooks import HOOKS
from tests import samples
from tests.guests.build import project_guest
from tests.wasm.fakes import FakeHandle

GUESTS = Path(__file__).parent / "go"
SHOWN = {
    "metadata": {"labels": {"zone": "z-1", "score": "20"}},
    "spec": {"providerID": "cloud://1", "taints": [{"key": "spot", "value": "yes", "effect": "NoSchedule"}]},
    "status": {
        "allocatable": {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "1Gi", "pods": "10", "example.com/gpu": "2"},
        "conditions": [{"type": "Ready", "status": "True"}],
        "images": [{"names": ["nginx:1"], "sizeBytes": 1000}],
    },
}


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}}


def pod(
    name: str = "web", *, show: str = "", nodes: str = "", requests: dict[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    annotations = {key: value for key, value in (("show", show), ("nodes", nodes)) if value}
    made = samples.pod(name, annotations=annotations, **more)
    made["spec"] = {"containers": [{"name": "main", "image": "i", "resources": {"requests": requests or {}}}]}
    return made


@pytest.fixture(scope="module")
def guest() -> Guest:
    return load()


def load(config: str = "", handle: FakeHandle | None = None) -> Guest:
    return Guest.load(project_guest(GUESTS / "everyhook"), name="everyhook", config=config, handle=handle)


@pytest.fixture
def table() -> NodeTable:
    """node-1, which has something to show, node-2 and node-3."""
    first = {**SHOWN, "metadata": {"name": "node-1", **SHOWN["metadata"]}}
    return NodeTable.of(Nodes([first, node("node-2", score="10"), node("node-3", score="60")]))


def on_node(name: str, node_name: str, **requests: str) -> Pod:
    placed = pod(name, requests=requests)
    placed["spec"]["nodeName"] = node_name
    return PodParser().parse(placed, encode("Pod", placed))


def begun(guest: Guest, pod: Any, table: NodeTable) -> GuestCycle:
    cycle = guest.cycle(pod, table)
    assert cycle.prefilter().status.is_success
    return cycle


def reason(cycle: GuestCycle, name: str = "node-1") -> str:
    return cycle.filter([name]).reason(0)


# ---------------------------------------------------------------------- the SDK itself


def run_go(*command: str, **settings: str) -> str:
    tool = go.find().command
    if command[0] == "gofmt":
        root = subprocess.run([tool, "env", "GOROOT"], capture_output=True, text=True, check=True).stdout.strip()
        tool, command = str(Path(root) / "bin" / "gofmt"), command[1:]
    offline = {"GOWORK": "off", "GOPROXY": "off", "GOFLAGS": "", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    done = subprocess.run(
        [tool, *command], cwd=toolchain.sdk("go"), env=os.environ | offline | settings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_own_tests_pass() -> None:
    assert "ok" in run_go("test", "./...")


def test_go_vet_finds_nothing() -> None:
    # As in the builds and tests, so that the standard library is compiled once for both.
    run_go("vet", "./...")
    run_go("vet", "-trimpath", "./...", GOOS="wasip1", GOARCH="wasm")


def test_all_sources_are_formatted() -> None:
    assert run_go("gofmt", "-l", ".", str(GUESTS)) == ""


# ---------------------------------------------------------------------- loading


def test_all_hooks_that_the_plugin_implements_are_called_and_no_others(guest: Guest) -> None:
    assert set(guest.hooks) == set(HOOKS)
    assert Guest.load(project_guest(GUESTS / "reader")).hooks == ("score",)


def test_events_are_registered(guest: Guest) -> None:
    assert guest.cluster_events == (
        ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL),
        ClusterEvent("Pod", Action.DELETE),
    )


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ('{"fail": "factory"}', "the factory was told to fail"),
        ('{"fial": 1}', 'config: unknown field "fial"'),
        ('{"fail": 1', "config: the JSON is cut off"),
    ],
)
def test_a_plugin_that_cannot_be_made_is_a_load_error_with_just_that_text(config: str, text: str) -> None:
    with pytest.raises(GuestLoadError) as caught:
        load(config)
    assert str(caught.value).splitlines()[0] == f"wasm: _initialize error: {text}"


def test_a_panic_fails_the_hook_with_the_text_of_the_panic(table: NodeTable) -> None:
    with load('{"fail": "filter"}').cycle(pod(), table) as cycle:
        assert cycle.prefilter().status.is_success
        verdict = cycle.filter(["node-1"])
        assert verdict.codes[0] == Code.ERROR
        assert "panic: told to panic in filter" in verdict.reason(0)


def test_the_clock_is_the_schedulers() -> None:
    made = load(handle=FakeHandle())
    assert [line.text for line in made.start_logs] == ['"made" at="2023-11-14T22:13:20Z"']


# ---------------------------------------------------------------------- queue


def test_pre_enqueue(guest: Guest, table: NodeTable) -> None:
    with guest.cycle(pod(labels={"hold": "quota"}), table) as cycle:
        assert cycle.preenqueue().status == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "held: quota")
    with guest.cycle(pod(), table) as cycle:
        assert cycle.preenqueue().status.is_success


def test_sort_keys_order_by_priority_and_time(guest: Guest, table: NodeTable) -> None:
    def key(name: str, priority: int, queued_at: float) -> bytes:
        queued = pod(name)
        queued["spec"]["priority"] = priority
        with guest.cycle(queued, table) as cycle:
            return cycle.queuesort(queued_at).key

    keys = {
        "urgent": key("urgent", 1000, 300.5),
        "first": key("first", 0, 100.25),
        "second": key("second", 0, 100.5),
        "low": key("low", -5, 1.0),
    }
    assert sorted(keys, key=keys.__getitem__) == ["urgent", "first", "second", "low"]


def test_queueing_hints_see_what_changed(guest: Guest, table: NodeTable) -> None:
    with guest.cycle(pod("web"), table) as cycle:

        def hint(resource: str, action: int, old: bytes = b"", new: bytes = b"") -> bool:
            return cycle.queueinghint(resource, action, old, new).queue

        mine, other = encode("Node", node("n", **{"for": "web"})), encode("Node", node("n"))
        victim = encode("Pod", pod("victim"))
        assert hint("Node", Action.ADD, new=mine)
        assert not hint("Node", Action.ADD, new=other)
        assert not hint("Node", Action.UPDATE_NODE_LABEL, old=other, new=mine)
        assert hint("Pod", Action.DELETE, old=victim)
        assert not hint("Pod", Action.UPDATE_POD_LABEL, old=victim, new=victim)


# ---------------------------------------------------------------------- scheduling cycle


def test_pre_filter_narrows_the_nodes(guest: Guest, table: NodeTable) -> None:
    with guest.cycle(pod(nodes="node-3,node-1"), table) as cycle:
        assert cycle.prefilter().node_names == ("node-3", "node-1")
    with guest.cycle(pod(), table) as cycle:
        assert cycle.prefilter().node_names is None


def test_pods_are_signed(guest: Guest, table: NodeTable) -> None:
    def signature(**labels: str) -> int:
        with guest.cycle(pod(labels=labels), table) as cycle:
            (found,) = cycle.signpods([cycle.pod]).signatures
            return found

    assert signature(sign="a") == signature(sign="a") != 0
    assert signature(sign="b") != signature(sign="a")
    assert signature() == 0


def test_filter_sees_numbers_of_node_and_pod(guest: Guest, table: NodeTable) -> None:
    table.add_pod(on_node("old", "node-1", cpu="1500m", **{"example.com/gpu": "1"}))
    with begun(guest, pod(show="numbers", requests={"cpu": "250m", "example.com/gpu": "2"}), table) as cycle:
        gib, default = 2**30, 200 * 2**20
        assert reason(cycle) == (
            f"node 1500/4000 0/{8 * gib} 0/{gib} 1/10 1/2 nonzero 1500 {default} pod 250 2 1 nonzero 250 {default}"
        )
        assert reason(cycle, "node-2") == f"node 0/0 0/0 0/0 0/0 0/0 nonzero 0 0 pod 250 2 1 nonzero 250 {default}"


def test_filter_sees_the_node_and_its_changes(guest: Guest, table: NodeTable) -> None:
    for zone in ("z-1", "z-2"):
        changed = {**SHOWN, "metadata": {"name": "node-1", "labels": {"zone": zone}}}
        other = NodeTable.of(Nodes([changed, node("node-2")]))
        with begun(guest, pod(show="node"), other) as cycle:
            assert reason(cycle) == f"node-1 {zone} True cloud://1 nginx:1=1000 4"
            assert reason(cycle, "node-2") == "node-2    "


def test_filter_sees_the_pods_on_a_node_as_they_come_and_go(guest: Guest, table: NodeTable) -> None:
    def seen() -> str:
        with begun(guest, pod(show="pods"), table) as cycle:
            return reason(cycle)

    assert seen() == ""
    one = on_node("one", "node-1", cpu="1")
    table.add_pod(one)
    table.add_pod(on_node("two", "node-1"))
    assert seen() == "one(1000) two(0) "
    table.remove_pod(one)
    assert seen() == "two(0) "


def test_a_taint_rejects_a_node(guest: Guest, table: NodeTable) -> None:
    with begun(guest, pod(), table) as cycle:
        assert cycle.filter().rejected == {
            "node-1": Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "untolerated taint spot")
        }
    tolerant = pod()
    tolerant["spec"]["tolerations"] = [{"key": "spot", "operator": "Exists"}]
    with begun(guest, tolerant, table) as cycle:
        assert not cycle.filter().rejected


def test_a_state_belongs_to_one_pod(guest: Guest, table: NodeTable) -> None:
    for name in ("one", "two", "one"):
        with begun(guest, pod(name), table) as cycle:
            assert not cycle.failed


def test_trials_work_on_copies_of_the_state(guest: Guest, table: NodeTable) -> None:
    with begun(guest, pod(show="trial"), table) as cycle:
        first = cycle.states.clone(0)
        cycle.states.select(first)
        cycle.remove_pod(pod("victim"), "node-1")
        second = cycle.states.clone(first)
        cycle.states.select(second)
        cycle.add_pod(pod("guest"), "node-2")
        assert reason(cycle) == "-victim@node-1 +guest@node-2"
        cycle.states.select(first)
        cycle.states.forget(second)
        assert reason(cycle) == "-victim@node-1"
        cycle.states.select(0)
        assert reason(cycle) == ""


def test_post_filter_nominates(guest: Guest, table: NodeTable) -> None:
    with begun(guest, pod(), table) as cycle:
        result = cycle.postfilter({"node-1": 3, "node-2": 2})
        assert (result.status.code, result.nominating_mode, result.nominated_node) == (Code.SUCCESS, 1, "node-2")
        result = cycle.postfilter({"node-1": 3, "node-3": 3})
        assert (result.nominating_mode, result.reason) == (0, "2 nodes, none to rescue")


def test_pre_score_sees_the_feasible_nodes(guest: Guest, table: NodeTable) -> None:
    with begun(guest, pod(), table) as cycle:
        logs = cycle.prescore(["node-3", "node-1"]).trace.logs
        assert [(line.letter, line.text) for line in logs] == [
            ("W", '"prescore" feasible="node-3 node-1 " pod="default/web"')
        ]


def test_scores_and_their_normalization(guest: Guest, table: NodeTable) -> None:
    with begun(guest, pod(), table) as cycle:
        cycle.prescore(["node-1", "node-2", "node-3"])
        scores = cycle.score(["node-1", "node-2", "node-3"]).as_dict()
        assert scores == {"node-1": 20, "node-2": 10, "node-3": 60}
        assert cycle.normalize_score(scores).scores == {"node-1": 20, "node-2": 0, "node-3": 100}


def test_a_score_may_fail(guest: Guest) -> None:
    table = NodeTable.of(Nodes([node("node-1", score="bad")]))
    with begun(guest, pod(), table) as cycle:
        assert cycle.score(["node-1"]).status(0) == Status(Code.ERROR, "no score for node-1")


# ---------------------------------------------------------------------- binding


def test_images_have_the_number_of_nodes(guest: Guest, table: NodeTable) -> None:
    with begun(guest, pod(show="images"), table) as cycle:
        assert reason(cycle) == "1000 bytes on 1 nodes"
        assert reason(cycle, "node-2") == "0 bytes on 0 nodes"


def test_a_waiting_pod_is_found_by_its_uid(table: NodeTable) -> None:
    handle = FakeHandle()
    handle.waiting = {uid: encode("Pod", samples.pod(uid, uid=uid)) for uid in ("u0", "u1")}
    with load(handle=handle).cycle(pod(show="waiting"), table, handle=handle) as cycle:
        cycle.prefilter()
        assert reason(cycle) == "[default/u1]"


def test_annotations_of_reserve_go_with_the_binding(guest: Guest, table: NodeTable) -> None:
    with begun(guest, pod(labels={"gpu": "2"}), table) as cycle:
        assert cycle.reserve("node-2").annotations == {"example.com/gpu-index": "2"}


def test_the_binding_cycle(table: NodeTable) -> None:
    handle = FakeHandle()
    with begun(load(handle=handle), pod(), table) as cycle:
        assert cycle.reserve("node-2").status == Status(Code.UNSCHEDULABLE, "reserve on node-2")
        assert [line.text for line in cycle.unreserve("node-2").trace.logs] == ['"unreserve" node="node-2" state="web"']
        assert cycle.prebind("node-3").status == Status(Code.ERROR, "prebind on node-3")
        assert cycle.bind("node-3").status.code == Code.SKIP
        cycle.postbind("node-3")
    (event,) = handle.events
    assert (event.type, event.reason, event.action, event.note) == ("Normal", "Bound", "Binding", 'on "node-3"')
    assert (event.regarding.kind, event.regarding.name, event.regarding.uid) == ("Pod", "web", "uid of web")


def test_permit_waits_and_then_decides_of_the_others(table: NodeTable) -> None:
    handle = FakeHandle()
    guest = load(handle=handle)
    with begun(guest, pod(), table) as cycle:
        result = cycle.permit("node-1")
        assert (result.status.code, result.timeout_ms) == (Code.WAIT, 1500)
        handle.waiting = {
            "uid of a": encode("Pod", pod("a")),
            "uid of b": encode("Pod", pod("b", labels={"gang": "broken"})),
        }
        assert cycle.permit("node-1").status.is_success
    assert handle.decided == [("uid of a", "everyhook", ""), ("uid of b", "everyhook", "the gang is broken")]


# ---------------------------------------------------------------------- speed and memory

MANY = 2000


def many_nodes() -> NodeTable:
    features = {f"example.com/feature-{number}": f"value-{number}" for number in range(12)}
    return NodeTable.of(
        Nodes(
            node(f"node-{number}", **features, **{"topology.kubernetes.io/zone": f"zone-{number % 3}"})
            for number in range(MANY)
        )
    )


def test_an_unchanged_node_is_not_read_again() -> None:
    guest, table, rows = Guest.load(project_guest(GUESTS / "reader")), many_nodes(), np.arange(MANY)
    expected = 50 * len(range(1, MANY, 3))
    with guest.cycle(pod(), table) as cycle:
        assert (cycle.hooks.call_rows("score", rows).values >> 32).sum() == expected
        places = cycle.runner.inputs._nodes._rows["node"].tolist()
    heap = guest.module.engine.heap
    for place in places:  # whoever reads a node now finds nothing
        heap.write(place & 0xFFFFFFFF, bytes(place >> 32))
    with guest.cycle(pod(), table) as cycle:
        assert (cycle.hooks.call_rows("score", rows).values >> 32).sum() == expected


def test_memory_stays_flat_over_many_cycles() -> None:
    guest, table, rows = Guest.load(project_guest(GUESTS / "reader")), many_nodes(), np.arange(20)

    def run(cycles: int) -> int:
        for number in range(cycles):
            with guest.cycle(pod(f"pod-{number}"), table) as cycle:
                cycle.hooks.call_rows("score", rows)
                used = cycle.runner.memory_bytes
        return used

    before = run(2000)
    assert run(6000) == before
