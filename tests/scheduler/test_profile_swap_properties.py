"""Property of swaps: whatever happens between them, no pod is lost, bound twice, or decided by two versions."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.cycle_state import CycleState, StateKey
from kubewasp.framework.plugin import PreFilterResult, Registration
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.pods import Pod
from kubewasp.scheduler.profile_set import Canary, Tuning
from kubewasp.state.node_table import NodeTable
from tests.framework.fakes import WAIT, Rows, Scores, Scripted, make_framework, unschedulable
from tests.scheduler.building import Cluster, cluster_of

NODES = ("n1", "n2", "n3")
VERSION = StateKey[int]("version")


@dataclass
class Witness:
    """The versions that each attempt of a pod was decided by, and the pods that are reserved."""

    mixed: list[str] = field(default_factory=list)
    reserved: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    cluster: Cluster | None = None


class Versioned(Scripted):
    """Version of a plugin: its hooks check that the attempt began with the same version."""

    def __init__(self, number: int, witness: Witness, **answers: Any) -> None:
        super().__init__("P", events=[Registration("Node", Action.ADD)], **answers)
        self.number = number
        self.witness = witness
        self.is_closed = False

    def _check(self, state: CycleState, pod: Pod, hook: str) -> None:
        if state.get(VERSION) != self.number:
            self.witness.mixed.append(f"{pod.key} began with {state.get(VERSION)}, {hook} is of {self.number}")
        if self.is_closed:
            self.witness.problems.append(f"{hook} of closed version {self.number}")

    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult:
        state[VERSION] = self.number
        return super().pre_filter(state, pod, table)

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Any:
        self._check(state, pod, "filter")
        return super().filter(state, pod, table, rows)

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        self._check(state, pod, "score")
        return super().score(state, pod, table, rows)

    def reserve(self, state: CycleState, pod: Pod, node: str) -> Status:
        self._check(state, pod, "reserve")
        self.witness.reserved[pod.uid] = self.number
        return super().reserve(state, pod, node)

    def unreserve(self, state: CycleState, pod: Pod, node: str) -> None:
        self._check(state, pod, "unreserve")
        if self.witness.reserved.pop(pod.uid, None) != self.number:
            self.witness.problems.append(f"{pod.key} unreserved by another version")

    def permit(self, state: CycleState, pod: Pod, node: str) -> tuple[Status, float]:
        self._check(state, pod, "permit")
        found = self._answer("permit", SUCCESS)
        return (found, 60.0) if found.code == Code.WAIT else (found, 0.0)

    def pre_bind(self, state: CycleState, pod: Pod, node: str) -> Status:
        self._check(state, pod, "pre_bind")
        return super().pre_bind(state, pod, node)

    def bind(self, state: CycleState, pod: Pod, node: str) -> Status:
        self._check(state, pod, "bind")
        assert self.witness.cluster is not None
        found: Status = self._answer("bind", SUCCESS)
        return self.witness.cluster.bind(pod, node) if found.is_success else found

    def post_bind(self, state: CycleState, pod: Pod, node: str) -> None:
        self._check(state, pod, "post_bind")
        if self.witness.reserved.pop(pod.uid, None) != self.number:
            self.witness.problems.append(f"{pod.key} bound by another version")

    def close(self) -> None:
        self.is_closed = True


class EveryOther:
    """Half of the pods, by name."""

    def takes(self, pod: Pod) -> bool:
        return int(pod.name.rpartition("-")[2]) % 2 == 0


class LookingTrial:
    """A trial that lets the scheduler look for the canary."""

    def choose(self, cycle: Any, pod: Pod, record: Any) -> Any:
        return cycle.choose(pod, record)

    def attempted(self) -> None:
        pass


answers = st.fixed_dictionaries(
    {},
    optional={
        "permit": st.sampled_from([SUCCESS, WAIT, unschedulable("permit")]),
        "bind": st.sampled_from([WAIT]),
        "pre_bind": st.sampled_from([SUCCESS, WAIT, Status(Code.ERROR, "prebind")]),
        "reserve": st.sampled_from([SUCCESS, unschedulable("reserve")]),
        "pre_enqueue": st.sampled_from([SUCCESS, unschedulable("gate")]),
        "filter": st.dictionaries(st.sampled_from(NODES), st.just(unschedulable("filter")), max_size=3),
    },
)


class Swaps(RuleBasedStateMachine):
    """Pods come and go, wait, are bound and fail, while versions of a plugin come and go."""

    @initialize()
    def begin(self) -> None:
        self.witness = Witness()
        self.numbers = 0
        self.made = 0
        self.plugins: list[Versioned] = []
        self.cluster: Cluster = cluster_of(self._plugin({}), nodes=NODES)
        self.witness.cluster = self.cluster
        self.alive: dict[str, Pod] = {}
        self.sent: set[str] = set()

    def _plugin(self, given: dict[str, Any]) -> Versioned:
        self.numbers += 1
        self.plugins.append(Versioned(self.numbers, self.witness, **given))
        return self.plugins[-1]

    def _set(self, given: dict[str, Any]) -> Any:
        framework = make_framework(self._plugin(given))
        return self.cluster.scheduler.builder.build([framework], Tuning(initial_backoff=1.0, max_backoff=2.0))

    @rule(given=answers)
    def swap(self, given: dict[str, Any]) -> None:
        self.cluster.scheduler.install(self._set(given))

    @rule(given=answers)
    def start_canary(self, given: dict[str, Any]) -> None:
        stable = self.cluster.scheduler.profiles.stable
        self.cluster.scheduler.install(stable, canary=Canary(self._set(given), EveryOther()), trial=LookingTrial())

    @precondition(lambda self: self.cluster.scheduler.profiles.canary is not None)
    @rule()
    def promote_canary(self) -> None:
        canary = self.cluster.scheduler.profiles.canary
        assert canary is not None
        self.cluster.scheduler.install(canary.profiles)

    @rule(priority=st.integers(0, 2))
    def create(self, priority: int) -> None:
        pod = self.cluster.pod(f"pod-{self.made}", priority=priority)
        self.made += 1
        self.alive[pod.uid] = pod

    @rule()
    def schedule(self) -> None:
        attempt = self.cluster.scheduler.schedule_one()
        if attempt is not None and attempt.is_binding:
            self.sent.add(attempt.pod.uid)

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.alive)))
        if uid not in self.sent:
            self.cluster.delete(self.alive.pop(uid))
            self.witness.reserved.pop(uid, None)

    @precondition(lambda self: len(self.cluster.scheduler.waiting))
    @rule(data=st.data(), allowed=st.booleans())
    def decide(self, data: st.DataObject, allowed: bool) -> None:
        uid = data.draw(st.sampled_from(sorted(self.cluster.scheduler.waiting)))
        handle = self.cluster.scheduler.handle
        found = handle.allow_waiting_pod(uid, "P") if allowed else handle.reject_waiting_pod(uid, "P", "no")
        assert found
        self.cluster.scheduler.settle()

    @precondition(lambda self: len(self.cluster.scheduler.binding))
    @rule(data=st.data(), succeeds=st.booleans())
    def answer_bind(self, data: st.DataObject, succeeds: bool) -> None:
        binding = self.cluster.scheduler.binding
        open_binds = [uid for uid in sorted(self.alive) if uid in binding and not binding.is_held_up(uid)]
        if open_binds:
            uid = data.draw(st.sampled_from(open_binds))
            self.sent.discard(uid)
            if succeeds:
                self.cluster.bind(self.alive[uid], binding._under_way[uid].assumed.node)
            self.cluster.scheduler.bound(uid, SUCCESS if succeeds else Status(Code.ERROR, "refused"))

    @rule(seconds=st.sampled_from([0.5, 3.0, 61.0]))
    def pass_time(self, seconds: float) -> None:
        self.cluster.pass_time(seconds)
        self.cluster.scheduler.tick()
        self.cluster.scheduler.flush_stuck()

    @invariant()
    def every_pod_is_in_one_place(self) -> None:
        scheduler = self.cluster.scheduler
        for uid in self.alive:
            is_bound = bool(self.cluster.pods[uid].node)
            queued = scheduler.queue.get(uid)
            if is_bound:
                continue
            assert queued is not None, f"{uid} is lost"
            if queued.place == "in flight":
                assert uid in scheduler.waiting or uid in scheduler.binding, f"{uid} is in flight and nowhere"

    @invariant()
    def no_version_calls_for_another(self) -> None:
        assert self.witness.mixed == []
        assert self.witness.problems == []

    @invariant()
    def no_pod_is_bound_twice(self) -> None:
        names = [name for name, _ in self.cluster.bound]
        assert len(names) == len(set(names))

    def teardown(self) -> None:
        """With a version that takes every pod, all are bound, and all versions before are closed."""
        if not hasattr(self, "cluster"):
            return
        scheduler = self.cluster.scheduler
        for uid in sorted(self.alive):
            if uid in scheduler.binding and not scheduler.binding.is_held_up(uid):
                scheduler.bound(uid, Status(Code.ERROR, "refused"))
        for plugin in self.plugins:
            plugin.answers = {"events": plugin.answers["events"]}
        scheduler.install(self._set({}))
        for _ in range(60):
            self.cluster.pass_time(61.0)
            scheduler.tick()
            while scheduler.schedule_one() is not None:
                pass
        assert [uid for uid in self.alive if not self.cluster.pods[uid].node] == []
        assert [plugin.number for plugin in self.plugins if not plugin.is_closed] == [self.numbers]


TestSwaps = Swaps.TestCase
TestSwaps.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
