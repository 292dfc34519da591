"""DefaultPreemption: eligibility, candidates, victims, and the chosen node."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.config.reading import default_config
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.filtering import RejectedNodes
from kubewasp.framework.handle import SchedulerHandle
from kubewasp.framework.plugin import Candidate
from kubewasp.framework.runtime import Framework
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.objects import DisruptionBudget
from kubewasp.k8s.pods import Pod
from kubewasp.k8s.selectors import EVERYTHING, LabelSelector, label_selector, map_selector
from kubewasp.plugins.default_binder import DefaultBinder
from kubewasp.plugins.default_preemption import DefaultPreemption, pick, split_by_budgets
from kubewasp.plugins.node_resources_fit import NodeResourcesFit
from kubewasp.scheduler.composition import set_up
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from tests.framework.fakes import WAIT, Scripted, error, make_framework
from tests.plugins.building import FakeHandle, make_node, make_pod, wakes
from tests.scheduler.building import Cluster

WEB = {"app": "web"}
POINTS = ("preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "permit", "bind")


def a_cluster(*nodes: str, plugins: Any = (), **args: Any) -> tuple[Cluster, DefaultPreemption]:
    """Nodes of two CPUs; what is asked for must fit, and preemption helps."""
    made: list[DefaultPreemption] = []

    def frameworks(handle: SchedulerHandle) -> list[Framework]:
        made.append(DefaultPreemption(args, handle))
        fit, binder = NodeResourcesFit({}, handle), DefaultBinder({}, handle)
        return [make_framework(*plugins, fit, *made, binder, points=POINTS)]

    cluster = Cluster(frameworks)
    for name in nodes:
        cluster.node(name, cpu="2")
    return cluster, made[0]


def cpus(name: str, node: str, cpu: str = "1", priority: int = 0, **more: Any) -> Pod:
    return make_pod(name, node=node, requests={"cpu": cpu}, priority=priority, **more)


def started(second: int) -> dict[str, Any]:
    return {"startTime": f"2026-01-01T00:00:{second:02}Z"}


# ---------------------------------------------------------------------- in one piece


def test_a_pod_that_fits_nowhere_takes_the_place_of_less_important_ones() -> None:
    cluster, _ = a_cluster("n")
    cluster.put(cpus("low", "n", "2"))
    pod = cluster.pod("p", requests={"cpu": "1"}, priority=5)
    attempt = cluster.one()
    assert attempt.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert (attempt.nominated_node, [victim.name for victim in attempt.victims]) == ("n", ["low"])
    assert cluster.evicted == ["low"]
    assert cluster.one().node == "n"
    assert cluster.where(pod) == "n"


def test_a_pod_waits_for_its_victims_to_go() -> None:
    cluster, _ = a_cluster("n")
    cluster.victims_linger = True
    victim = cluster.put(cpus("low", "n", "2"))
    pod = cluster.pod("p", requests={"cpu": "1"}, priority=5)
    cluster.one()
    assert cluster.place(pod) == "unschedulable"
    cluster.scheduler.queue.activate(pod.uid)
    text = "not eligible due to a terminating pod on the nominated node."
    assert cluster.one().message == f"0/1 nodes are available: 1 Insufficient cpu. preemption: {text}"
    assert cluster.evicted == ["low"]
    assert cluster.scheduler.nominator.node_of(pod.uid) == "n"
    cluster.delete(victim)
    assert cluster.one().node == "n"


def slow_evictions(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Victims are still there, unchanged, until the test deletes them: the API server takes its time."""

    def evict(victims: Sequence[Pod], preemptor: Pod, *_: Any) -> Status:
        for victim in victims:
            cluster.evicted.append(victim.name)
            cluster.scheduler.evicting(victim, preemptor)
        return Status(Code.WAIT)

    monkeypatch.setattr(cluster, "evict", evict)


