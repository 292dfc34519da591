"""Components behind guest cycles: every hook, and failures between pods."""

import itertools
import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from kubewasp.framework.cluster_events import Action, ClusterEvent
from kubewasp.framework.status import Code
from kubewasp.k8s.codec import encode
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.pods import PodParser
from kubewasp.state.node_objects import Nodes
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm import cycle_time
from kubewasp.wasm.component.component_instance import ComponentInstance
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.limits import Limits
from tests import samples
from tests.wasm.component.components import pod, probe
from tests.wasm.fakes import FakeHandle


@pytest.fixture(scope="module")
def guest() -> Guest:
    """One for many tests; those that break it or count its instances load their own."""
    return probe()


@contextmanager
def requests() -> Iterator[list[str]]:
    """The requests that are sent, while this is open."""
    sent: list[str] = []
    before = ComponentInstance.exchange

    def exchange(self: ComponentInstance, request: str, **arguments: Any) -> str:
        sent.append(request)
        return before(self, request, **arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ComponentInstance, "exchange", exchange)
        yield sent


def table_of(*names: str) -> NodeTable:
    table = NodeTable()
    for name in names:
        put(table, name)
    return table


def put(table: NodeTable, name: str, **metadata: Any) -> None:
    manifest = samples.node(name, **metadata) | {"status": {"allocatable": {"cpu": "4", "example.com/x": "3"}}}
    table.put_node(parse_node(manifest, encode("Node", manifest)))


def placed(name: str, node: str) -> Any:
    container = {"name": "c", "resources": {"requests": {"cpu": "1", "example.com/x": "2"}}}
    manifest = samples.pod(name) | {"spec": {"nodeName": node, "containers": [container]}}
    return PodParser().parse(manifest, encode("Pod", manifest))


# ---------------------------------------------------------------------- hooks


def test_a_component_takes_part_like_any_guest(guest: Guest, nodes: Nodes) -> None:
    found = guest.evaluate(
        pod(filter="answer = 'odd' if node.name == 'node-1' else None", score="answer = int(node.name[-1])"), nodes
    )
    assert found.scores == {"node-2": 2, "node-3": 3}
    assert found.rejected["node-1"].reason == "odd"
    assert found.best == "node-3"


def test_the_pod_comes_with_its_fields(guest: Guest, nodes: Nodes) -> None:
    whole = pod(pre_filter="answer = f'{pod.name} {pod.namespace} {pod.uid} {pod.requests.cpu} {pod.priority}'")
    whole["spec"] = {"priority": 5, "containers": [{"name": "c", "resources": {"requests": {"cpu": "1500m"}}}]}
    with guest.cycle(whole, nodes) as cycle:
        assert cycle.prefilter().reason == "pod-1 default uid of pod-1 1500 5"


def test_prefilter_may_narrow_the_nodes(guest: Guest, nodes: Nodes) -> None:
    with guest.cycle(pod(pre_filter="answer = [self.nodes['node-2'], 'node-3']"), nodes) as cycle:
        assert cycle.prefilter().node_names == ("node-2", "node-3")
    with guest.cycle(pod(pre_filter="answer = set()"), nodes) as cycle:
        assert cycle.prefilter().code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    with guest.cycle(pod(pre_filter="from kubewasp_sdk import SKIP; answer = SKIP"), nodes) as cycle:
        assert cycle.prefilter().code == Code.SKIP


def test_filter_answers_for_each_node(guest: Guest, nodes: Nodes) -> None:
    code = """
from kubewasp_sdk import Status
answer = {"node-1": None, "node-2": "full", "node-3": Status.unresolvable("never")}[node.name]
"""
    with guest.cycle(pod(filter=code), nodes) as cycle:
        found = cycle.filter(["node-3", "node-1", "node-2"])
        assert found.codes.tolist() == [3, 0, 2]
        assert [found.reason(index) for index in range(3)] == ["never", "", "full"]


