"""Extender results: filter, prioritize and preempt with plugins in Python and in wasm."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.extender.decider import UNKNOWN_NODE, PluginFailure
from kubewasp.extender.protocol import ProtocolError
from kubewasp.extender.sent_nodes import KEPT_SECONDS, SentNodes
from kubewasp.extender.service import NAMES_ONLY
from kubewasp.framework.config.model import ConfigError
from kubewasp.framework.plugin import FilterPlugin, PreFilterPlugin, PreFilterResult, Verdicts
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.codec import encode
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.pods import Pod, PodParser
from kubewasp.scheduler.scheduler import Scheduler
from tests.extender.extending import Json, Zones, bare_scheduler, named, node, pod, profile, scores, service, whole
from tests.guests.build import example, wat, wat_text


class PreFilters(PreFilterPlugin):
    """Answers PreFilter as the pod's `pre` label says."""

    name = "PreFilters"

    def __init__(self, _args: Mapping[str, Any], _handle: Any) -> None:
        pass

    def pre_filter(self, state: Any, pod: Pod, table: Any) -> PreFilterResult:
        said = pod.labels.get("pre", "")
        if said == "only-a":
            return PreFilterResult(nodes=frozenset(("a",)))
        codes = {"no": Code.UNSCHEDULABLE, "never": Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "broken": Code.ERROR}
        return PreFilterResult(Status(codes[said], f"pre says {said}") if said else SUCCESS)


class OnePod(PreFilterPlugin, FilterPlugin):
    """A node has room for one pod. It counts in PreFilter and keeps count as pods are taken away."""

    name = "OnePod"

    def __init__(self, _args: Mapping[str, Any], _handle: Any) -> None:
        pass

    def pre_filter(self, state: Any, pod: Pod, table: Any) -> PreFilterResult:
        state[self.name] = {row: len(pods) for row, pods in enumerate(table.pods_on)}
        return PreFilterResult()

    def remove_pod(self, state: Any, pod: Pod, removed: Pod, row: int, table: Any) -> Status:
        state[self.name] = {**state[self.name], row: state[self.name][row] - 1}
        return SUCCESS

    def filter(self, state: Any, pod: Pod, table: Any, rows: Any) -> Verdicts:
        statuses = [SUCCESS, Status(Code.UNSCHEDULABLE, "taken")]
        return Verdicts((rows >= 0) & [state[self.name][row] > 0 for row in rows.tolist()], statuses)


def labelled(**labels: str) -> Json:
    made = pod()
    made["metadata"]["labels"] = labels
    return made


# ---------------------------------------------------------------------- filter


def test_nodes_are_turned_down_with_the_plugins_reasons() -> None:
    found = service(profile("Zones"))
    answer = json.loads(found.filter(whole(node("a"), node("b", closed="now"), node("c", closed="for-good"))))
    assert answer["Nodes"]["items"] == [node("a")]
    assert answer["FailedNodes"] == {"b": "closed now"}
    assert answer["FailedAndUnresolvableNodes"] == {"c": "closed for-good"}
    assert answer["Error"] == ""


def test_an_error_of_a_plugin_is_the_answers_error() -> None:
    answer = json.loads(service(profile("Zones")).filter(whole(node("a"), node("b", closed="broken"))))
    assert answer == {"Error": 'running "Zones" filter plugin: closed broken'}


@pytest.mark.parametrize(
    ("said", "failed", "unresolvable"),
    [
        ("no", {"a": "pre says no", "b": "pre says no"}, {}),
        ("never", {}, {"a": "pre says never", "b": "pre says never"}),
        ("only-a", {}, {"b": "node(s) didn't satisfy plugin(s) [PreFilters]"}),
        ("", {}, {}),
    ],
)
def test_pre_filter_decides_about_all_nodes_or_some(
    said: str, failed: dict[str, str], unresolvable: dict[str, str]
) -> None:
    found = service(profile("PreFilters"), classes={"PreFilters": PreFilters})
    answer = json.loads(found.filter(whole(node("a"), node("b"), asking=labelled(pre=said))))
    assert (answer["FailedNodes"], answer["FailedAndUnresolvableNodes"]) == (failed, unresolvable)


def test_an_error_in_pre_filter_is_the_answers_error() -> None:
    found = service(profile("PreFilters"), classes={"PreFilters": PreFilters})
    answer = json.loads(found.filter(whole(node("a"), asking=labelled(pre="broken"))))
    assert answer["Error"] == 'running PreFilter plugin "PreFilters": pre says broken'