def test_a_pod_takes_no_more_victims_while_the_deletion_of_the_first_is_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster, _ = a_cluster("n", "m")
    slow_evictions(cluster, monkeypatch)
    victims = {pod.name: pod for pod in (cluster.put(cpus("one", "n", "2")), cluster.put(cpus("other", "m", "2")))}
    pod = cluster.pod("p", requests={"cpu": "1"}, priority=5)
    cluster.one()
    (name,) = cluster.evicted
    cluster.scheduler.evicted(victims[name], pod)
    for _ in range(3):
        cluster.scheduler.queue.activate(pod.uid)
        assert "not eligible due to a terminating pod on the nominated node." in cluster.one().message
    node = cluster.scheduler.nominator.node_of(pod.uid)
    cluster.delete(victims[name])
    assert cluster.one().node == node


def test_a_pod_is_not_tried_until_the_api_server_has_heard_of_all_its_victims(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _ = a_cluster("n", "m")
    slow_evictions(cluster, monkeypatch)
    first, second = (cluster.put(cpus(name, "n", "1")) for name in ("first", "second"))
    other = cluster.put(cpus("other", "m", "2", priority=9))
    pod = cluster.pod("p", requests={"cpu": "2"}, priority=5)
    cluster.one()
    assert sorted(cluster.evicted) == ["first", "second"]
    cluster.scheduler.evicted(first, pod)
    cluster.delete(first)
    queued = cluster.scheduler.queue.get(pod.uid)
    assert queued is not None
    assert (cluster.place(pod), queued.gate_reason) == (
        "unschedulable",
        "waiting for the preemption for this pod to be finished",
    )
    cluster.scheduler.evicted(second, pod)
    assert cluster.place(pod) == "unschedulable", "its second victim is still there"
    cluster.delete(other)
    assert cluster.one().node == "m", "it might fit elsewhere meanwhile"


def test_victims_that_go_before_the_api_server_has_answered_are_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _ = a_cluster("n")
    slow_evictions(cluster, monkeypatch)
    victim = cluster.put(cpus("low", "n", "2"))
    pod = cluster.pod("p", requests={"cpu": "1"}, priority=5)
    cluster.one()
    cluster.delete(victim)
    assert cluster.place(pod) == "unschedulable"
    cluster.scheduler.evicted(victim, pod)
    assert cluster.one().node == "n"


def test_a_pod_that_is_deleted_while_it_preempts_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _ = a_cluster("n")
    slow_evictions(cluster, monkeypatch)
    victim = cluster.put(cpus("low", "n", "2"))
    pod = cluster.pod("p", requests={"cpu": "1"}, priority=5)
    cluster.one()
    cluster.delete(pod)
    assert not cluster.scheduler.handle.is_preempting(pod.uid)
    cluster.scheduler.evicted(victim, pod)
    assert not cluster.scheduler.handle.is_preempting(pod.uid)


def test_a_pod_whose_victim_cannot_be_deleted_looks_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _ = a_cluster("n")
    slow_evictions(cluster, monkeypatch)
    victim = cluster.put(cpus("low", "n", "2"))
    pod = cluster.pod("p", requests={"cpu": "1"}, priority=5)
    cluster.one()
    cluster.scheduler.not_evicted(victim, pod)
    cluster.one()
    assert cluster.evicted == ["low", "low"]


def test_less_important_pods_do_not_take_the_room_that_is_made() -> None:
    cluster, _ = a_cluster("n")
    cluster.victims_linger = True
    victim = cluster.put(cpus("low", "n", "2"))
    cluster.pod("p", requests={"cpu": "2"}, priority=5)
    cluster.one()
    cluster.delete(victim)
    cluster.pod("quick", requests={"cpu": "1"}, priority=4)
    cluster.pod("quicker", requests={"cpu": "1"}, priority=6)
    assert [(attempt.pod.name, attempt.node) for attempt in cluster.all()][:2] == [("quicker", "n"), ("quick", "")]


# ---------------------------------------------------------------------- who may preempt


def outcome(
    cluster: Cluster, preemption: DefaultPreemption, pod: Pod, statuses: Any = None
) -> tuple[Status, str | None]:
    """PostFilter result of a pod without a feasible node."""
    state, table = CycleState(), cluster.scheduler.table
    rejected = {name: Status(Code.UNSCHEDULABLE, "no") for name in table.objects} if statuses is None else statuses
    result = preemption.post_filter(state, pod, table, rejected)
    return result.status, result.nominated_node


def test_a_pod_whose_policy_forbids_it_does_not_preempt_and_keeps_its_nomination() -> None:
    cluster, preemption = a_cluster("n")
    cluster.put(cpus("low", "n", "2"))
    pod = make_pod(priority=5, preemptionPolicy="Never", requests={"cpu": "1"})
    text = "preemption: not eligible due to preemptionPolicy=Never."
    assert outcome(cluster, preemption, pod) == (Status(Code.UNSCHEDULABLE, text), None)


DISRUPTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


@pytest.mark.parametrize(
    ("other", "code", "waits"),
    [
        ({"terminating": True, "status": {"conditions": [DISRUPTED]}}, Code.UNSCHEDULABLE, True),
        ({"terminating": True, "status": {"conditions": [DISRUPTED]}}, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, False),
        ({"terminating": True, "status": {"conditions": [DISRUPTED]}}, None, False),
        ({"terminating": True, "status": {"conditions": [DISRUPTED]}, "priority": 5}, Code.UNSCHEDULABLE, False),
        ({"status": {"conditions": [DISRUPTED]}}, Code.UNSCHEDULABLE, False),
        ({"terminating": True}, Code.UNSCHEDULABLE, False),
        (
            {"terminating": True, "status": {"conditions": [{**DISRUPTED, "reason": "Other"}]}},
            Code.UNSCHEDULABLE,
            False,
        ),
    ],
)
def test_a_nominated_pod_waits_while_a_victim_of_the_scheduler_is_going(other: Any, code: Any, waits: bool) -> None:
    cluster, preemption = a_cluster("n", "m")
    cluster.put(make_pod("other", node="n", requests={"cpu": "2"}, **other))
    pod = make_pod(priority=5, status={"nominatedNodeName": "n"}, requests={"cpu": "1"})
    statuses = {"m": Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)} | ({} if code is None else {"n": Status(code)})
    status, nominated = outcome(cluster, preemption, pod, statuses)
    text = "preemption: not eligible due to a terminating pod on the nominated node."
    assert (status.reason == text) is waits
    if waits:
        assert nominated is None