def test_postfilter_may_nominate(guest: Guest, nodes: Nodes) -> None:
    code = "from kubewasp_sdk import Nominate; answer = Nominate(min(statuses, key=statuses.get))"
    with guest.cycle(pod(post_filter=code), nodes) as cycle:
        found = cycle.postfilter({"node-1": 3, "node-2": 2})
        assert (found.nominated_node, found.nominating_mode, bool(found)) == ("node-2", 1, True)
    with guest.cycle(pod(), nodes) as cycle:
        found = cycle.postfilter({"node-1": 3})
        assert (found.code, found.nominating_mode) == (Code.UNSCHEDULABLE, 0)


def test_prescore_sees_the_feasible_nodes(guest: Guest, nodes: Nodes) -> None:
    with guest.cycle(pod(pre_score="answer = ' '.join(node.name for node in nodes)"), nodes) as cycle:
        assert cycle.prescore(["node-3", "node-1"]).reason == "node-3 node-1"


def test_scores_are_normalized(guest: Guest, nodes: Nodes) -> None:
    with guest.cycle(pod(normalize_scores="for name in scores: scores[name] *= 10"), nodes) as cycle:
        assert cycle.normalize_score({"node-3": 3, "node-1": 1}).scores == {"node-3": 30, "node-1": 10}
    with guest.cycle(pod(normalize_scores="answer = {'node-3': 3}"), nodes) as cycle:
        assert "normalize_scores gave 1 scores for 2 nodes" in cycle.normalize_score({"node-3": 3, "node-1": 1}).reason


@pytest.mark.parametrize("score", ["1.5", "None", "'7'", "True", "2**40"])
def test_a_score_must_be_a_number_of_32_bits(guest: Guest, nodes: Nodes, score: str) -> None:
    with guest.cycle(pod(score=f"answer = {score}"), nodes) as cycle:
        assert "wasm: score error: " in cycle.score().status(0).reason


def test_hooks_of_binding_have_the_node_at_hand(guest: Guest, nodes: Nodes) -> None:
    hooks = ("reserve", "unreserve", "pre_bind", "bind", "post_bind")
    with guest.cycle(pod(**dict.fromkeys(hooks, "print(node.name); answer = node.name")), nodes) as cycle:
        assert cycle.reserve("node-2").reason == "node-2"
        assert cycle.unreserve("node-2").trace.output == "node-2\n"
        assert cycle.prebind("node-1").reason == "node-1"
        assert cycle.bind("node-3").reason == "node-3"
        assert cycle.postbind("node-3").trace.output == "node-3\n"


def test_permit_may_wait(guest: Guest, nodes: Nodes) -> None:
    with guest.cycle(pod(permit="from kubewasp_sdk import Wait; answer = Wait(2.5, 'gang')"), nodes) as cycle:
        found = cycle.permit("node-1")
        assert (found.code, found.reason, found.timeout_ms) == (Code.WAIT, "gang", 2500)


def test_what_is_remembered_of_a_pod_lasts_for_its_cycle(guest: Guest, nodes: Nodes) -> None:
    code = {"pre_filter": "state['seen'] = pod.name", "reserve": "answer = state.get('seen', 'nothing')"}
    with guest.cycle(pod("a", **code), nodes) as first, guest.cycle(pod("b", **code), nodes) as second:
        first.prefilter()
        second.prefilter()
        assert (first.reserve("node-1").reason, second.reserve("node-1").reason) == ("a", "b")
        first.prefilter()
        assert first.reserve("node-1").reason == "a"
    with guest.cycle(pod("c", reserve=code["reserve"]), nodes) as third:
        assert third.reserve("node-1").reason == "nothing"


def test_trials_have_states_of_their_own(guest: Guest, nodes: Nodes) -> None:
    code = "answer = ' '.join(state.get('pods', ['none']))"
    with guest.cycle(pod(filter=code), nodes) as cycle:
        cycle.prefilter()
        cycle.add_pod(samples.pod("x"), "node-1")
        trial = cycle.states.clone(0)
        cycle.states.select(trial)
        cycle.add_pod(samples.pod("y"), "node-1")
        assert cycle.filter(["node-1"]).reason(0) == "x y"
        cycle.remove_pod(samples.pod("x"), "node-1")
        assert cycle.filter(["node-1"]).reason(0) == "y"
        cycle.states.select(0)
        assert cycle.filter(["node-1"]).reason(0) == "x"