def test_a_guest_filters_and_scores() -> None:
    guest = example("nodenumber")
    made = profile(nodenumber=guest)
    made["pluginConfig"][0]["args"]["guestConfig"] = '{"reserved": 2}'
    found = service(made)
    nodes = [node(f"node-{number}") for number in (1, 2, 3)]
    answer = json.loads(found.filter(whole(*nodes, asking=pod("web-3"))))
    assert answer["FailedNodes"] == {"node-2": "node number 2 is reserved"}
    assert scores(found.prioritize(whole(*nodes, asking=pod("web-3")))) == {"node-1": 0, "node-2": 0, "node-3": 1}


def test_a_guest_that_traps_breaks_one_answer_and_not_the_next() -> None:
    guest = wat_text('(module (memory (export "memory") 1) (func (export "filter") (result i32) unreachable))')
    found = service(profile(broken=guest))
    for _ in range(2):
        assert json.loads(found.filter(whole(node("a"))))["Error"].startswith('running "broken" filter plugin: wasm: ')


# ---------------------------------------------------------------------- nodes


def test_a_node_is_read_again_when_its_version_changed() -> None:
    scheduler = bare_scheduler()
    sent = SentNodes(scheduler.events, scheduler.clock)
    sent.take(["a", "b"], [node("a"), node("b")])
    sent.take(["a", "b"], [node("a"), node("b", "2", points="3")])
    assert (sent.read, sent.known) == (3, 1)
    assert scheduler.table.node(scheduler.table.row("b") or 0).labels == {"points": "3"}


def test_a_node_of_the_same_name_and_version_is_another_one_if_its_uid_is() -> None:
    sent = SentNodes(bare_scheduler().events, SYSTEM_CLOCK)
    again = node("a")
    again["metadata"]["uid"] = "another"
    sent.take(["a"], [node("a")])
    sent.take(["a"], [again])
    assert sent.read == 2


def test_a_node_without_a_version_is_always_read() -> None:
    found = service(profile("Zones"))
    bare: Json = {"metadata": {"name": "a"}}
    assert json.loads(found.filter(whole(bare)))["Nodes"]["items"] == [bare]
    closed: Json = {"metadata": {"name": "a", "labels": {"closed": "now"}}}
    assert json.loads(found.filter(whole(closed)))["FailedNodes"] == {"a": "closed now"}


class Hands:
    """A clock that the test moves."""

    time = 0.0

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return self.time