def test_a_nominated_node_that_is_gone_is_no_hindrance() -> None:
    cluster, preemption = a_cluster("n")
    pod = make_pod(priority=5, status={"nominatedNodeName": "gone"}, requests={"cpu": "1"})
    assert outcome(cluster, preemption, pod)[1] == ""


# ---------------------------------------------------------------------- where it helps


def test_without_candidates_every_node_is_told_of_and_the_nomination_cleared() -> None:
    cluster, preemption = a_cluster("full", "never", "absent", "big")
    cluster.put(cpus("equal", "full", "2", priority=5))
    cluster.put(cpus("low", "big", "1"))
    pod = make_pod(priority=5, requests={"cpu": "3"})
    statuses = {
        "full": Status(Code.UNSCHEDULABLE, "x"),
        "never": Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "y"),
        "big": Status(Code.UNSCHEDULABLE, "z"),
    }
    text = (
        "preemption: 0/4 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )
    assert outcome(cluster, preemption, pod, statuses) == (Status(Code.UNSCHEDULABLE, text), "")


@pytest.mark.parametrize("lower", [False, True])
def test_where_no_pod_has_a_lower_priority_the_result_is_that_of_trying_all_nodes(lower: bool) -> None:
    cluster, preemption = a_cluster("a", "b", "c", "small")
    cluster.node("small", cpu="1")
    for name in "abc":
        cluster.put(cpus(f"on-{name}", name, "2", priority=5))
    if lower:
        cluster.put(cpus("low", "small", "1"))
    table, pod = cluster.scheduler.table, make_pod(priority=5, requests={"cpu": "2"})
    state, framework = CycleState(), cluster.scheduler.frameworks["default-scheduler"]
    rejected = framework.run_filters(state, pod, table, table.order()).statuses(table)
    assert isinstance(rejected, RejectedNodes)
    assert rejected.number(Code.UNSCHEDULABLE) == 3
    assert outcome(cluster, preemption, pod, rejected) == outcome(cluster, preemption, pod, dict(rejected))
    assert outcome(cluster, preemption, pod, rejected)[1] == ""


def test_pods_of_the_same_priority_are_no_victims() -> None:
    cluster, preemption = a_cluster("n")
    cluster.put(cpus("equal", "n", "2", priority=5))
    status, _ = outcome(cluster, preemption, make_pod(priority=5, requests={"cpu": "1"}))
    text = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    assert status.reason == text
    assert outcome(cluster, preemption, make_pod(priority=6, requests={"cpu": "1"})) == (SUCCESS, "n")


def test_the_table_is_as_before_whatever_is_tried() -> None:
    cluster, preemption = a_cluster("n", "m")
    for name, node in (("a", "n"), ("b", "n"), ("c", "m"), ("d", "m")):
        cluster.put(cpus(name, node, priority=1))
    table = cluster.scheduler.table
    before = [dict(pods) for pods in table.pods_on], {name: column.tolist() for name, column in table.requested.items()}
    for cpu in ("1", "2", "3"):
        state, pod = CycleState(), make_pod(priority=5, requests={"cpu": cpu})
        preemption.candidates(state, pod, table, {name: Status(Code.UNSCHEDULABLE) for name in ("n", "m")})
    after = [dict(pods) for pods in table.pods_on], {name: column.tolist() for name, column in table.requested.items()}
    assert before == after


def test_a_node_without_a_need_for_victims_is_an_error() -> None:
    cluster, preemption = a_cluster("n")
    cluster.put(cpus("low", "n", "1"))
    status, nominated = outcome(cluster, preemption, make_pod(priority=5, requests={"cpu": "1"}))
    assert status == Status(Code.ERROR, 'preemption: expected at least one victim pod on node "n"')
    assert nominated is None
    cluster.node("m", cpu="2")
    cluster.put(cpus("other", "m", "2"))
    assert outcome(cluster, preemption, make_pod(priority=5, requests={"cpu": "1"})) == (SUCCESS, "m")


@pytest.mark.parametrize("hook", ["remove_pod", "add_pod"])
def test_a_plugin_that_cannot_follow_a_trial_is_an_error(hook: str) -> None:
    cluster, preemption = a_cluster("n", plugins=[Scripted("Other", **{hook: error("lost")})])
    cluster.put(cpus("low", "n", "2"))
    status, _ = outcome(cluster, preemption, make_pod(priority=5, requests={"cpu": "1"}))
    word = "AddPod" if hook == "add_pod" else "RemovePod"
    assert status.reason == f'preemption: running {word} on PreFilter plugin "Other": lost'
    assert int(cluster.scheduler.table.pod_count[0]) == 1


@pytest.mark.parametrize(
    ("args", "count", "tried"),
    [
        ({}, 30, 30),
        ({"minCandidateNodesAbsolute": 5}, 30, 5),
        ({"minCandidateNodesAbsolute": 1, "minCandidateNodesPercentage": 50}, 30, 15),
        ({"minCandidateNodesAbsolute": 0, "minCandidateNodesPercentage": 10}, 30, 3),
        ({"minCandidateNodesAbsolute": 99}, 30, 30),
    ],
)
def test_how_many_candidates_are_looked_for(args: dict[str, int], count: int, tried: int) -> None:
    cluster, preemption = a_cluster(*(f"n{number}" for number in range(count)), **args)
    for number in range(count):
        cluster.put(cpus(f"low{number}", f"n{number}", "2"))
    statuses = {f"n{number}": Status(Code.UNSCHEDULABLE) for number in range(count)}
    pod = make_pod(priority=5, requests={"cpu": "1"})
    found, failures = preemption.candidates(CycleState(), pod, cluster.scheduler.table, statuses)
    assert (len(found), failures) == (tried, [])


def test_a_search_goes_on_until_a_candidate_breaks_no_budget() -> None:
    cluster, preemption = a_cluster(*(f"n{number}" for number in range(20)), minCandidateNodesAbsolute=1)
    for number in range(20):
        labels = {} if number == 7 else WEB
        cluster.put(make_pod(f"low{number}", labels, node=f"n{number}", requests={"cpu": "2"}))
    cluster.scheduler.store.put(budget_manifest(0))
    statuses = {f"n{number}": Status(Code.UNSCHEDULABLE) for number in range(20)}
    table, pod = cluster.scheduler.table, make_pod(priority=5, requests={"cpu": "1"})
    for _ in range(5):
        found, _ = preemption.candidates(CycleState(), pod, table, statuses)
        assert [candidate.node for candidate in found if not candidate.violations] == ["n7"]
        assert found[-1].node == "n7"


# ---------------------------------------------------------------------- who has to go


def budget_manifest(allowed: int, labels: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "budget", "namespace": "default"},
        "spec": {"selector": {"matchLabels": WEB if labels is None else labels}},
        "status": {"disruptionsAllowed": allowed},
    }