def test_a_sort_key_orders_pods(guest: Guest, nodes: Nodes) -> None:
    def key(priority: int, queued_at: float) -> bytes:
        with guest.cycle(pod() | {"spec": {"priority": priority}}, nodes) as cycle:
            return cycle.queuesort(queued_at).key

    assert key(5, 100.0) < key(1, 1.0) < key(1, 2.5) < key(-1, 0.5)


def test_a_hint_sees_what_changed(guest: Guest, nodes: Nodes) -> None:
    code = "answer = change.new.labels.get('disk') == 'ssd' and change.old is None and change.resource == 'Node'"
    with guest.cycle(pod(queueing_hint=code), nodes) as cycle:
        for disk, expected in (("ssd", True), ("hdd", False)):
            new = encode("Node", samples.node("n", labels={"disk": disk}))
            assert cycle.queueinghint("Node", Action.ADD, b"", new).queue is expected
    with guest.cycle(pod(queueing_hint="answer = change.old.name + change.resource == 'xPod'"), nodes) as cycle:
        assert cycle.queueinghint("Pod", Action.DELETE, encode("Pod", samples.pod("x"))).queue


def test_a_pod_may_be_held_back_from_the_queue(guest: Guest, nodes: Nodes) -> None:
    with guest.cycle(pod(pre_enqueue="answer = 'not yet'"), nodes) as cycle:
        assert cycle.preenqueue().reason == "not yet"


def test_events_are_registered(guest: Guest, nodes: Nodes) -> None:
    expected = (ClusterEvent("Node", 9),)
    assert guest.cluster_events == expected
    with guest.cycle(pod(), nodes) as cycle:
        assert cycle.enqueue()[0] == expected


def test_pods_with_equal_signatures_are_alike(guest: Guest, nodes: Nodes) -> None:
    def signature(**labels: str) -> int:
        with guest.cycle(pod(labels=labels), nodes) as cycle:
            cycle.prefilter()
            return cycle.signature

    assert signature(signature="a") == signature(signature="a", other="x") != 0
    assert signature(signature="a") != signature(signature="b")
    assert signature() == 0


def test_the_time_is_the_schedulers(nodes: Nodes) -> None:
    guest = probe(handle=FakeHandle())
    with guest.cycle(pod(reserve="answer = self.now().isoformat()"), nodes) as cycle:
        assert cycle.reserve("node-1").reason == "2023-11-14T22:13:20.500000+00:00"


def test_logs_output_and_events_are_passed_on(nodes: Nodes, caplog: pytest.LogCaptureFixture) -> None:
    handle = FakeHandle()
    guest = probe(handle=handle)
    code = """
import logging
self.log.warning("careful with %s", pod.name)
logging.getLogger("any").error("wrong")
self.log.debug("never mind")
print("printed")
self.record_event(pod, reason="Tried", note="a note", type="Warning", related=node)
"""
    with guest.cycle(pod(reserve=code), nodes) as cycle, caplog.at_level(logging.INFO):
        trace = cycle.reserve("node-1").trace
    assert [(line.letter, line.text) for line in trace.logs] == [("W", "careful with pod-1"), ("E", "wrong")]
    assert "probe: careful with pod-1" in caplog.messages
    assert trace.output == "printed\n"
    event = handle.events[0]
    assert (event.type, event.reason, event.note) == ("Warning", "Tried", "a note")
    assert (event.regarding.kind, event.regarding.name, event.related.kind, event.related.name) == (
        ("Pod", "pod-1", "Node", "node-1")
    )


def test_log_lines_below_the_severity_are_left_out(nodes: Nodes) -> None:
    guest = probe(log_severity=2)
    with guest.cycle(pod(reserve="self.log.warning('w'); self.log.error('e')"), nodes) as cycle:
        assert [line.text for line in cycle.reserve("node-1").trace.logs] == ["e"]


# ---------------------------------------------------------------------- nodes


