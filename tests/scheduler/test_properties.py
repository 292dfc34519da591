"""Properties under any events and plugins: no over-committed node, no double bind, no leaked reservation."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.plugin import BindPlugin, PermitPlugin, PreBindPlugin, ReservePlugin
from kubewasp.framework.status import SUCCESS, Status
from kubewasp.k8s.pods import Pod
from kubewasp.plugins.default_binder import DefaultBinder
from kubewasp.plugins.default_preemption import DefaultPreemption
from kubewasp.plugins.node_resources_fit import NodeResourcesFit
from kubewasp.plugins.priority_sort import PrioritySort
from kubewasp.plugins.scheduling_gates import SchedulingGates
from tests.framework.fakes import SKIP, WAIT, error, unschedulable
from tests.plugins.building import ZONE, make_node, make_pod, spread
from tests.scheduler.building import Cluster, cluster_of, default_cluster

NODES = [f"n{number}" for number in range(5)]
OUTCOMES = st.sampled_from([unschedulable("no"), error("broken")])


class Faulty(ReservePlugin, PermitPlugin, PreBindPlugin, BindPlugin):
    """Fails at the configured hooks, and records its reservations."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.next: dict[str, list[Any]] = {}
        self.reserved: Counter[str] = Counter()
        self.undone: Counter[str] = Counter()

    def _next(self, hook: str, default: Any = SUCCESS) -> Any:
        left = self.next.get(hook)
        return left.pop() if left else default

    def reserve(self, state: CycleState, pod: Pod, node: str) -> Status:
        self.reserved[pod.uid] += 1
        return self._next("reserve")

    def unreserve(self, state: CycleState, pod: Pod, node: str) -> None:
        self.undone[pod.uid] += 1
        self.reserved[pod.uid] = 0

    def permit(self, state: CycleState, pod: Pod, node: str) -> tuple[Status, float]:
        return self._next("permit"), 5.0

    def pre_bind(self, state: CycleState, pod: Pod, node: str) -> Status:
        return self._next("pre_bind")

    def bind(self, state: CycleState, pod: Pod, node: str) -> Status:
        return self._next("bind", SKIP)


def cpus(pod: Pod) -> dict[str, str]:
    return {"cpu": f"{pod.resources.requests.cpu}m"}