def victims(cluster: Cluster, preemption: DefaultPreemption, pod: Pod) -> tuple[list[str], int]:
    statuses = {"n": Status(Code.UNSCHEDULABLE)}
    (found,), _ = preemption.candidates(CycleState(), pod, cluster.scheduler.table, statuses)
    return [victim.name for victim in found.victims], found.violations


def test_as_many_pods_as_possible_stay_the_most_important_first() -> None:
    cluster, preemption = a_cluster("n")
    for name, cpu, priority in (("a", "500m", 1), ("b", "500m", 3), ("c", "1", 2)):
        cluster.put(cpus(name, "n", cpu, priority))
    assert victims(cluster, preemption, make_pod(priority=5, requests={"cpu": "1"})) == (["c"], 0)
    assert victims(cluster, preemption, make_pod(priority=5, requests={"cpu": "1500m"})) == (["c", "a"], 0)
    assert victims(cluster, preemption, make_pod(priority=5, requests={"cpu": "2"})) == (["b", "c", "a"], 0)
    assert victims(cluster, preemption, make_pod(priority=3, requests={"cpu": "1"})) == (["c"], 0)


def test_among_equals_the_pod_that_started_first_stays() -> None:
    cluster, preemption = a_cluster("n")
    cluster.put(cpus("new", "n", "1", status=started(9)))
    cluster.put(cpus("old", "n", "1", status=started(3)))
    assert victims(cluster, preemption, make_pod(priority=5, requests={"cpu": "1"})) == (["new"], 0)