def test_nodes_have_objects_numbers_and_pods(guest: Guest) -> None:
    table = table_of("a", "b")
    put(table, "b", labels={"disk": "ssd"}, annotations={"price": "3"})
    table.add_pod(placed("p", "b"))
    code = """
answer = " ".join(map(str, [node.labels.get("disk"), node.annotations.get("price"), node.allocatable.cpu,
    node.requested.cpu, node.free("example.com/x"), node.pod_count, [pod.name for pod in node.pods]]))
"""
    with guest.cycle(pod(filter=code), table) as cycle:
        found = cycle.filter(["a", "b"])
        assert [found.reason(0), found.reason(1)] == ["None None 4000 0 3 0 []", "ssd 3 4000 1000 1 1 ['p']"]


def test_a_guest_sees_nodes_as_they_are_now(guest: Guest) -> None:
    table = table_of("a", "b")
    code = "answer = f'{node.name} {node.labels.get(\"x\")} {node.pod_count} {len(node.pods)} {len(self.nodes)}'"
    with guest.cycle(pod(filter=code, reserve=code), table) as cycle:
        assert cycle.filter(["a"]).reason(0) == "a None 0 0 2"
        other = placed("p", "a")
        table.add_pod(other)
        put(table, "a", labels={"x": "y"})
        assert cycle.filter(["a"]).reason(0) == "a y 1 1 2"
        table.remove_pod(other)
        table.remove_node("b")
        assert cycle.reserve("a").reason == "a y 0 0 1"
        put(table, "c")
        found = cycle.filter(["c", "a"])
        assert [found.reason(0), found.reason(1)] == ["c None 0 0 2", "a y 0 0 2"]


def test_nodes_are_sent_once() -> None:
    guest, table = probe(), table_of("a", "b")
    rows = table.order()
    with requests() as sent:
        for name in ("x", "y"):
            with guest.cycle(pod(name), table) as cycle:
                cycle.hooks.call_rows("filter", rows)
                cycle.hooks.call_rows("score", rows)
    nodes_in = [sum(line.startswith("n ") for line in request.splitlines()) for request in sent]
    assert nodes_in == [2, 0, 0, 0]
    assert ['"rows"' in request for request in sent] == [True, False, False, False]
    assert [request.count("\np ") for request in sent] == [1, 0, 1, 0]
    assert len(sent[3]) < 120


def test_many_nodes_are_sent_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubewasp.wasm.component.session._MOST_SENT", 1000)
    guest = probe()
    nodes = Nodes(samples.node(f"node-{number}", labels={"number": str(number)}) for number in range(50))
    with requests() as sent, guest.cycle(pod(score="answer = int(node.labels['number'])"), nodes) as cycle:
        assert cycle.score().scores.tolist() == list(range(50))
    assert sum('"hook":"sync"' in request for request in sent) >= 3


def test_nodes_are_asked_about_in_batches_that_fit_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubewasp.wasm.component.session._SHARE", 0.005)
    monkeypatch.setattr("kubewasp.wasm.component.session._FIRST_BATCH", 4)
    guest = probe(Limits(call_timeout=4.0))
    nodes = samples.nodes(200)
    code = "sum(range(30000)); answer = int(node.name[5:])"  # all of them together take longer than that share
    with requests() as sent, guest.cycle(pod(score=code), nodes) as cycle:
        assert cycle.score().scores.tolist() == list(range(1, 201))
    assert len(sent) > 3


def test_a_guest_may_look_at_one_set_of_nodes_and_then_at_another(guest: Guest) -> None:
    for count in (3, 1, 2):
        found = guest.evaluate(pod(filter="answer = str(len(self.nodes))"), samples.nodes(count))
        assert {status.reason for status in found.rejected.values()} == {str(count)}
        assert len(found.rejected) == count


# ---------------------------------------------------------------------- waiting pods