class Turmoil(RuleBasedStateMachine):
    """Pods and nodes come and go, time passes, plugins and the API fail at random."""

    def __init__(self) -> None:
        super().__init__()
        self.plugins = [Faulty("A"), Faulty("B")]
        built_in = (PrioritySort, SchedulingGates, NodeResourcesFit, DefaultPreemption)
        self.cluster = cluster_of(*built_in, *self.plugins, DefaultBinder)
        self.names = iter(range(10**6))
        self.checks = [
            self.no_node_is_over_committed,
            self.no_pod_is_bound_twice,
            self.every_pod_is_in_one_place,
            self.the_table_has_the_pods_that_have_a_node_or_wait_for_it,
            self.what_is_reserved_is_bound_or_waits,
            self.nominations_are_those_of_pods_in_the_queue,
            self.nothing_is_in_flight_but_pods_that_wait,
        ]

    @initialize(count=st.integers(0, 3))
    def begin(self, count: int) -> None:
        for name in NODES[:count]:
            self.cluster.node(name, cpu="4", pods="3")

    # ------------------------------------------------------------------ the cluster

    @rule(name=st.sampled_from(NODES), cpu=st.integers(1, 6), pods=st.integers(1, 4))
    def put_node(self, name: str, cpu: int, pods: int) -> None:
        """A node never shrinks below what it has given away: that would be over-committed by others."""
        row = self.cluster.scheduler.table.row(name)
        waiting = [item.assumed for item in self.cluster.scheduler.waiting.all()]
        if row is None and any(pod.node == name for pod in (*self.cluster.pods.values(), *waiting)):
            return
        if row is not None:
            table = self.cluster.scheduler.table
            cpu = max(cpu, -(-int(table.requested["cpu"][row]) // 1000))
            pods = max(pods, int(table.pod_count[row]))
        self.cluster.node(name, cpu=str(cpu), pods=str(pods))

    @rule(name=st.sampled_from(NODES))
    def remove_node(self, name: str) -> None:
        """Its pods wait for it; they go with it if they have not gone when it comes back."""
        self.cluster.scheduler.events.delete_node(name)
        for pod in [pod for pod in self.cluster.pods.values() if pod.node == name]:
            self.cluster.delete(pod)

    @rule(
        pods=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=4),
        gated=st.sampled_from([False, False, False, True]),
    )
    def add_pods(self, pods: list[tuple[int, int]], gated: bool) -> None:
        gates = [{"name": "gate"}] if gated else []
        for cpu, priority in pods:
            name = f"p{next(self.names)}"
            self.cluster.pod(name, requests={"cpu": str(cpu)}, priority=priority, schedulingGates=gates)

    @precondition(lambda self: self.cluster.pods)
    @rule(data=st.data(), lingers=st.booleans())
    def delete_pod(self, data: st.DataObject, lingers: bool) -> None:
        uid = data.draw(st.sampled_from(sorted(self.cluster.pods)))
        pod = self.cluster.pods[uid]
        if lingers and not pod.is_terminating:
            self.cluster.put(replace(pod, is_terminating=True))
        else:
            self.cluster.delete(pod)

    @precondition(lambda self: any(not pod.node for pod in self.cluster.pods.values()))
    @rule(data=st.data(), label=st.sampled_from("ab"))
    def change_pod(self, data: st.DataObject, label: str) -> None:
        """It gets a label, and loses its gates."""
        uid = data.draw(st.sampled_from(sorted(uid for uid, pod in self.cluster.pods.items() if not pod.node)))
        pod = self.cluster.pods[uid]
        ungated = make_pod(pod.name, {"label": label}, requests=cpus(pod), priority=pod.priority)
        self.cluster.put(replace(ungated, is_terminating=pod.is_terminating))

    @rule(seconds=st.sampled_from([0.3, 1.0, 5.0, 301.0]))
    def pass_time(self, seconds: float) -> None:
        self.cluster.pass_time(seconds)
        self.cluster.tick()
        self.cluster.scheduler.queue.flush_stuck()

    # ------------------------------------------------------------------ faults

    @rule(
        plugin=st.integers(0, 1),
        hook=st.sampled_from(["reserve", "permit", "pre_bind", "bind"]),
        outcome=OUTCOMES,
        waits=st.booleans(),
    )
    def plan(self, plugin: int, hook: str, outcome: Status, waits: bool) -> None:
        if hook == "permit" and waits:
            outcome = WAIT
        self.plugins[plugin].next.setdefault(hook, []).append(outcome)

    @rule(call=st.sampled_from(["bind", "evict"]), lingers=st.booleans())
    def fault_of_the_api(self, call: str, lingers: bool) -> None:
        """The next call fails; and from now on victims take their time, or not."""
        self.cluster.errors[call] = "the API is away"
        self.cluster.victims_linger = lingers
        self.schedule_some(1)

    # ------------------------------------------------------------------ the scheduler

    @rule(most=st.integers(1, 3))
    def schedule_some(self, most: int) -> None:
        for _ in range(most):
            self.cluster.scheduler.schedule_one()
            self.cluster.errors.clear()

    @rule()
    def schedule_all(self) -> None:
        self.cluster.all()

    @precondition(lambda self: self.cluster.scheduler.waiting)
    @rule(data=st.data(), plugin=st.sampled_from("AB"), how=st.sampled_from(["allow", "reject", "preempt"]))
    def decide(self, data: st.DataObject, plugin: str, how: str) -> None:
        scheduler = self.cluster.scheduler
        uid = data.draw(st.sampled_from(sorted(scheduler.waiting)))
        if how == "allow":
            scheduler.handle.allow_waiting_pod(uid, plugin)
        elif how == "reject":
            scheduler.handle.reject_waiting_pod(uid)
        else:
            scheduler.handle.preempt_waiting_pod(uid)
        scheduler.settle()

    # ------------------------------------------------------------------ what always holds

    @invariant()
    def no_node_is_over_committed(self) -> None:
        table = self.cluster.scheduler.table
        for row in table.order().tolist():
            assert table.requested["cpu"][row] <= table.allocatable["cpu"][row]
            assert table.pod_count[row] <= table.max_pods[row]

    @invariant()
    def no_pod_is_bound_twice(self) -> None:
        """The cluster itself refuses to bind a pod that has a node; no pod may be bound again under its name either."""
        counts = Counter(name for name, _ in self.cluster.bound)
        assert all(count == 1 for count in counts.values())

    @invariant()
    def every_pod_is_in_one_place(self) -> None:
        scheduler = self.cluster.scheduler
        for uid, pod in self.cluster.pods.items():
            assert (scheduler.queue.get(uid) is None) is bool(pod.node) or pod.is_terminating
            assert (uid in scheduler.waiting) <= (uid in scheduler.assumed._pods)
        assert {queued.pod.uid for queued in scheduler.queue} <= set(self.cluster.pods)
        assert set(scheduler.assumed._pods) == set(scheduler.waiting)

    @invariant()
    def the_table_has_the_pods_that_have_a_node_or_wait_for_it(self) -> None:
        scheduler = self.cluster.scheduler
        expected = {uid: pod.node for uid, pod in self.cluster.pods.items() if pod.node}
        expected |= {uid: waiting.assumed.node for waiting in scheduler.waiting.all() for uid in (waiting.assumed.uid,)}
        table = scheduler.table
        found = {uid: table.node(row).name for row in table.order().tolist() for uid in table.pods_on[row]}
        gone = {uid: node for uid, node in expected.items() if table.row(node) is None}
        assert found == {uid: node for uid, node in expected.items() if uid not in gone}

    @invariant()
    def what_is_reserved_is_bound_or_waits(self) -> None:
        scheduler = self.cluster.scheduler
        bound = {name for name, _ in self.cluster.bound}
        for plugin in self.plugins:
            for uid, count in plugin.reserved.items():
                assert count in (0, 1)
                assert not count or uid in scheduler.waiting or uid.partition("/")[2] in bound

    @invariant()
    def nominations_are_those_of_pods_in_the_queue(self) -> None:
        scheduler = self.cluster.scheduler
        for queued in scheduler.queue:
            if queued.pod.uid not in scheduler.waiting:
                assert scheduler.nominator.node_of(queued.pod.uid) == queued.pod.nominated_node
        # A pod that is being deleted is skipped and leaves the queue; its nomination ends when it is gone, as upstream.
        leaving = {uid for uid, pod in self.cluster.pods.items() if pod.is_terminating}
        assert set(scheduler.nominator._node_of) <= {queued.pod.uid for queued in scheduler.queue} | leaving

    @invariant()
    def nothing_is_in_flight_but_pods_that_wait(self) -> None:
        queue = self.cluster.scheduler.queue
        assert set(queue._in_flight._starts) == set(self.cluster.scheduler.waiting)
        assert queue._in_flight or not queue._in_flight._changes


Turmoil.TestCase.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
TestTurmoil = Turmoil.TestCase


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_the_same_holds_through_a_long_life(chance: random.Random) -> None:
    """Busier than what a state machine draws: many pods are bound, preempted, held back and undone."""
    world = Turmoil()
    cluster, scheduler = world.cluster, world.cluster.scheduler
    for name in NODES[:3]:
        cluster.node(name, cpu="4", pods="4")

    def fault() -> None:
        hook = chance.choice(["reserve", "permit", "permit", "pre_bind", "bind"])
        outcome = WAIT if hook == "permit" and chance.random() < 0.7 else chance.choice([unschedulable(), error()])
        chance.choice(world.plugins).next.setdefault(hook, []).append(outcome)

    def add() -> None:
        cpu, priority = str(chance.randrange(4)), chance.randrange(4)
        cluster.pod(f"p{next(world.names)}", requests={"cpu": cpu}, priority=priority)

    def delete() -> None:
        if cluster.pods:
            cluster.delete(cluster.pods[chance.choice(sorted(cluster.pods))])

    def decide() -> None:
        if scheduler.waiting:
            uid = chance.choice(sorted(scheduler.waiting))
            chance.choice(
                [
                    lambda: scheduler.handle.allow_waiting_pod(uid, chance.choice("AB")),
                    lambda: scheduler.handle.reject_waiting_pod(uid),
                    lambda: scheduler.handle.preempt_waiting_pod(uid),
                ]
            )()
            scheduler.settle()

    def linger() -> None:
        cluster.victims_linger = not cluster.victims_linger

    steps = [add, add, add, fault, delete, decide, linger, lambda: world.pass_time(chance.choice([0.3, 2.0, 6.0]))]
    for _ in range(120):
        chance.choice(steps)()
        for _ in range(chance.randrange(3)):
            scheduler.schedule_one()
        for check in world.checks:
            check()


# ---------------------------------------------------------------------- the default profile

CLUSTERS = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.sampled_from("xyz"), st.booleans()), min_size=1, max_size=6
)
WORKLOADS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2), st.booleans()), max_size=10)


