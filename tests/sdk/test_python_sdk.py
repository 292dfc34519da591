"""Python SDK in native tests, without WebAssembly."""

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kubewasp_sdk import (
    SKIP,
    Action,
    Change,
    ClusterEvent,
    Code,
    ConfigError,
    CycleState,
    NodeInfo,
    Nominate,
    Plugin,
    Pod,
    Status,
    Taint,
    Verdict,
    Wait,
    config,
    events,
    quantity,
    sort_keys,
)
from kubewasp_sdk.guest import Guest, implemented_hooks
from kubewasp_sdk.node_info import NotWantedError
from kubewasp_sdk.testing import FakeCluster, make_node, make_pod, run

from kubewasp.framework import cluster_events as host_events
from kubewasp.k8s import quantity as host_quantity
from kubewasp.k8s.resources import pod_resources
from kubewasp.scheduler.waiting import timeout_text


class Nothing(Plugin):
    """Implements no hook."""


class OnlyFast(Plugin):
    def filter(self, state: CycleState, pod: Pod, node: Any) -> str | None:
        return None if node.labels.get("disk") == "ssd" else "no fast disk"


# ---------------------------------------------------------------------- hooks


def test_a_hint_goes_with_its_status() -> None:
    class Hinting(Plugin):
        def filter(self, state: CycleState, pod: Pod, node: Any) -> Status | None:
            return Status.unschedulable("slow disk", hint="label disk=ssd") if node.name == "a" else None

    outcome = run(Hinting(), make_pod(), [make_node("a"), make_node("b")])
    assert (outcome.node, outcome.rejected, outcome.hints) == ("b", {"a": "slow disk"}, {"a": "label disk=ssd"})
    assert Status.unresolvable("no", hint="x") == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "no", "x")


def test_only_overridden_methods_are_hooks() -> None:
    assert implemented_hooks(OnlyFast) == ["filter"]
    assert implemented_hooks(Nothing) == []


def test_an_inherited_method_is_a_hook() -> None:
    class Child(OnlyFast):
        def score(self, state: CycleState, pod: Pod, node: Any) -> int:
            return 1

    assert implemented_hooks(Child) == ["filter", "score"]


def test_a_signature_is_asked_in_prefilter() -> None:
    class Signs(OnlyFast):
        def signature(self, pod: Pod) -> str:
            return pod.labels["app"]

    assert "prefilter" in implemented_hooks(Signs)


def test_states_are_copied_only_for_plugins_that_follow_trials() -> None:
    class Follows(OnlyFast):
        def add_pod(self, state: CycleState, pod: Pod, added: Pod, node: Any) -> None:
            pass

    assert {"clonestate", "selectstate", "dropstate"} <= set(implemented_hooks(Follows))
    assert "clonestate" not in implemented_hooks(OnlyFast)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(None, None), (True, None), ("no", "no"), (False, "rejected by filter"), (Status.unresolvable("never"), "never")],
)
def test_short_answers_stand_for_statuses(answer: Any, reason: str | None) -> None:
    class Answers(Plugin):
        def filter(self, state: CycleState, pod: Pod, node: Any) -> Any:
            return answer

    assert run(Answers, make_pod(), [make_node("n")]).rejected.get("n") == reason


def test_an_answer_of_the_wrong_type_names_the_hook() -> None:
    class Wrong(Plugin):
        def filter(self, state: CycleState, pod: Pod, node: Any) -> Any:
            return 3

    with pytest.raises(
        TypeError, match=r"filter returned 3 \(int\); expected None, True, a reason \(str\) or a Status"
    ):
        run(Wrong, make_pod(), [make_node()])


# ---------------------------------------------------------------------- objects