def test_waiting_pods_are_listed_allowed_and_rejected(nodes: Nodes) -> None:
    waiting = {f"uid of {name}": encode("Pod", samples.pod(name) | {"spec": {"nodeName": "node-1"}}) for name in "ab"}
    handle = FakeHandle(dict(waiting))
    guest = probe(handle=handle)
    code = """
print([(pod.name, pod.node_name) for pod in self.waiting_pods])
first, second = self.waiting_pods
answer = f"{self.allow(first)} {self.reject(second.uid, 'no room')} {self.allow('unknown')}"
"""
    with guest.cycle(pod(permit=code, reserve="answer = str(len(self.waiting_pods))"), nodes) as cycle:
        with requests() as sent:
            assert cycle.reserve("node-1").reason == "2"
            found = cycle.permit("node-2")
        assert found.reason == "True True False"
        assert found.trace.output == "[('a', 'node-1'), ('b', 'node-1')]\n"
        assert handle.decided == [("uid of a", "probe", ""), ("uid of b", "probe", "no room")]
        assert [request.count("\nw ") for request in sent] == [2, 0]
        assert cycle.reserve("node-1").reason == "0"


# ---------------------------------------------------------------------- failures


def test_an_exception_is_an_error_status_with_the_authors_traceback(guest: Guest, nodes: Nodes) -> None:
    with guest.cycle(pod(filter="answer = self.fail() if node.name == 'node-2' else None"), nodes) as cycle:
        found = cycle.filter()
        assert found.codes.tolist() == [0, 1, 1]
        reason = found.reason(1)
    assert reason.startswith('wasm: filter error: node node-2: ZeroDivisionError: division by zero (plugin "probe")\n')
    assert 'File "plugin.py", line ' in reason
    assert "    return 1 / divisor\n" in reason
    assert "guest.py" not in reason


def test_an_exception_ends_neither_the_instance_nor_other_pods(nodes: Nodes) -> None:
    guest = probe()
    with guest.cycle(pod("a", reserve="answer = 'fine'"), nodes) as other:
        other.prefilter()
        with guest.cycle(pod("b", reserve="self.fail()"), nodes) as cycle:
            assert cycle.reserve("node-1").code == Code.ERROR
            assert cycle.failed
        assert other.reserve("node-1").reason == "fine"
    assert (guest.stats.created, guest.stats.broken) == (1, 0)


def test_under_ignore_a_plugin_that_raises_is_as_if_it_were_not_there(nodes: Nodes) -> None:
    guest = probe(failure_policy="Ignore")
    assert guest.evaluate(pod(filter="self.fail()"), nodes).scores == {"node-1": 0, "node-2": 0, "node-3": 0}


def test_an_exit_is_a_failure(guest: Guest, nodes: Nodes) -> None:
    with guest.cycle(pod(reserve="import sys; sys.exit(3)"), nodes) as cycle:
        assert 'wasm: reserve error: guest exited with code 3 (plugin "probe")' in cycle.reserve("node-1").reason


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("while True: pass", "time limit of 0.2 s exceeded on node node-1; the limit is limits.callTimeout"),
        ("x = []\nwhile True: x.append(bytes(1000000))", "memory limit of 67108864 bytes exceeded"),
        ("import json; json.loads('[' * 100000)", "stack limit of 1048576 bytes exceeded"),
        ("import os; os._exit(1)", "guest exited with code 1"),
    ],
)
def test_a_broken_instance_fails_its_pods_and_is_replaced(code: str, cause: str, nodes: Nodes) -> None:
    # Only the loop has little time: the others must reach their own limit, however slow the machine is.
    guest = probe(Limits(call_timeout=0.2 if cause.startswith("time limit") else 60, memory=64 * 2**20))
    with guest.cycle(pod("other", reserve="answer = 'fine'"), nodes) as other:
        other.prefilter()
        with guest.cycle(pod("bad", reserve=code), nodes) as cycle:
            assert cycle.reserve("node-1").reason.startswith(f'wasm: reserve error: {cause} (plugin "probe")')
        found = other.reserve("node-1")
        assert (found.code, f"its instance was ended by another call: {cause}" in found.reason) == (Code.ERROR, True)
    with guest.cycle(pod("next", reserve="answer = 'fine'"), nodes) as cycle:
        assert cycle.reserve("node-1").reason == "fine"
    assert (guest.stats.created, guest.stats.broken) == (2, 1)