def test_a_pod_that_has_not_started_counts_as_started_now() -> None:
    cluster, preemption = a_cluster("n")
    cluster.put(cpus("unborn", "n", "1"))
    cluster.put(cpus("old", "n", "1", status=started(3)))
    assert victims(cluster, preemption, make_pod(priority=5, requests={"cpu": "1"})) == (["unborn"], 0)


def test_pods_whose_budget_would_break_stay_before_more_important_ones() -> None:
    cluster, preemption = a_cluster("n")
    cluster.put(make_pod("covered", WEB, node="n", requests={"cpu": "1"}, priority=1))
    cluster.put(cpus("free", "n", "1", priority=3))
    assert victims(cluster, preemption, make_pod(priority=5, requests={"cpu": "1"})) == (["covered"], 0)
    cluster.scheduler.store.put(budget_manifest(0))
    assert victims(cluster, preemption, make_pod(priority=5, requests={"cpu": "1"})) == (["free"], 0)
    assert victims(cluster, preemption, make_pod(priority=5, requests={"cpu": "2"})) == (["free", "covered"], 1)


def test_room_for_nominated_pods_that_are_as_important_is_left() -> None:
    cluster, preemption = a_cluster("n")
    for name in "ab":
        cluster.put(cpus(name, "n", "1"))
    assert len(victims(cluster, preemption, make_pod("p", priority=5, requests={"cpu": "1"}))[0]) == 1
    other = make_pod("other", priority=5, requests={"cpu": "1"})
    cluster.scheduler.nominator.nominate(other, "n")
    assert len(victims(cluster, preemption, make_pod("p", priority=5, requests={"cpu": "1"}))[0]) == 2


