"""Exceptions of plugins and listeners: one pod's attempt fails, the scheduler goes on."""

from typing import Any

import pytest

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.observer import NoObserver
from kubewasp.framework.plugin import PreFilterResult, Registration
from kubewasp.framework.status import SUCCESS
from kubewasp.k8s.pods import Pod
from kubewasp.plugins.default_binder import DefaultBinder
from kubewasp.scheduler.attempt import Attempt
from kubewasp.scheduler.subqueues import AfterAllKeys
from tests.framework.fakes import SKIP, Scripted, unschedulable
from tests.scheduler.building import Cluster, cluster_of


class Broken(Scripted):
    """Raises in the named methods, for pods called `bad`."""

    def __init__(self, *methods: str, **answers: Any) -> None:
        super().__init__(**{"bind": SKIP} | answers)
        self.is_broken = True
        for method in methods:
            setattr(self, method, self._raising(getattr(self, method)))

    def _raising(self, method: Any) -> Any:
        def call(*args: Any) -> Any:
            pods = [item for item in args if isinstance(item, Pod)]
            if self.is_broken and any(pod.name == "bad" for pod in pods):
                raise RuntimeError("a bug")
            return method(*args)

        return call


class Counts(NoObserver):
    def __init__(self) -> None:
        self.places: list[str] = []

    def unexpected_error(self, where: str) -> None:
        self.places.append(where)


def broken(*methods: str, nodes: tuple[str, ...] = ("n0", "n1"), **answers: Any) -> tuple[Cluster, Broken, Counts]:
    plugin, counts = Broken(*methods, **answers), Counts()
    return cluster_of(plugin, DefaultBinder, nodes=nodes, observer=counts), plugin, counts


@pytest.mark.parametrize(
    ("method", "place"),
    [
        ("pre_filter", "attempt"),
        ("filter", "attempt"),
        ("pre_score", "attempt"),
        ("score", "attempt"),
        ("normalize", "attempt"),
        ("reserve", "attempt"),
        ("permit", "attempt"),
        ("pre_bind", "PreBind"),
        ("bind", "Bind"),
    ],
)
def test_an_exception_fails_one_attempt_of_one_pod(method: str, place: str) -> None:
    cluster, plugin, counts = broken(method)
    bad, good = cluster.pod("bad", requests={"cpu": "1"}, priority=10), cluster.pod("good")
    attempt = cluster.one()
    assert (attempt.pod.name, attempt.node, attempt.is_error) == ("bad", "", True)
    assert attempt.message == "unexpected error: RuntimeError: a bug"
    assert cluster.place(bad) == "backoff"
    assert counts.places == [place]
    assert cluster.scheduler.table.requested["cpu"].tolist()[:2] == [0, 0], "nothing stays reserved"
    assert cluster.one().node, "the next pod has its turn"
    assert cluster.where(good)
    plugin.is_broken = False
    cluster.pass_time(30)
    assert cluster.one().node
    assert cluster.where(bad)


def test_an_exception_in_post_filter_is_one_pods() -> None:
    cluster, _, counts = broken("post_filter", filter={"n0": unschedulable(), "n1": unschedulable()})
    bad = cluster.pod("bad")
    assert cluster.one().message == "unexpected error: RuntimeError: a bug"
    assert (cluster.place(bad), counts.places) == ("backoff", ["attempt"])


def test_the_state_of_a_failed_cycle_is_closed() -> None:
    """Instances of guests are in it: without it, they are never free again."""
    closed: list[str] = []

    class Kept:
        def close(self) -> None:
            closed.append("closed")

    class Keeping(Broken):
        def pre_filter(self, state: Any, pod: Pod, table: Any) -> PreFilterResult:
            state["kept"] = Kept()
            return PreFilterResult(SUCCESS)

    cluster = cluster_of(Keeping("filter"), DefaultBinder, nodes=("n0",))
    cluster.pod("bad")
    cluster.one()
    assert closed == ["closed"]