def test_nodes_before_a_timeout_keep_their_answers() -> None:
    guest = probe(Limits(call_timeout=0.5))
    nodes = samples.nodes(100)
    code = "while node.name == 'node-90': pass\nanswer = 'seen'"
    with guest.cycle(pod(filter=code), nodes) as cycle:
        found = cycle.filter()
    assert found.codes[0] == Code.UNSCHEDULABLE
    assert found.codes[99] == Code.ERROR
    # The size of a batch depends on the guest's pace.
    nodes_of_batch = r"one of \d+ nodes, node-\d+ to node-\d+|node node-90"
    assert re.search(f"time limit of 0.5 s exceeded on ({nodes_of_batch}); the limit is", found.reason(99))


def test_after_a_timeout_the_position_of_the_next_one_is_known() -> None:
    guest = probe(Limits(call_timeout=0.5))
    nodes = samples.nodes(100)
    code = "while node.name == 'node-90': pass\nanswer = 'seen'"
    found = []
    for _ in range(2):
        with guest.cycle(pod(filter=code), nodes) as cycle:
            found.append(cycle.filter().reason(99))
    assert "plugin.py:" not in found[0]
    assert "time limit of 0.5 s exceeded on node node-90, in " in found[1]
    assert "plugin.py:" in found[1]
    with guest.cycle(pod(filter="answer = 'fine'"), nodes) as cycle:  # not watched any more
        assert cycle.filter().reason(99) == "fine"