def budget(
    allowed: int, selector: LabelSelector | None, namespace: str = "default", *disrupted: str
) -> DisruptionBudget:
    return DisruptionBudget(namespace, "b", selector, allowed, frozenset(disrupted))


PODS = [make_pod(name, WEB) for name in "abc"]


@pytest.mark.parametrize(
    ("budgets", "violating"),
    [
        ([], ""),
        ([budget(0, map_selector(WEB))], "abc"),
        ([budget(1, map_selector(WEB))], "bc"),
        ([budget(3, map_selector(WEB))], ""),
        ([budget(-1, map_selector(WEB))], "abc"),
        ([budget(0, map_selector({"app": "db"}))], ""),
        ([budget(0, map_selector(WEB), "elsewhere")], ""),
        ([budget(0, EVERYTHING)], ""),
        ([budget(0, None)], ""),
        # Pods that are being disrupted already do not count, nor do they use up the budget.
        ([budget(1, map_selector(WEB), "default", "a")], "c"),
        # Every budget counts, whether another one is broken or not.
        ([budget(2, map_selector(WEB)), budget(1, map_selector(WEB))], "bc"),
    ],
)
def test_pods_are_split_by_budgets_in_the_order_of_their_importance(budgets: Any, violating: str) -> None:
    found, others = split_by_budgets(PODS, budgets)
    assert "".join(pod.name for pod in found) == violating
    assert [pod.name for pod in others] == [pod.name for pod in PODS if pod.name not in violating]


def test_pods_without_labels_have_no_budget() -> None:
    absent = label_selector({"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]})
    plain, labelled = make_pod("plain"), make_pod("labelled", WEB)
    assert split_by_budgets([plain, labelled], [budget(0, absent)]) == ([labelled], [plain])


# ---------------------------------------------------------------------- which node


def candidate(node: str, *priorities: int, violations: int = 0, starts: tuple[int | None, ...] = ()) -> Candidate:
    seconds = (*starts, *[None] * len(priorities))
    pods = [
        make_pod(f"{node}-{place}", priority=priority, status={} if second is None else started(second))
        for place, (priority, second) in enumerate(zip(priorities, seconds, strict=False))
    ]
    return Candidate(node, tuple(pods), violations)


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        # Fewest broken budgets, whatever the priorities.
        (candidate("x", 1, violations=1), candidate("y", 9, 9, 9)),
        # Then the lowest of the highest priorities.
        (candidate("x", 5), candidate("y", 4, 4, 4)),
        # Then the smallest sum.
        (candidate("x", 5, 4), candidate("y", 5, 3)),
        (candidate("x", 5, -1), candidate("y", 5)),
        (candidate("x", 5, 5), candidate("y", 5, 4)),
        # The sum counts every victim as at least as much as the lowest priority: fewer are better.
        (candidate("x", -5, -5), candidate("y", -5)),
        # Then the latest start of the earliest of the most important.
        (candidate("x", 5, 5, starts=(1, 9)), candidate("y", 5, 5, starts=(3, 4))),
        (candidate("x", 5, 4, starts=(2, 9)), candidate("y", 5, 4, starts=(3, 1))),
        (candidate("x", 5, starts=(9,)), candidate("y", 5, starts=(None,))),
    ],
)
def test_the_node_is_picked_by_one_criterion_after_the_other(worse: Candidate, better: Candidate) -> None:
    assert pick([worse, better]) is pick([better, worse]) is better


def test_the_first_of_equals_is_picked() -> None:
    one, other = candidate("x", 5, starts=(3,)), candidate("y", 5, starts=(3,))
    assert pick([one, other]) is one
    assert pick([other, one]) is other