def test_an_exception_in_unreserve_leaves_the_other_plugins_theirs() -> None:
    log: list[Any] = []
    first, last = Scripted("First", log, bind=SKIP), Scripted("Last", log, bind=SKIP, permit=unschedulable())
    plugin, counts = Broken("unreserve"), Counts()
    cluster = cluster_of(first, plugin, last, DefaultBinder, nodes=("n0",), observer=counts)
    cluster.pod("bad", requests={"cpu": "1"})
    assert cluster.one().message == "0/1 nodes are available: 1 no."
    assert [name for name, hook in log if hook == "unreserve"] == ["Last", "First"]
    assert counts.places == ["Unreserve"]
    assert int(cluster.scheduler.table.requested["cpu"][0]) == 0


def test_a_pod_is_bound_whatever_post_bind_raises() -> None:
    cluster, _, counts = broken("post_bind")
    bad = cluster.pod("bad")
    assert cluster.one().node
    assert (bool(cluster.where(bad)), counts.places, len(cluster.scheduler.queue)) == (True, ["PostBind"], 0)


def test_an_exception_in_pre_enqueue_gates_the_pod() -> None:
    cluster, plugin, counts = broken("pre_enqueue", events=(Registration("Node", Action.ALL),))
    bad, good = cluster.pod("bad"), cluster.pod("good")
    assert cluster.queued(bad).gated_by == "Fake"
    assert cluster.queued(bad).gate_reason == "unexpected error: RuntimeError: a bug"
    assert [attempt.pod for attempt in cluster.all()] == [good]
    assert counts.places == ["PreEnqueue"]
    plugin.is_broken = False
    cluster.node("n2")
    assert [attempt.pod.name for attempt in cluster.all()] == ["bad"]


def test_a_hint_that_raises_wakes_the_pod() -> None:
    def hint(pod: Pod, *_: object) -> bool:
        raise RuntimeError("a bug")

    registration = Registration("Node", Action.ADD, hint=hint)
    cluster, _, counts = broken(filter={"n0": unschedulable(), "n1": unschedulable()}, events=(registration,))
    bad = cluster.pod("bad")
    cluster.one()
    assert cluster.place(bad) == "unschedulable"
    cluster.pass_time(30)
    cluster.node("n2")
    assert cluster.place(bad) == "active"
    assert counts.places == ["hint"]


def test_a_pod_without_a_sort_key_comes_last() -> None:
    cluster, _, counts = broken("sort_key")
    for name in ("bad", "good", "better"):
        cluster.pod(name, priority={"bad": 100, "better": 1}.get(name, 0))
    assert [attempt.pod.name for attempt in cluster.all()] == ["better", "good", "bad"]
    assert counts.places == ["QueueSort"]


def test_keys_after_all_keys_are_in_the_order_of_time() -> None:
    first, second = AfterAllKeys(1.0), AfterAllKeys(2.0)
    assert sorted([second, (5, 5), first, (1, 2)]) == [(1, 2), (5, 5), first, second]  # type: ignore[type-var]
    assert (first == AfterAllKeys(1.0), first == (1,)) == (True, False)


def test_a_listener_that_raises_keeps_nothing_from_the_others() -> None:
    class Raising:
        def attempted(self, attempt: Attempt) -> None:
            raise RuntimeError("a bug")

    counts, after = Counts(), []

    class Listening:
        def attempted(self, attempt: Attempt) -> None:
            after.append(attempt)

    plugin = Scripted(bind=SKIP)
    cluster = cluster_of(plugin, DefaultBinder, nodes=("n0",), observer=counts)
    cluster.scheduler.subscribe(Raising())
    cluster.scheduler.subscribe(Listening())
    cluster.pod("p")
    assert cluster.one().node == "n0"
    assert (len(after), counts.places) == (1, ["listener"])