def test_a_plugin_that_cannot_be_started_again_is_a_failure(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    guest = probe(Limits(call_timeout=0.2))
    with guest.cycle(pod(reserve="while True: pass"), nodes) as cycle:
        cycle.reserve("node-1")

    def refuse(*_: Any, **__: Any) -> None:
        raise GuestLoadError("wasm: start error: not today")

    monkeypatch.setattr("kubewasp.wasm.component.component_pool.ComponentInstance", refuse)
    with guest.cycle(pod(), nodes) as cycle:
        assert cycle.reserve("node-1").reason == "wasm: start error: not today"


def test_a_guest_that_breaks_the_protocol_is_a_failure(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    guest = probe()
    with guest.cycle(pod(), nodes) as cycle:
        monkeypatch.setattr(ComponentInstance, "exchange", lambda *_, **__: '{"status": "fine"}')
        assert "wasm: reserve error: status: expected pairs" in cycle.reserve("node-1").reason
    monkeypatch.undo()
    with guest.cycle(pod(), nodes) as cycle:
        assert cycle.reserve("node-1")
    assert (guest.stats.created, guest.stats.broken) == (2, 1)


# ---------------------------------------------------------------------- many pods


def test_cycles_that_are_over_are_forgotten(nodes: Nodes) -> None:
    guest = probe()
    count = "import kubewasp_sdk.guest as g, gc; answer = str(sum(isinstance(o, g.Cycle) for o in gc.get_objects()))"
    for number in range(5):
        with guest.cycle(pod(f"pod-{number}"), nodes) as cycle:
            cycle.prefilter()
    with guest.cycle(pod(reserve=count), nodes) as cycle:
        assert cycle.reserve("node-1").reason == "1"


def test_an_instance_that_has_grown_takes_no_new_pods(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubewasp.wasm.component.session._MEASURE_EVERY", 1)
    guest = probe(Limits(memory=64 * 2**20))
    grow = "self.memory += [bytes(1 << 20) for _ in range(40)]"
    with guest.cycle(pod("old", reserve="answer = str(len(self.memory))"), nodes) as old:
        old.prefilter()
        with guest.cycle(pod("grows", reserve=grow), nodes) as cycle:
            cycle.reserve("node-1")
        assert guest.stats.recycled == 1
        with guest.cycle(pod("new", reserve="answer = str(len(self.memory))"), nodes) as cycle:
            assert cycle.reserve("node-1").reason == "0"
        assert old.reserve("node-1").reason == "40"
    assert (guest.stats.created, guest.stats.recycled) == (2, 1)


def test_pods_of_several_threads_share_an_instance() -> None:
    guest, nodes = probe(), samples.nodes(20)
    found: dict[str, list[int]] = {}

    def work(name: str) -> None:
        code = {"pre_filter": "state['name'] = pod.name", "score": "answer = len(state['name']) + int(node.name[5:])"}
        for _ in range(10):
            with guest.cycle(pod(name, **code), nodes) as cycle:
                cycle.prefilter()
                found[name] = cycle.score().scores.tolist()

    threads = [threading.Thread(target=work, args=("x" * length,)) for length in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert guest.stats.created == 1
    for name, scores in found.items():
        assert scores == [len(name) + number for number in range(1, 21)]
    assert len(found) == 4


def test_rows_may_be_given_as_numbers(guest: Guest, nodes: Nodes) -> None:
    with guest.cycle(pod(score="answer = int(node.name[-1])"), nodes) as cycle:
        assert (cycle.hooks.call_rows("score", 2).values >> 32).tolist() == [1, 2]
        assert (cycle.hooks.call_rows("score", np.array([2, 0])).values >> 32).tolist() == [3, 1]
        assert cycle.hooks.call_rows("score", 0).values.tolist() == []


def test_a_component_has_no_globals(guest: Guest, nodes: Nodes) -> None:
    with guest.cycle(pod(), nodes) as cycle, pytest.raises(GuestLoadError, match='does not export a global "flag"'):
        cycle.runner.set_guest_global("flag", 1)


# ---------------------------------------------------------------- answers that are no answers


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize("depth", [200, 300, 1000, 1020, 5000])
@pytest.mark.parametrize("part", ["output", "events", "logs", "error", "nodes", "status", "memory", "allow", "reject"])
def test_a_deeply_nested_part_of_an_answer_fails_the_hook(part: str, depth: int) -> None:
    """The reader of JSON takes more levels than the writer, and than `str`."""
    value = {"events": f"[{nested(depth)}]", "logs": f"[[0,{nested(depth)}]]", "reject": f'[["a",{nested(depth)}]]'}
    text = f'{{"{part}":{value.get(part, nested(depth))}}}'
    guest = probe()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ComponentInstance, "exchange", lambda *_, **__: text)
        with guest.cycle(pod(), samples.nodes(2), handle=FakeHandle()) as cycle:
            status = cycle.reserve("node-1").status
            if part == "memory" and depth < 1024:
                assert status.code == Code.SUCCESS, "ignored: it is no number"
                return
            assert status.code == Code.ERROR
            assert status.reason.startswith("wasm: reserve error: ")
            assert len(status.reason) < 1000
    with guest.cycle(pod(), samples.nodes(2)) as cycle:
        assert cycle.reserve("node-1").status.is_success, "the next pod has a fresh instance"


def test_any_exception_while_an_answer_is_read_fails_the_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    guest = probe(failure_policy="Ignore")

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug of the host")

    monkeypatch.setattr("kubewasp.wasm.component.answers.take_rows", fail)
    with guest.cycle(pod(), samples.nodes(2)) as cycle:
        assert cycle.filter().codes.tolist() == [0, 0]
        assert cycle.hooks.failure is not None
        assert cycle.hooks.failure.cause == "ZeroDivisionError: a bug of the host"
        assert cycle.hooks.failure.kind == "host"


# ---------------------------------------------------------------- time of a cycle


def test_the_hooks_of_a_pod_share_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    times = itertools.count(0.0, 0.9)
    monkeypatch.setattr(cycle_time, "cpu_time", lambda: next(times))
    guest = probe(Limits(cycle_timeout=2.0))
    with guest.cycle(pod(), samples.nodes(2)) as cycle:
        assert [cycle.reserve("node-1").status.code for _ in range(4)] == [0, 0, 0, Code.ERROR]
        assert "time limit of 2 s for one pod exceeded" in cycle.reserve("node-1").reason
    with guest.cycle(pod(), samples.nodes(2)) as cycle:
        assert cycle.reserve("node-1").status.is_success, "another pod, another budget"
