"""NodeResourcesFit: insufficient resources, and scoring strategies."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.plugin import PreFilterResult
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.plugins.node_resources_fit import NodeResourcesFit
from tests.plugins.building import FakeHandle, filtered, make_node, make_pod, make_table, scored, wakes

GPU = "example.com/gpu"


def make_plugin(**args: Any) -> NodeResourcesFit:
    return NodeResourcesFit(args, FakeHandle())


def strategy(kind: str, *resources: tuple[str, int], shape: Any = ()) -> NodeResourcesFit:
    points = [{"utilization": utilization, "score": score} for utilization, score in shape]
    return make_plugin(
        scoringStrategy={
            "type": kind,
            "resources": [{"name": name, "weight": weight} for name, weight in resources],
            "requestedToCapacityRatio": {"shape": points},
        }
    )


def verdict(pod: Any, node: Any, *others: Any, **args: Any) -> Status:
    return filtered(make_plugin(**args), CycleState(), pod, make_table([node], others))["n"]


def short(*names: str, never: bool = False) -> Status:
    code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if never else Code.UNSCHEDULABLE
    return Status(code, tuple(name if " " in name else f"Insufficient {name}" for name in names))


def asks(node: str = "", **requests: str) -> Any:
    return make_pod(node=node, requests={name.replace("_", "-"): amount for name, amount in requests.items()})


NODE = make_node("n", cpu="4", memory="4Ki", allocatable={"ephemeral-storage": "4Ki", GPU: "4"})


# ---------------------------------------------------------------------- Filter


def test_no_pod_skips() -> None:
    assert make_plugin().pre_filter(CycleState(), make_pod(), make_table()) == PreFilterResult()


@pytest.mark.parametrize(
    ("requests", "used", "expected"),
    [
        ({"cpu": "1"}, {"cpu": "3"}, SUCCESS),
        ({"cpu": "1001m"}, {"cpu": "3"}, short("cpu")),
        ({"cpu": "4001m"}, {}, short("cpu", never=True)),
        ({"memory": "1Ki"}, {"memory": "3Ki"}, SUCCESS),
        ({"memory": "2Ki"}, {"memory": "3Ki"}, short("memory")),
        ({"memory": "5Ki"}, {}, short("memory", never=True)),
        ({"ephemeral-storage": "2Ki"}, {"ephemeral-storage": "3Ki"}, short("ephemeral-storage")),
        ({"ephemeral-storage": "5Ki"}, {}, short("ephemeral-storage", never=True)),
        ({GPU: "2"}, {GPU: "3"}, short(GPU)),
        ({GPU: "5"}, {}, short(GPU, never=True)),
        ({"example.com/none": "1"}, {}, short("example.com/none", never=True)),
        ({"example.com/none": "0"}, {}, SUCCESS),
        # All that is short is told, and one that can never fit is enough.
        ({"cpu": "2", "memory": "2Ki", GPU: "2"}, {"cpu": "3", "memory": "3Ki", GPU: "3"}, short("cpu", "memory", GPU)),
        ({"cpu": "2", "memory": "5Ki"}, {"cpu": "3"}, short("cpu", "memory", never=True)),
        # What a pod does not ask for may be overdrawn.
        ({"cpu": "1"}, {"memory": "9Ki"}, SUCCESS),
        ({}, {"cpu": "9", "memory": "9Ki"}, SUCCESS),
        ({"cpu": "0"}, {"cpu": "9"}, SUCCESS),
        # Names that are not counted do not matter.
        ({"gpu": "7"}, {}, SUCCESS),
    ],
)
def test_what_is_asked_for_must_be_free(requests: dict[str, str], used: dict[str, str], expected: Status) -> None:
    assert verdict(make_pod(requests=requests), NODE, make_pod(node="n", requests=used)) == expected


def test_a_node_takes_so_many_pods_and_removing_one_helps() -> None:
    node, other = make_node("n", pods="1"), make_pod(node="n")
    assert verdict(make_pod(), node) == SUCCESS
    assert verdict(make_pod(), node, other) == short("Too many pods")
    assert verdict(asks(cpu="9"), node, other) == short("Too many pods", "cpu", never=True)
    assert verdict(make_pod(), make_node("n", pods="0")) == short("Too many pods")


def test_terminating_pods_take_up_room() -> None:
    assert verdict(asks(cpu="2"), NODE, make_pod(node="n", requests={"cpu": "3"}, terminating=True)) == short("cpu")


def test_requests_of_the_pod_as_a_whole_and_overhead_count() -> None:
    assert verdict(make_pod(resources={"requests": {"cpu": "5"}}), NODE) == short("cpu", never=True)
    assert verdict(make_pod(requests={"cpu": "4"}, overhead={"cpu": "1m"}), NODE) == short("cpu", never=True)


def test_what_a_pending_pod_has_by_its_status_does_not_count() -> None:
    status = {"containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "9"}}}]}
    assert verdict(make_pod(requests={"cpu": "1"}, status=status), NODE) == SUCCESS
    assert verdict(asks(cpu="1"), NODE, make_pod(node="n", status=status)) == short("cpu")


@pytest.mark.parametrize(
    ("args", "name", "ignored"),
    [
        ({"ignoredResources": [GPU]}, GPU, True),
        ({"ignoredResources": ["example.com/other"]}, GPU, False),
        ({"ignoredResourceGroups": ["example.com"]}, GPU, True),
        ({"ignoredResourceGroups": ["example"]}, GPU, False),
        ({"ignoredResources": ["cpu"]}, "cpu", False),
        ({"ignoredResources": ["hugepages-2Mi"]}, "hugepages-2Mi", False),
        ({"ignoredResourceGroups": ["kubernetes.io"]}, "kubernetes.io/x", False),
    ],
)
def test_extended_resources_may_be_left_to_others(args: dict[str, Any], name: str, ignored: bool) -> None:
    found = verdict(make_pod(requests={name: "99"}), NODE, **args)
    assert found == (SUCCESS if ignored else short(name, never=True))


AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "ephemeral-storage", GPU, "hugepages-2Mi"]), st.integers(0, 5)
)


@given(AMOUNTS, st.lists(AMOUNTS, max_size=3), AMOUNTS, st.integers(0, 3))
def test_verdicts_are_those_of_a_plain_comparison(
    asked: dict[str, int], used: list[dict[str, int]], has: dict[str, int], pods: int
) -> None:
    def texts(amounts: dict[str, int]) -> dict[str, str]:
        return {name: str(amount) for name, amount in amounts.items()}

    node = make_node("n", cpu="0", memory="0", pods=str(pods), allocatable=texts(has))
    others = [make_pod(f"other-{i}", node="n", requests=texts(item)) for i, item in enumerate(used)]
    reasons = ["Too many pods"] if len(used) + 1 > pods else []
    never = False
    for name, amount in asked.items():
        if amount > has.get(name, 0) - sum(item.get(name, 0) for item in used) and amount:
            reasons.append(f"Insufficient {name}")
            never |= amount > has.get(name, 0)
    found = verdict(make_pod("p", requests=texts(asked)), node, *others)
    assert sorted(found.reasons) == sorted(reasons)
    assert (found.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE) is never
    assert found.is_success is not bool(reasons)


# ---------------------------------------------------------------------- Score


def scores(plugin: NodeResourcesFit, pod: Any, *others: Any, node: Any = None) -> int:
    found = scored(plugin, CycleState(), pod, make_table([node or make_node("n", cpu="4", memory="16Gi")], others))
    assert not isinstance(found, Status)
    raw, normal = found
    assert raw == normal
    return raw["n"]


POD = asks(cpu="1", memory="2Gi")
BUSY = asks("n", cpu="500m", memory="8Gi")


def test_least_allocated_is_the_default() -> None:
    assert scores(make_plugin(), POD) == (75 + 87) // 2 == 81
    assert scores(make_plugin(), POD, BUSY) == (62 + 37) // 2 == 49
    assert scores(strategy("LeastAllocated"), POD) == 81


def test_most_allocated() -> None:
    assert scores(strategy("MostAllocated"), POD) == (25 + 12) // 2 == 18
    assert scores(strategy("MostAllocated", ("cpu", 1)), asks(cpu="1"), asks("n", cpu="9")) == 100


def test_pods_without_requests_count_as_small_ones() -> None:
    assert scores(make_plugin(), make_pod()) == (97 + 98) // 2 == 97
    assert scores(make_plugin(), make_pod(), make_pod(node="n")) == (95 + 97) // 2


def test_a_resource_that_would_be_overdrawn_has_no_score() -> None:
    assert scores(make_plugin(), asks(cpu="5", memory="2Gi")) == (0 + 87) // 2


def test_resources_have_weights_and_a_weight_of_nothing_is_one() -> None:
    assert scores(strategy("LeastAllocated", ("cpu", 3), ("memory", 1)), POD) == (3 * 75 + 87) // 4
    assert scores(strategy("LeastAllocated", ("cpu", 0), ("memory", 1)), POD) == 81


def test_requests_of_the_pod_as_a_whole_do_not_count_where_it_is_ranked() -> None:
    pod = make_pod(requests={"cpu": "1", "memory": "2Gi"}, resources={"requests": {"cpu": "3"}})
    assert scores(make_plugin(), pod) == 81
    assert (
        scores(make_plugin(), asks(cpu="1", memory="2Gi"), make_pod(node="n", resources=pod_level("2")))
        == (25 + 86) // 2
    )


def pod_level(cpu: str) -> dict[str, Any]:
    return {"requests": {"cpu": cpu}}


def test_a_resource_that_a_node_lacks_is_dropped() -> None:
    node = make_node("n", cpu="4", memory="0")
    assert scores(make_plugin(), asks(cpu="1"), node=node) == 75
    assert scores(make_plugin(), asks(cpu="1"), node=make_node("n", cpu="0", memory="0")) == 0


def test_a_scalar_that_the_pod_does_not_ask_for_is_dropped() -> None:
    plugin = strategy("LeastAllocated", ("cpu", 1), (GPU, 1))
    node = make_node("n", cpu="4", allocatable={GPU: "4"})
    assert scores(plugin, asks(cpu="1"), node=node) == 75
    assert scores(plugin, make_pod(requests={"cpu": "1", GPU: "2"}), node=node) == (75 + 50) // 2


def test_ephemeral_storage_counts_even_where_the_pod_does_not_ask_for_it() -> None:
    plugin = strategy("LeastAllocated", ("cpu", 1), ("ephemeral-storage", 1))
    node = make_node("n", cpu="4", allocatable={"ephemeral-storage": "100"})
    assert scores(plugin, asks(cpu="1"), asks("n", ephemeral_storage="40"), node=node) == ((97 - 25) + 60) // 2


def utilized(percent: int, shape: Any) -> int:
    node = make_node("n", cpu="100")
    plugin = strategy("RequestedToCapacityRatio", ("cpu", 1), shape=shape)
    return scores(plugin, asks(cpu=str(percent)), node=node)


RISING, FALLING = [(0, 0), (100, 10)], [(0, 10), (100, 0)]


@pytest.mark.parametrize(
    ("percent", "shape", "expected"),
    [
        (33, RISING, 33),
        (33, FALLING, 67),
        (37, [(0, 10), (70, 0)], 48),
        (100, RISING, 100),
        (150, RISING, 100),
        (150, FALLING, 0),
        (20, [(30, 4), (60, 8)], 40),
        (30, [(30, 4), (60, 8)], 40),
        (45, [(30, 4), (60, 8)], 60),
        (90, [(30, 4), (60, 8)], 80),
        (50, [(50, 7)], 70),
    ],
)
def test_requested_to_capacity_ratio_follows_the_shape(percent: int, shape: Any, expected: int) -> None:
    assert utilized(percent, shape) == expected


def test_requested_to_capacity_ratio_rounds_and_drops_resources_without_a_score() -> None:
    node = make_node("n", cpu="100", memory="100")
    plugin = strategy("RequestedToCapacityRatio", ("cpu", 1), ("memory", 1), shape=RISING)
    assert scores(plugin, asks(cpu="33", memory="34"), node=node) == 34
    assert scores(plugin, asks(cpu="33", memory="0"), node=node) == 33
    assert scores(plugin, asks(cpu="0", memory="0"), node=node) == 0
    weighted = strategy("RequestedToCapacityRatio", ("cpu", 3), ("memory", 1), shape=RISING)
    assert scores(weighted, asks(cpu="10", memory="20"), node=node) == 13


SHAPES = st.lists(
    st.tuples(st.integers(0, 100), st.integers(0, 10)), min_size=1, max_size=5, unique_by=lambda p: p[0]
).map(sorted)


@given(SHAPES, st.integers(0, 120))
def test_the_shape_is_interpolated_in_whole_numbers_toward_zero(shape: list[tuple[int, int]], percent: int) -> None:
    at = min(percent, 100)
    points = [(utilization, score * 10) for utilization, score in shape]
    expected = points[-1][1]
    for place, (utilization, score) in enumerate(points):
        if at <= utilization:
            if not place:
                expected = score
            else:
                low, start = points[place - 1]
                expected = start + int((score - start) * (at - low) / (utilization - low))
            break
    assert utilized(percent, shape) == expected


# ---------------------------------------------------------------------- events


def asked_for(**requests: str) -> Any:
    return make_pod("p", requests=requests)


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        (make_pod(node="n"), None, True),
        (make_pod(status={"nominatedNodeName": "n"}), None, True),
        (make_pod(), None, False),
    ],
)
def test_the_end_of_a_pod_on_a_node_helps(old: Any, new: Any, helps: bool) -> None:
    assert wakes(make_plugin(), "Pod", Action.DELETE, asked_for(cpu="1"), old, new) is helps


@pytest.mark.parametrize(
    ("left", "asked", "priority", "helps"),
    [
        ([], "4", 0, True),  # the node is empty
        ([], "5", 0, False),  # larger than the node
        (["3"], "1", 0, True),
        (["3"], "2", 0, False),  # others are in the way
        (["3"], "2", 5, True),  # and may be preempted
    ],
)
def test_the_end_of_a_pod_helps_those_that_its_node_has_room_for(
    left: list[str], asked: str, priority: int, helps: bool
) -> None:
    table = make_table([make_node("n", cpu="4")])
    for number, cpu in enumerate(left):
        table.add_pod(make_pod(f"left-{number}", node="n", requests={"cpu": cpu}))
    plugin = NodeResourcesFit({}, FakeHandle(table))
    pod = make_pod("p", requests={"cpu": asked}, priority=priority)
    assert wakes(plugin, "Pod", Action.DELETE, pod, make_pod("gone", node="n"), None) is helps


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        ({"cpu": "2"}, {"cpu": "1"}, True),
        ({"memory": "2"}, {"memory": "1"}, False),
        ({"cpu": "1"}, {"cpu": "2"}, False),
        ({GPU: "2"}, {}, False),
    ],
)
def test_a_pod_on_a_node_that_gives_back_what_is_asked_for_helps(old: Any, new: Any, helps: bool) -> None:
    before, after = (make_pod("other", node="n", requests=requests) for requests in (old, new))
    assert wakes(make_plugin(), "Pod", Action.UPDATE_POD_SCALE_DOWN, asked_for(cpu="1"), before, after) is helps
    pending = [make_pod("other", requests=requests) for requests in (old, new)]
    assert not wakes(make_plugin(), "Pod", Action.UPDATE_POD_SCALE_DOWN, asked_for(cpu="1"), *pending)


def test_a_pod_that_asks_for_less_itself_is_helped() -> None:
    pod = asked_for(cpu="1")
    assert wakes(make_plugin(), "Pod", Action.UPDATE_POD_SCALE_DOWN, pod, asked_for(cpu="2"), pod)


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        (None, {"cpu": "4"}, True),
        (None, {"cpu": "1"}, False),
        (None, {"cpu": "4", "pods": "0"}, False),
        ({"cpu": "1"}, {"cpu": "4"}, True),
        ({"cpu": "3"}, {"cpu": "3", "memory": "1Ti"}, False),
        ({"cpu": "3", "pods": "1"}, {"cpu": "3", "pods": "2"}, True),
        ({"cpu": "1"}, {"cpu": "1500m"}, False),
    ],
)
def test_a_node_that_has_more_of_what_is_asked_for_helps(old: Any, new: Any, helps: bool) -> None:
    nodes = [None if item is None else make_node("n", **item) for item in (old, new)]
    action = Action.ADD if old is None else Action.UPDATE_NODE_ALLOCATABLE
    assert wakes(make_plugin(), "Node", action, asked_for(cpu="2"), *nodes) is helps


AMOUNTS = st.tuples(*[st.sampled_from(["0", "1", "3", "4", "7", "100"])] * 3)


@pytest.mark.parametrize("kind", ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"])
@given(
    nodes=st.lists(AMOUNTS, min_size=1, max_size=3),
    pods=st.lists(st.tuples(st.integers(0, 2), AMOUNTS), max_size=6),
    asked=AMOUNTS,
)
def test_a_node_that_changes_is_judged_as_one_that_is_new(
    kind: str, nodes: list[tuple[str, ...]], pods: list[tuple[int, tuple[str, ...]]], asked: tuple[str, ...]
) -> None:
    """Rows that change are computed one by one, new ones all at once: both ways come to the same."""
    names = ("cpu", "memory", GPU)

    def amounts(of: tuple[str, ...]) -> dict[str, str]:
        return dict(zip(names, of, strict=True))

    def judged(plugin: NodeResourcesFit) -> Any:
        verdicts = plugin.filter(CycleState(), pod, table, table.order())
        scores = plugin.score(CycleState(), pod, table, table.order())
        assert not isinstance(scores, Status)
        return None if verdicts is None else verdicts.numbers.tolist(), scores.tolist()

    def plugin() -> NodeResourcesFit:
        return strategy(kind, *((name, 2) for name in names), shape=[(0, 0), (100, 10)])

    table = make_table([make_node(f"n{place}", allocatable=amounts(sizes)) for place, sizes in enumerate(nodes)], ())
    pod, old = make_pod(requests=amounts(asked)), plugin()
    for place, requests in pods:
        judged(old)
        table.add_pod(make_pod(node=f"n{place}", requests=amounts(requests)))
    assert judged(old) == judged(plugin())