def reference_pick(candidates: list[Candidate]) -> Candidate:
    """Plain reference of the rules: each keeps the best of the remaining candidates."""

    def earliest(found: Candidate) -> float:
        top = max(victim.priority for victim in found.victims)
        times = [victim.start_time for victim in found.victims if victim.priority == top]
        return min(float("inf") if time is None else time for time in times)

    rules: list[Any] = [
        lambda found: found.violations,
        lambda found: found.victims[0].priority,
        lambda found: sum(victim.priority + 2**31 for victim in found.victims),
        lambda found: len(found.victims),
        lambda found: -earliest(found),
    ]
    left = candidates
    for rule in rules:
        best = min(rule(found) for found in left)
        left = [found for found in left if rule(found) == best]
    return left[0]


PRIORITIES = st.lists(st.integers(-2, 2), min_size=1, max_size=3).map(lambda found: sorted(found, reverse=True))
STARTS = st.tuples(*[st.sampled_from([None, 1, 2])] * 3)
CANDIDATES = st.lists(st.tuples(PRIORITIES, st.integers(0, 1), STARTS), min_size=1, max_size=6)


@given(CANDIDATES)
def test_the_pick_is_that_of_the_rules_one_by_one(drawn: Any) -> None:
    found = [
        candidate(f"n{place}", *priorities, violations=violations, starts=starts)
        for place, (priorities, violations, starts) in enumerate(drawn)
    ]
    assert pick(found) is reference_pick(found)


# ---------------------------------------------------------------------- making room


def test_less_important_pods_lose_their_nomination_to_the_node() -> None:
    cluster, _ = a_cluster("n")
    cluster.victims_linger = True
    cluster.put(cpus("low", "n", "2"))
    weak = cluster.pod("weak", requests={"cpu": "2"}, priority=3)
    cluster.one()
    nominator = cluster.scheduler.nominator
    assert nominator.node_of(weak.uid) == "n"
    strong = cluster.pod("strong", requests={"cpu": "2"}, priority=5)
    cluster.one()
    assert (nominator.node_of(weak.uid), nominator.node_of(strong.uid)) == ("", "n")
    assert cluster.queued(weak).pod.nominated_node == ""
    assert cluster.evicted == ["low"]


def test_a_victim_that_is_going_already_is_not_evicted_again() -> None:
    cluster, _ = a_cluster("n")
    cluster.put(cpus("going", "n", "1", terminating=True))
    cluster.put(cpus("staying", "n", "1"))
    cluster.pod("p", requests={"cpu": "2"}, priority=5)
    attempt = cluster.one()
    assert {victim.name for victim in attempt.victims} == {"going", "staying"}
    assert cluster.evicted == ["staying"]


def test_a_victim_that_waits_for_permission_goes_back_to_the_queue() -> None:
    permits = Scripted("Permit", permit=[(WAIT, 60.0), SUCCESS])
    cluster, _ = a_cluster("n", plugins=[permits])
    weak = cluster.pod("weak", requests={"cpu": "2"})
    assert cluster.one().is_waiting
    cluster.pod("strong", requests={"cpu": "2"}, priority=5)
    attempt = cluster.one()
    assert (attempt.nominated_node, [victim.name for victim in attempt.victims]) == ("n", ["weak"])
    assert cluster.evicted == []
    assert cluster.queued(weak).message == "waiting on permit for pod: preempted"
    assert cluster.one().node == "n"


def test_a_pod_whose_victims_cannot_be_evicted_is_tried_again() -> None:
    cluster, _ = a_cluster("n")
    cluster.errors["evict"] = "forbidden"
    cluster.put(cpus("low", "n", "2"))
    pod = cluster.pod("p", requests={"cpu": "1"}, priority=5)
    attempt = cluster.one()
    assert (attempt.nominated_node, cluster.place(pod)) == ("n", "backoff")
    del cluster.errors["evict"]
    assert [found.node for found in cluster.all()] == ["", "n"]


def test_no_pod_waits_for_a_preemption_that_is_over_and_deleted_pods_do_not_help_it() -> None:
    plugin = DefaultPreemption({}, FakeHandle())
    assert plugin.pre_enqueue(make_pod()) == SUCCESS
    assert not wakes(plugin, "Pod", Action.DELETE, make_pod(), make_pod(node="n"))
    assert not wakes(plugin, "Node", Action.ADD, make_pod(), None, make_node("n"))