def test_a_pod_has_attributes_for_what_policies_ask() -> None:
    pod = make_pod(
        "web-1",
        namespace="shop",
        labels={"app": "web"},
        requests={"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": 2},
        image="shop/web:3",
        priority=7,
        created_at=datetime(2030, 5, 1, tzinfo=UTC),
        spec={"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "spot", "operator": "Exists"}]},
    )
    assert (pod.name, pod.namespace, pod.labels["app"], pod.priority) == ("web-1", "shop", "web", 7)
    assert (pod.requests.cpu, pod.requests.memory, pod.requests["nvidia.com/gpu"]) == (1500, 1 << 30, 2)
    assert pod.requests["example.com/none"] == 0
    assert pod.images == ("shop/web:3",)
    assert pod.created_at == datetime(2030, 5, 1, tzinfo=UTC)
    assert pod.node_selector == {"disk": "ssd"}
    assert pod.tolerates(Taint("spot", "", "NoSchedule"))
    assert not pod.tolerates(Taint("other", "", "NoSchedule"))
    assert pod["spec"]["containers"][0]["image"] == pod.raw["spec"]["containers"][0]["image"]


def test_an_empty_pod_has_defaults() -> None:
    pod = Pod('{"metadata": {"name": "p"}}')
    assert (pod.namespace, pod.labels, pod.priority, pod.containers, pod.owner) == ("default", {}, 0, (), None)
    assert pod.created_at is None
    assert pod.requests.cpu == 0


def test_a_node_has_attributes_for_what_policies_ask() -> None:
    node = make_node(
        "n",
        labels={"topology.kubernetes.io/zone": "z1"},
        annotations={"price": "3"},
        taints=["spot=true:NoSchedule"],
        unschedulable=True,
        images={"app:1": 100},
        allocatable={"cpu": "8", "nvidia.com/gpu": 4},
        pods=[make_pod("a", requests={"cpu": "2", "nvidia.com/gpu": 1}), make_pod("b")],
    )
    assert node.zone == "z1"
    assert node.annotations["price"] == "3"
    assert node.taints == (Taint("spot", "true", "NoSchedule"),)
    assert node.unschedulable
    assert node.images == {"app:1": 100}
    assert node.conditions["Ready"] == "True"
    assert (node.allocatable.cpu, node.requested.cpu, node.free("cpu")) == (8000, 2000, 6000)
    assert (node.allocatable.pods, node.pod_count) == (110, 2)
    assert node.non_zero_requested.cpu == 2100
    assert node.fits({"nvidia.com/gpu": 3, "cpu": 6000})
    assert not node.fits({"nvidia.com/gpu": 4})
    assert [pod.name for pod in node.pods] == ["a", "b"]
    assert node.raw["metadata"]["labels"] == node.labels
    assert node.raw["status"]["images"][0]["names"] == ["app:1"]


def test_what_was_read_of_a_node_is_read_again_only_when_it_changes() -> None:
    node = make_node("n", labels={"disk": "ssd"})
    assert node.labels is node.labels
    assert node.requested is node.requested
    node.replace_numbers('[0,0,1,110,{"cpu":4000},{"cpu":500}]')
    assert node.requested.cpu == 500
    node.replace_object("{}", '{"disk":"hdd"}', "[]")
    assert node.labels["disk"] == "hdd"
    assert node.name == "n"


def test_a_toleration_without_a_key_tolerates_everything_only_if_it_exists() -> None:
    taint = Taint("a", "b", "NoExecute")
    assert make_pod(spec={"tolerations": [{"operator": "Exists"}]}).tolerates(taint)
    assert not make_pod(spec={"tolerations": [{"operator": "Equal"}]}).tolerates(taint)
    assert not make_pod(spec={"tolerations": [{"operator": "Exists", "effect": "NoSchedule"}]}).tolerates(taint)
    assert make_pod(spec={"tolerations": [{"key": "a", "value": "b"}]}).tolerates([taint])


QUANTITIES = [
    "0",
    "100m",
    "1",
    "1.5",
    "0.1",
    "250Mi",
    "1Gi",
    "2k",
    "3M",
    "1e3",
    "1.5e-3",
    "7n",
    "0.5n",
    "-3",
    "1Ki",
    "12E",
]


@pytest.mark.parametrize("text", QUANTITIES)
def test_quantities_mean_what_they_mean_to_the_scheduler(text: str) -> None:
    assert quantity.nanos(text) == host_quantity.parse(text).nanos


@pytest.mark.parametrize("text", ["", "x", "1 Gi", "1ki", "--1", "1e", "1" * 200, "٣"])
def test_what_is_no_quantity_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        quantity.nanos(text)


def container(rng: random.Random, **more: Any) -> dict[str, Any]:
    names = rng.sample(["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu"], rng.randint(0, 3))
    requests = {name: rng.choice(["1", "3", "5"] if "/" in name else QUANTITIES[1:10]) for name in names}
    return {"name": "c", "resources": {"requests": requests}, **more}


@pytest.mark.parametrize("seed", range(60))
def test_requests_of_pods_are_those_of_the_scheduler(seed: int) -> None:
    rng = random.Random(seed)
    spec: dict[str, Any] = {
        "containers": [container(rng) for _ in range(rng.randint(1, 3))],
        "initContainers": [
            container(rng, **rng.choice([{}, {"restartPolicy": "Always"}])) for _ in range(rng.randint(0, 3))
        ],
    }
    if rng.random() < 0.4:
        spec["overhead"] = {"cpu": "10m", "memory": "1Mi"}
    if rng.random() < 0.4:
        spec["resources"] = {"requests": {rng.choice(["cpu", "memory"]): "2"}}
    pod, expected = Pod(json.dumps({"spec": spec})), pod_resources(spec)
    for name in ("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu"):
        assert pod.requests[name] == expected.requests.get(name), name
    for name in ("cpu", "memory"):
        assert pod.non_zero_requests[name] == expected.non_zero.get(name), name


# ---------------------------------------------------------------------- config


@dataclass
class Price:
    zone: str
    per_hour: float = 1.0


@dataclass
class Settings:
    mode: Literal["cheap", "fast"]
    prices: list[Price] = field(default_factory=list)
    limits: dict[str, int] = field(default_factory=dict)
    note: str | None = None

    def __post_init__(self) -> None:
        if len(self.prices) > 2:
            raise ValueError("at most two prices")


class Configured(OnlyFast):
    config: Settings


def decoded(value: Any) -> Any:
    return config.decode(Configured, value)


def test_a_config_becomes_the_dataclass_that_the_plugin_names() -> None:
    found = decoded({"mode": "fast", "prices": [{"zone": "a", "perHour": 2}], "limits": {"x": 1}})
    assert found == Settings("fast", [Price("a", 2.0)], {"x": 1})
    assert Configured({"mode": "cheap"}).config.mode == "cheap"


def test_a_config_type_may_stand_in_the_constructor() -> None:
    class Own(OnlyFast):
        def __init__(self, config: Settings) -> None:
            super().__init__(config)
            self.mode = config.mode

    assert FakeCluster().start(Own, {"mode": "fast"}).mode == "fast"  # type: ignore[attr-defined]


def test_without_a_type_a_config_is_plain() -> None:
    assert OnlyFast({"a": [1]}).config == {"a": [1]}
    assert OnlyFast().config == {}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "config.mode: missing"),
        ({"mode": "slow"}, "config.mode: expected one of 'cheap', 'fast', got \"slow\""),
        ({"mode": "fast", "pricse": []}, 'config.pricse: unknown field; did you mean "prices"?'),
        ({"mode": "fast", "xyz": 1}, "config.xyz: unknown field; there are mode, prices, limits, note"),
        ({"mode": "fast", "prices": [{"zone": 3}]}, "config.prices[0].zone: expected a string, got 3"),
        ({"mode": "fast", "prices": [{"zone": "a", "perHour": "x"}]}, "config.prices[0].perHour: expected a number"),
        ({"mode": "fast", "prices": {}}, "config.prices: expected a list, got {}"),
        ({"mode": "fast", "limits": {"x": True}}, "config.limits.x: expected a whole number, got true"),
        ({"mode": "fast", "note": 1}, "config.note: expected a string, got 1"),
        ({"mode": "fast", "prices": [{"zone": "a"}] * 3}, "config: at most two prices"),
        ([], "config: expected an object, got []"),
    ],
)
def test_a_bad_config_is_one_clear_error(value: Any, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        decoded(value)
    assert str(raised.value).startswith(message)


def test_a_missing_field_of_a_plain_config_is_named() -> None:
    class Plain(Plugin):
        def __init__(self, config: Any) -> None:
            self.label = config["label"]

        def filter(self, state: CycleState, pod: Pod, node: Any) -> None:
            return None

    with pytest.raises(ConfigError, match=r"^config\.label: missing$"):
        FakeCluster().start(Plain, {"lable": "x"})
    with pytest.raises(KeyError):
        FakeCluster().start(Plain)
    answer = json.loads(Guest(Plain).start(json.dumps({"config": ""})))
    assert (answer["error"], answer["refused"]) == ("config.label: missing", True)


def test_a_config_that_is_no_json_is_an_error() -> None:
    with pytest.raises(ConfigError, match="config: not valid JSON: Expecting property name"):
        config.parse("{mode: fast}")


# ---------------------------------------------------------------------- sort keys

numbers = st.integers(-(2**2000), 2**2000) | st.integers(-1000, 1000) | st.floats(allow_nan=False)


@given(st.tuples(numbers, st.text()), st.tuples(numbers, st.text()))
@example((-1e-300, ""), (-1e-301, ""))
@example((-1.5, ""), (-2, ""))
@example((0.0, ""), (-5e-324, ""))
def test_keys_compare_as_their_values(left: tuple[Any, ...], right: tuple[Any, ...]) -> None:
    assert (sort_keys.encoded(left) < sort_keys.encoded(right)) == (left < right)
    assert (sort_keys.encoded(left) == sort_keys.encoded(right)) == (left == right)


@given(st.text(), st.text())
def test_texts_compare_as_texts(left: str, right: str) -> None:
    assert (sort_keys.encoded(left) < sort_keys.encoded(right)) == (left < right)


def test_a_shorter_tuple_comes_first() -> None:
    assert (
        sort_keys.encoded((1,)) < sort_keys.encoded((1, 0)) < sort_keys.encoded((1, (0, 5))) < sort_keys.encoded((2,))
    )


def test_datetimes_compare_as_moments() -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    moments = [now - timedelta(days=30000), now, now + timedelta(microseconds=1), now + timedelta(days=1)]
    assert sorted(moments, key=sort_keys.encoded) == moments


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (None, "not NoneType"),
        (float("nan"), "nan cannot be compared"),
        (datetime(2030, 1, 1), "needs a time zone"),  # noqa: DTZ001
        ("x" * 2000, "at most 1024 are allowed"),
    ],
)
def test_a_key_that_cannot_be_compared_is_an_error(key: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        sort_keys.encoded(key)


# ---------------------------------------------------------------------- state


def test_a_copied_state_does_not_change_with_the_first() -> None:
    class Counter:
        def __init__(self, count: int) -> None:
            self.count = count

        def clone(self) -> "Counter":
            return Counter(self.count)

    state = CycleState(names=["a"], counter=Counter(1))
    copy = state.clone()
    state["names"].append("b")
    state["counter"].count = 5
    assert (copy["names"], copy["counter"].count) == (["a"], 1)


# ---------------------------------------------------------------------- testing


def test_a_run_tells_node_scores_and_rejections() -> None:
    class Prefers(OnlyFast):
        def score(self, state: CycleState, pod: Pod, node: Any) -> int:
            return int(node.name[-1])

    nodes = [make_node("n-1", labels={"disk": "ssd"}), make_node("n-2"), make_node("n-3", labels={"disk": "ssd"})]
    outcome = run(Prefers, make_pod(), nodes)
    assert outcome.node == "n-3"
    assert outcome.scores == {"n-1": 1, "n-3": 3}
    assert outcome.rejected == {"n-2": "no fast disk"}


def test_a_pod_that_fits_nowhere_may_be_nominated() -> None:
    class Helps(OnlyFast):
        def post_filter(self, state: CycleState, pod: Pod, statuses: Any) -> Nominate:
            assert statuses == {"n": Code.UNSCHEDULABLE}
            return Nominate("n")

    outcome = run(Helps, make_pod(), [make_node("n")])
    assert (outcome.node, outcome.nominated, outcome.reason) == ("", "n", "no node passed")


def test_pre_filter_may_skip_or_narrow() -> None:
    class Narrows(OnlyFast):
        def pre_filter(self, state: CycleState, pod: Pod) -> Any:
            return SKIP if pod.name == "any" else ["n-2"]

    assert run(Narrows, make_pod("any"), [make_node("n-1")]).node == "n-1"
    outcome = run(Narrows, make_pod(), [make_node("n-1"), make_node("n-2", labels={"disk": "ssd"})])
    assert (outcome.node, set(outcome.rejected)) == ("n-2", {"n-1"})


def test_a_score_out_of_range_fails_the_test() -> None:
    class TooHigh(Plugin):
        def score(self, state: CycleState, pod: Pod, node: Any) -> int:
            return 101

    with pytest.raises(AssertionError, match="the score of n is 101"):
        run(TooHigh, make_pod(), [make_node("n")])


class Gang(Plugin):
    """Two pods are bound together, or none."""

    wants = ("waiting_pods",)

    def permit(self, state: CycleState, pod: Pod, node: Any) -> Any:
        if not self.waiting_pods:
            return Wait(30)
        for other in self.waiting_pods:
            assert other.node_name
            self.allow(other)
        self.record_event(pod, reason="Complete", note="all there")
        return None

    def unreserve(self, state: CycleState, pod: Pod, node: Any) -> None:
        for other in self.waiting_pods:
            self.reject(other, "the gang is broken")


def test_waiting_pods_are_bound_when_they_are_allowed() -> None:
    cluster = FakeCluster(make_node("n"))
    plugin = cluster.start(Gang)
    first = cluster.schedule(plugin, make_pod("a"))
    assert first.is_waiting
    assert cluster.waiting == ["a"]
    assert cluster.schedule(plugin, make_pod("b")).node == "n"
    assert cluster.bound == {"a": "n", "b": "n"}
    assert cluster.nodes["n"].pod_count == 2
    (event,) = cluster.events
    assert (event.type, event.reason, event.note, event.action) == ("Normal", "Complete", "all there", "Scheduling")
    assert (event.regarding.kind, event.regarding.namespace, event.regarding.name) == ("Pod", "default", "b")
    assert event.related is None


class GpuPicker(Plugin):
    """Takes the first index that no other pod of the node has."""

    wants = ("pods",)

    def reserve(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        taken = {other.annotations.get("example.com/gpu-index") for other in node.pods}
        free = next((index for index in ("0", "1") if index not in taken), None)
        if free is None:
            return "all GPUs are taken"
        self.annotate("example.com/gpu-index", free)
        return None

    def pre_bind(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        self.annotate("example.com/bound", pod.name)
        return Status.error("no") if pod.labels.get("fails") else None


def test_annotations_go_with_the_binding() -> None:
    cluster = FakeCluster(make_node("a"))
    plugin = cluster.start(GpuPicker)
    first, second, third = (cluster.schedule(plugin, make_pod(name)) for name in ("first", "second", "third"))
    assert first.annotations == {"example.com/gpu-index": "0", "example.com/bound": "first"}
    assert second.annotations["example.com/gpu-index"] == "1"
    assert (third.reason, third.annotations) == ("all GPUs are taken", {})
    assert cluster.annotations == {"first": first.annotations, "second": second.annotations}


def test_annotations_of_a_failed_attempt_are_dropped() -> None:
    cluster = FakeCluster(make_node("a"))
    plugin = cluster.start(GpuPicker)
    assert cluster.schedule(plugin, make_pod("web", labels={"fails": "yes"})).annotations == {}
    assert cluster.schedule(plugin, make_pod("next")).annotations["example.com/gpu-index"] == "0"


def test_only_reserve_and_pre_bind_may_annotate() -> None:
    class Early(Plugin):
        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
            self.annotate("key", "value")
            return None

    with pytest.raises(RuntimeError, match="only reserve and pre_bind may annotate the pod"):
        run(Early, make_pod("web"), [make_node("a")])


def test_an_annotation_is_two_texts() -> None:
    class Number(Plugin):
        def reserve(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
            self.annotate("key", 1)  # type: ignore[arg-type]
            return None

    with pytest.raises(TypeError, match="expected two texts, got 'key' and 1"):
        run(Number, make_pod("web"), [make_node("a")])


def test_annotations_are_a_field_of_the_answer() -> None:
    guest, _ = started(GpuPicker)
    numbers = "[0, 0, 0, 110, {}, {}]"
    header = json.dumps({"hook": "reserve", "now": 0, "cycle": 1, "row": 0})
    node = ['n 0 "a"', "l {}", "i []", 'o {"metadata": {"name": "a"}}', f"r {numbers}"]
    lines = [*node, 'p {"metadata": {"name": "web"}}']
    assert json.loads(guest.call("\n".join([header, *lines]))) == {"annotations": {"example.com/gpu-index": "0"}}


def test_waiting_pods_are_given_up_when_their_time_is_over() -> None:
    cluster = FakeCluster(make_node("n"))
    cluster.schedule(cluster.start(Gang), make_pod("a"))
    cluster.advance(29)
    assert cluster.waiting == ["a"]
    cluster.advance(1)
    assert (cluster.waiting, cluster.bound) == ([], {})
    assert cluster.unbound == {"a": timeout_text(30, "Gang")}
    assert cluster.nodes["n"].pod_count == 0


@pytest.mark.parametrize("seconds", [0, 0.25, 1, 1.5, 59.999, 60, 90.5, 3600, 7325])
def test_an_expired_pod_has_the_reason_of_the_scheduler(seconds: float) -> None:
    class Slow(Plugin):
        def permit(self, state: CycleState, pod: Pod, node: Any) -> Any:
            return Wait(seconds)

    cluster = FakeCluster(make_node("n"))
    cluster.schedule(cluster.start(Slow), make_pod("a"))
    cluster.advance(seconds)
    assert cluster.unbound == {"a": timeout_text(seconds, "Slow")}


def test_a_node_that_pre_filter_leaves_out_has_the_reason_of_the_scheduler() -> None:
    class First(Plugin):
        def pre_filter(self, state: CycleState, pod: Pod) -> Any:
            return ["a"]

    outcome = run(First, make_pod(), [make_node("a"), make_node("b")])
    assert outcome.rejected == {"b": "node(s) didn't satisfy plugin(s) [First] simultaneously"}


def test_the_clock_is_the_clusters() -> None:
    class Clocked(Plugin):
        def filter(self, state: CycleState, pod: Pod, node: Any) -> str:
            return self.now().isoformat()

    at = datetime(2031, 2, 3, 4, tzinfo=UTC)
    assert run(Clocked, make_pod(), [make_node("n")], now=at).rejected == {"n": "2031-02-03T04:00:00+00:00"}


def test_what_is_not_wanted_is_not_sent() -> None:
    class Forgets(Plugin):
        def filter(self, state: CycleState, pod: Pod, node: Any) -> Any:
            return str(len(node.pods))

    with pytest.raises(NotWantedError, match=r'put wants = \("pods",\) into the class'):
        run(Forgets, make_pod(), [make_node()])
    with pytest.raises(NotWantedError, match="waiting_pods"):
        FakeCluster().start(Forgets).waiting_pods  # noqa: B018 - asking is what fails


def test_the_queue_is_ordered_by_the_sort_key() -> None:
    class Urgent(Plugin):
        def sort_key(self, pod: Pod, queued_at: datetime) -> Any:
            return -pod.priority, queued_at

    cluster = FakeCluster()
    pods = [make_pod("a"), make_pod("b", priority=5), make_pod("c"), make_pod("d", priority=5)]
    assert [pod.name for pod in cluster.queue(cluster.start(Urgent), pods)] == ["b", "d", "a", "c"]


def test_plugins_log_through_the_standard_library(caplog: pytest.LogCaptureFixture) -> None:
    class Logs(Plugin):
        def filter(self, state: CycleState, pod: Pod, node: Any) -> None:
            self.log.warning("looking at %s", node.name)

    run(Logs, make_pod(), [make_node("n")])
    assert caplog.messages == ["looking at n"]


# ---------------------------------------------------------------------- the same on both sides


def test_events_have_the_numbers_of_the_host() -> None:
    assert events.RESOURCES == host_events.RESOURCES
    assert {item.name: int(item) for item in Action} == {
        item.name: int(item) for item in host_events.Action if item.name != "NONE"
    }
    with pytest.raises(ValueError, match='unknown resource "Nodes"'):
        ClusterEvent("Nodes")
    assert Change("Node", Action.ADD).old is None


# ---------------------------------------------------------------------- the guest's side of the protocol


def started(plugin: type[Plugin], settings: str = "") -> tuple[Guest, dict[str, Any]]:
    guest = Guest(plugin)
    return guest, json.loads(guest.start(json.dumps({"config": settings, "output": 1000})))


@pytest.fixture
def _python_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guest takes over logging and the streams of its Python; here, Python is ours."""
    import logging
    import sys

    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", root.handlers)
    monkeypatch.setattr(root, "level", root.level)
    for module, name in ((sys, "stdout"), (sys, "stderr")):
        monkeypatch.setattr(module, name, getattr(module, name))


@pytest.mark.usefixtures("_python_as_it_was")
def test_a_guest_describes_its_plugin() -> None:
    class Described(OnlyFast):
        wants = ("pods",)
        ignores_pod = True

        def events(self) -> list[ClusterEvent]:
            return [ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL)]

    _, told = started(Described)
    assert told["hooks"] == ["filter", "enqueue"]
    assert told["events"] == [[1, 9]]
    assert (told["wants"], told["signature"], told["protocol"]) == (["pods"], 1, 1)


@pytest.mark.usefixtures("_python_as_it_was")
def test_a_guest_that_cannot_start_says_why() -> None:
    class Wants(OnlyFast):
        wants = ("podes",)

    class Raises(OnlyFast):
        def __init__(self, config: Any) -> None:
            raise RuntimeError("no")

    assert started(Configured, "{}")[1]["error"] == "config.mode: missing"
    assert started(OnlyFast, "{")[1]["error"].startswith("config: not valid JSON")
    assert "wants: unknown podes" in started(Wants)[1]["error"]
    error = started(Raises)[1]["error"]
    assert error.startswith("RuntimeError: no\nTraceback")
    assert "in __init__" in error
    assert "guest.py" not in error


@pytest.mark.usefixtures("_python_as_it_was")
def test_a_traceback_shows_the_authors_frames_only() -> None:
    class Raises(Plugin):
        def filter(self, state: CycleState, pod: Pod, node: Any) -> Any:
            return {}["missing"]

    guest, _ = started(Raises)
    lines = ['n 0 "n-0"', "o {}", 'p {"metadata":{"name":"p"}}']
    header = {"hook": "filter", "cycle": 1, "now": 0, "list": 0, "rows": [0]}
    error = json.loads(guest.call("\n".join([json.dumps(header), *lines])))["error"]
    assert error["kind"] == "KeyError"
    assert error["cause"] == "node n-0: KeyError: 'missing'"
    assert "in filter" in error["trace"]
    assert "kubewasp_sdk" not in error["trace"]


@pytest.mark.usefixtures("_python_as_it_was")
def test_a_module_must_have_one_plugin_class() -> None:
    import types

    module = types.ModuleType("plugin")
    with pytest.raises(TypeError, match="it defines none"):
        Guest.of_module(module)
    base = type("Base", (Plugin,), {"__module__": "plugin"})
    module.Base, module.Child = base, type("Child", (base,), {"__module__": "plugin"})  # type: ignore[attr-defined]
    module.Imported = OnlyFast  # type: ignore[attr-defined]
    Guest.of_module(module)
    module.Other = type("Other", (Plugin,), {"__module__": "plugin"})  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="it defines Child, Other"):
        Guest.of_module(module)