def build(nodes: list[tuple[int, int, str, bool]], order: list[int]) -> Cluster:
    made = [
        make_node(
            f"n{place}",
            {ZONE: zone, "kubernetes.io/hostname": f"n{place}"},
            cpu=str(cpu),
            memory=f"{memory}Gi",
            taints=["soft=:PreferNoSchedule"] if soft else [],
        )
        for place, (cpu, memory, zone, soft) in enumerate(nodes)
    ]
    return default_cluster(made[place] for place in order)


def requested(pod: tuple[int, int, int, bool]) -> dict[str, Any]:
    cpu, memory, priority, spreads = pod
    constraints = [spread(ZONE, match={"app": "a"})] if spreads else []
    return {
        "labels": {"app": "a"},
        "requests": {"cpu": str(cpu), "memory": f"{memory}Gi"},
        "priority": priority,
        "topologySpreadConstraints": constraints,
    }


@settings(max_examples=60)
@given(CLUSTERS, WORKLOADS)
def test_no_node_is_over_committed_and_no_pod_forgotten(nodes: Any, pods: Any) -> None:
    cluster = build(nodes, list(range(len(nodes))))
    made = [cluster.pod(f"p{place}", **requested(pod)) for place, pod in enumerate(pods)]
    cluster.all()
    table = cluster.scheduler.table
    for name in ("cpu", "memory"):
        assert (table.requested[name] <= table.allocatable[name]).all()
    for pod in made:
        if pod.uid in cluster.pods:
            assert cluster.where(pod) or cluster.place(pod) in ("unschedulable", "backoff")
    names = [name for name, _ in cluster.bound]
    assert len(names) == len(set(names))