def test_nodes_that_are_not_sent_any_more_are_forgotten() -> None:
    clock = Hands()
    scheduler = bare_scheduler(clock)
    sent = SentNodes(scheduler.events, scheduler.clock)
    sent.take(["a", "b"], [node("a"), node("b")])
    clock.time = KEPT_SECONDS
    sent.take(["a"], [node("a")])
    assert "b" in scheduler.table.objects  # other pods may still be sent to it
    clock.time += KEPT_SECONDS / 2
    sent.take(["a"], [node("a")])
    assert set(scheduler.table.objects) == {"a"}
    sent.take(["b"], [node("b")])
    assert set(scheduler.table.objects) == {"a", "b"}


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"status": {"allocatable": {"cpu": "a lot"}}}, "Nodes.items[1]"),
        ({"spec": {"taints": 3}}, "Nodes.items[1].spec.taints: expected a list, got 3"),
    ],
)
def test_a_node_that_is_none_is_told_with_its_place(wrong: Json, problem: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        service(profile("Zones")).filter(whole(node("a"), {"metadata": {"name": "b"}, **wrong}))
    assert str(caught.value).startswith(problem)


def test_a_pod_that_is_none_is_told_with_its_field() -> None:
    with pytest.raises(ProtocolError, match=r"^Pod\.spec\.containers: expected a list, got 3$"):
        service(profile("Zones")).filter(whole(node("a"), asking=pod(containers=3)))


# ---------------------------------------------------------------------- names only


def watched(*nodes: Json, pods: Sequence[tuple[str, str]] = ()) -> Scheduler:
    """A scheduler that knows those nodes, and pods on them."""
    scheduler = bare_scheduler()
    for item in nodes:
        scheduler.events.put_node(parse_node(item, encode("Node", item)))
    for name, place in pods:
        item = pod(name, nodeName=place)
        scheduler.events.put_pod(PodParser().parse(item, encode("Pod", item)))
    return scheduler


def test_names_are_enough_where_the_cluster_is_watched() -> None:
    scheduler = watched(node("a", points="100"), node("b", closed="now"), node("c", points="50"))
    found = service(profile("Zones"), watching=True, scheduler=scheduler)
    answer = json.loads(found.filter(named("a", "b", "c")))
    assert (answer["Nodes"], answer["NodeNames"]) == (None, ["a", "c"])
    assert scores(found.prioritize(named("c", "a"))) == {"c": 5, "a": 10}


def test_a_node_that_is_not_known_yet_is_turned_down_and_scores_nothing() -> None:
    found = service(profile("Zones"), watching=True, scheduler=watched(node("a", points="100")))
    answer = json.loads(found.filter(named("a", "new")))
    assert answer["NodeNames"] == ["a"]
    assert answer["FailedAndUnresolvableNodes"] == {"new": UNKNOWN_NODE}
    assert scores(found.prioritize(named("new", "a"))) == {"new": 0, "a": 10}


def test_where_the_cluster_is_watched_whole_nodes_count_by_their_names() -> None:
    found = service(profile("Zones"), watching=True, scheduler=watched(node("a", points="100")))
    assert scores(found.prioritize(whole(node("a", points="0")))) == {"a": 10}
    assert json.loads(found.filter(whole(node("a", closed="now"))))["Nodes"]["items"] == [node("a", closed="now")]


def test_names_are_not_enough_without_a_cluster() -> None:
    found = service(profile("Zones"))
    for ask in (found.filter, found.prioritize):
        with pytest.raises(ProtocolError) as caught:
            ask(named("a"))
        assert str(caught.value) == NAMES_ONLY


# ---------------------------------------------------------------------- prioritize


@pytest.mark.parametrize(("points", "score"), [(0, 0), (4, 0), (5, 1), (14, 1), (15, 2), (94, 9), (95, 10), (100, 10)])
def test_scores_are_a_tenth_rounded_half_up(points: int, score: int) -> None:
    found = service(profile("Zones"))
    assert scores(found.prioritize(whole(node("a", points=str(points))))) == {"a": score}


def test_several_plugins_count_by_their_weights() -> None:
    class Reverse(Zones):
        name = "Reverse"

        def score_node(self, state: Any, pod: Pod, node: Any, pods: Sequence[Pod]) -> int:
            return 100 - super().score_node(state, pod, node, pods)

    found = service(profile("Zones", "Reverse", weights=(3, 1)), classes={"Reverse": Reverse})
    nodes = [node("a", points="100"), node("b", points="0"), node("c", points="60")]
    assert scores(found.prioritize(whole(*nodes))) == {"a": 8, "b": 3, "c": 6}  # 75, 25, 55 of 100


def test_a_score_that_fails_is_raised() -> None:
    guest = wat_text('(module (memory (export "memory") 1) (func (export "score") (result i64) unreachable))')
    with pytest.raises(PluginFailure, match='plugin "broken" failed with'):
        service(profile(broken=guest)).prioritize(whole(node("a")))


def test_a_score_above_100_is_a_failure() -> None:
    with pytest.raises(PluginFailure, match="101"):
        service(profile("Zones")).prioritize(whole(node("a", points="101")))


# ---------------------------------------------------------------------- preempt


def victims(**pods: Sequence[str]) -> Json:
    return {name: {"Pods": [pod(item) for item in items], "NumPDBViolations": 1} for name, items in pods.items()}


def meta(**pods: Sequence[str]) -> Json:
    return {
        name: {"Pods": [{"UID": f"uid-{item}"} for item in items], "NumPDBViolations": 1}
        for name, items in pods.items()
    }


def preempting(**fields: Any) -> bytes:
    return json.dumps({"Pod": pod(), **fields}).encode()


def test_nodes_that_would_still_be_rejected_are_left_out() -> None:
    scheduler = watched(node("a"), node("b", closed="now"), pods=[("x", "a"), ("y", "b")])
    found = service(profile("Zones"), watching=True, scheduler=scheduler)
    answer = json.loads(found.preempt(preempting(NodeNameToMetaVictims=meta(a=["x"], b=["y"], unknown=["z"]))))
    assert answer == {"NodeNameToMetaVictims": meta(a=["x"])}


@pytest.mark.parametrize("is_whole", [False, True])
def test_plugins_see_victims_gone(is_whole: bool) -> None:
    classes = {"OnePod": OnePod}
    if is_whole:
        found = service(profile("OnePod"), classes=classes)
        found.filter(whole(node("a"), node("b")))  # so that the nodes are known
        body = preempting(NodeNameToVictims=victims(a=["x"], b=["y"]))
        kept = {"a", "b"}  # nothing else is known of pods
    else:
        scheduler = watched(node("a"), node("b"), pods=[("x", "a"), ("y", "b"), ("z", "b")])
        found = service(profile("OnePod"), classes=classes, watching=True, scheduler=scheduler)
        body = preempting(NodeNameToMetaVictims=meta(a=["x"], b=["y"]))
        kept = {"a"}  # z is still on b
    before = [len(pods) for pods in found.table.pods_on]
    assert json.loads(found.preempt(body))["NodeNameToMetaVictims"].keys() == kept
    assert [len(pods) for pods in found.table.pods_on] == before  # as if nothing had been


def test_a_guest_hears_of_victims_that_leave() -> None:
    """Its filter passes only after removepod."""
    guest = wat_text(
        '(module (memory (export "memory") 1) (global $gone (mut i32) (i32.const 0))'
        ' (func (export "prefilter") (result i32) (global.set $gone (i32.const 0)) (i32.const 0))'
        ' (func (export "removepod") (result i32) (global.set $gone (i32.const 1)) (i32.const 0))'
        ' (func (export "filter") (result i32) (select (i32.const 0) (i32.const 2) (global.get $gone))))'
    )
    scheduler = watched(node("a"), pods=[("x", "a")])
    found = service(profile(guest=guest), watching=True, scheduler=scheduler)
    assert json.loads(found.filter(named("a")))["NodeNames"] == []
    assert json.loads(found.preempt(preempting(NodeNameToMetaVictims=meta(a=["x"])))) == {
        "NodeNameToMetaVictims": meta(a=["x"])
    }


def test_a_guest_that_fails_as_a_victim_leaves_is_an_error() -> None:
    scheduler = watched(node("a"), pods=[("x", "a")])
    found = service(profile(guest=wat("removepod")), watching=True, scheduler=scheduler)
    with pytest.raises(PluginFailure, match="RemovePod"):
        found.preempt(preempting(NodeNameToMetaVictims=meta(a=["x"])))
    assert len(scheduler.table.pods_on[0]) == 1


def test_nodes_that_were_never_sent_stay_as_they_are() -> None:
    found = service(profile("Zones"))
    found.filter(whole(node("a", closed="now"), node("b")))
    answer = json.loads(found.preempt(preempting(NodeNameToVictims=victims(a=["x"], b=["y"], unseen=["z"]))))
    assert answer == {"NodeNameToMetaVictims": meta(b=["y"], unseen=["z"])}


@pytest.mark.parametrize(("said", "kept"), [("no", {"a"}), ("never", set()), ("only-a", {"a"})])
def test_preemption_after_a_rejection_in_pre_filter(said: str, kept: set[str]) -> None:
    """As in kube-scheduler: one that may be resolved is left to the filters."""
    scheduler = watched(node("a"), node("b", closed="now"), pods=[("x", "a"), ("y", "b")])
    found = service(
        profile("PreFilters", "Zones"), classes={"PreFilters": PreFilters}, watching=True, scheduler=scheduler
    )
    body = {"Pod": labelled(pre=said), "NodeNameToMetaVictims": meta(a=["x"], b=["y"])}
    assert json.loads(found.preempt(json.dumps(body).encode()))["NodeNameToMetaVictims"].keys() == kept


# ---------------------------------------------------------------------- whose pods


def test_pods_without_a_managed_resource_pass() -> None:
    found = service(profile("Zones"), managed=["example.com/gpu"])
    closed = node("a", closed="now", points="100")
    assert json.loads(found.filter(whole(closed)))["FailedNodes"] == {}
    assert scores(found.prioritize(whole(closed))) == {"a": 0}
    for amounts in ("requests", "limits"):
        for containers in ("containers", "initContainers"):
            wants = pod()
            wants["spec"][containers] = [{"name": "c", "resources": {amounts: {"example.com/gpu": "1"}}}]
            assert json.loads(found.filter(whole(closed, asking=wants)))["FailedNodes"] == {"a": "closed now"}


def test_the_only_profile_is_for_all_pods() -> None:
    found = service(profile("Zones", name="mine"))
    answer = json.loads(found.filter(whole(node("a", closed="now"), asking=pod(schedulerName="other"))))
    assert answer["FailedNodes"] == {"a": "closed now"}


def test_of_several_profiles_that_of_the_pod_is_asked(caplog: pytest.LogCaptureFixture) -> None:
    found = service(profile("Zones", name="mine"), profile(name="empty"))
    closed = node("a", closed="now")
    for name, failed in (("mine", {"a": "closed now"}), ("empty", {}), ("stranger", {}), ("stranger", {})):
        assert json.loads(found.filter(whole(closed, asking=pod(schedulerName=name))))["FailedNodes"] == failed
    (record,) = caplog.records
    told = (record.message, record.scheduler)  # type: ignore[attr-defined]
    assert told == ("No profile for this scheduler name; its pods are not evaluated", "stranger")


def test_a_configuration_without_a_plugin_to_ask_is_refused() -> None:
    with pytest.raises(ConfigError, match="no profile has a plugin for an extender"):
        service(profile())
    with pytest.raises(ConfigError, match="no profile has a plugin for an extender"):
        service(profile(sorter=wat("permit")))