# ---------------------------------------------------------------------- alike nodes


# What runs on a node of four CPUs: the CPU and the priority of each pod, the oldest first.
FULL = [((3, 0), (1, 0)), ((1, 0), (3, 0)), ((2, 0), (2, 0)), ((2, 1), (2, 0)), ((4, 0),), ((1, 0), (1, 0), (2, 0)), ()]


def drawn(chance: random.Random) -> tuple[list[Any], list[Any]]:
    """Few kinds of nodes, so that some are alike, and pods that need room on them."""
    nodes = [
        (chance.choice(FULL), chance.choice(["3", "110"]), chance.random() < 0.2) for _ in range(chance.randint(3, 7))
    ]
    kinds = ["", "", "", "spread", "budget"]
    pods = [(chance.randint(0, 4), chance.randint(1, 3), chance.choice(kinds)) for _ in range(chance.randint(1, 3))]
    return nodes, pods


def history(nodes: list[Any], pods: list[Any]) -> tuple[Any, ...]:
    """Nodes and messages of pods, scheduled one by one, without evicted pods."""
    cluster = EmbeddedCluster(set_up(default_config()))
    if any(kind == "budget" for *_, kind in pods):
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
        metadata = {"name": "budget", "namespace": "default"}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}
        cluster.apply(budget | {"status": {"disruptionsAllowed": 1}})
    for number, (running, room, is_tainted) in enumerate(nodes):
        taints = [{"key": "dedicated", "effect": "NoSchedule"}] if is_tainted and number % 3 == 0 else []
        status = {"allocatable": {"cpu": "4", "memory": "4Gi", "pods": room}}
        metadata = {"name": f"node-{number}", "labels": {"kubernetes.io/hostname": f"node-{number}"}}
        cluster.apply({"kind": "Node", "metadata": metadata, "spec": {"taints": taints}, "status": status})
        for place, (cpu, priority) in enumerate(running):
            old = a_pod(f"old-{number}-{place}", cpu, priority)
            old["spec"]["nodeName"] = f"node-{number}"
            cluster.apply(old | {"status": {"phase": "Running", **started(place)}})
    told = []
    for number, (cpu, priority, kind) in enumerate(pods):
        cluster.apply(a_pod(f"new-{number}", cpu, priority, kind))
        cluster.settle()
        told.append(sorted((queued.pod.name, queued.message) for queued in cluster.scheduler.queue))
    return told, {name: pod.node for name, pod in cluster.pods.items()}


def a_pod(name: str, cpu: int, priority: int, kind: str = "") -> dict[str, Any]:
    requests = {"cpu": str(cpu)} if cpu else {"memory": "1Gi"}
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
        "priority": priority,
    }
    if kind == "spread":
        rule = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
        spec["topologySpreadConstraints"] = [rule | {"labelSelector": {"matchLabels": {"app": "web"}}}]
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}}, "spec": spec}


@pytest.mark.parametrize("seed", range(10))
def test_what_is_known_of_alike_nodes_changes_no_decision(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        nodes, pods = drawn(chance)
        quick = history(nodes, pods)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Framework, "judges_by_counts", lambda *_: False)
            assert history(nodes, pods) == quick, (nodes, pods)


def test_alike_nodes_are_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, preemption = a_cluster(*(f"n{number}" for number in range(20)))
    for number in range(20):
        cluster.put(cpus(f"low-{number}", f"n{number}", "2"))
    pod = cluster.pod("p", requests={"cpu": "1"}, priority=5)
    tried: list[int] = []
    real = preemption._try

    def counted(state: Any, pod: Pod, table: Any, row: int, budgets: Any) -> Any:
        tried.append(row)
        return real(state, pod, table, row, budgets)

    monkeypatch.setattr(preemption, "_try", counted)
    attempt = cluster.one()
    assert len(tried) == 1
    assert [victim.node for victim in attempt.victims] == [attempt.nominated_node]
    assert cluster.one().node == attempt.nominated_node
    assert cluster.where(pod) == attempt.nominated_node