@settings(max_examples=60)
@given(CLUSTERS, WORKLOADS, st.data())
def test_the_order_of_nodes_decides_among_the_best_only(nodes: Any, pods: Any, data: st.DataObject) -> None:
    """Pod by pod: both clusters score the nodes alike, and each takes one of the best."""
    straight = list(range(len(nodes)))
    one, other = build(nodes, straight), build(nodes, data.draw(st.permutations(straight)))
    for place, drawn in enumerate(pods):
        pod = make_pod(f"p{place}", **requested(drawn))
        found = [totals(cluster, pod) for cluster in (one, other)]
        assert found[0] == found[1]
        attempt = one.one_of(pod)
        if attempt.node:
            assert found[0][attempt.node] == max(found[0].values())
            other.put(replace(pod, node=attempt.node))
        else:
            assert not found[0]
            return  # who has to go may differ


def totals(cluster: Cluster, pod: Pod) -> dict[str, int]:
    """The total of every node that passes; those of the nodes themselves, which no sample changes."""
    framework, table, state = cluster.scheduler.frameworks["default-scheduler"], cluster.scheduler.table, CycleState()
    if not framework.run_pre_filter(state, pod, table).status.is_success:
        return {}
    rows = framework.run_filters(state, pod, table, table.order()).rows
    if not len(rows):
        return {}
    found = framework.run_scores(state, pod, table, rows)
    assert not isinstance(found, Status)
    return {table.node(row).name: total for row, total in zip(rows.tolist(), found.tolist(), strict=True)}
