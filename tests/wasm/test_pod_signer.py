"""Signing of pods with `signpod`, partly ahead of their cycles."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.framework.config.reading import read_config
from kubewasp.framework.observer import NoObserver
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.pods import Pod, PodParser
from kubewasp.scheduler.composition import set_up
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from kubewasp.wasm.evaluation import evaluate
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.hook_results import SignResult, Trace
from kubewasp.wasm.limits import Limits
from kubewasp.wasm.pod_signer import PodSigner
from tests.guests.build import wat_text
from tests.wasm.test_answer_cache import TWINS, node, pod

if TYPE_CHECKING:
    from kubewasp.framework.handle import SchedulerHandle

# As TWINS, but pods are signed in signpod. BEFORE comes first in it.
SIGNING = TWINS.replace("SIGN", "").replace(
    '(func (export "filter")',
    """(import "kubewasp/v1" "node_rows" (func $node_rows (result i32)))
  (import "kubewasp/v1" "cycle" (func $cycle (result i32)))
  (func (export "signpod") (result i64)
    (local $last i32)
    (drop (call $pod (i32.const 1024) (i32.const 8192)))
    (local.set $last (call $last_of_name))
    BEFORE
    (i64.extend_i32_u (local.get $last)))
  (func (export "filter")""",
)


def signing(before: str = "") -> str:
    """A module has its imports first."""
    text = SIGNING.replace("BEFORE", before)
    for line in ("node_rows", "cycle"):
        found = next(part for part in text.splitlines() if f'"kubewasp/v1" "{line}"' in part)
        text = text.replace(found, "", 1).replace("(module", f"(module\n{found.strip()}", 1)
    return text


TRAPS_ON_SEVEN = "(if (i32.eq (local.get $last) (i32.const 55)) (then unreachable))"


class Calls(NoObserver):
    """Counts of calls by hook, and failed calls."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.failed: list[str] = []

    def guest_call(self, plugin: str, hook: str, seconds: float, failure: str) -> None:
        self.made.append(hook)
        if failure:
            self.failed.append(hook)


def profile(guest: str, name: str = "default-scheduler", **args: Any) -> dict[str, Any]:
    return {
        "schedulerName": name,
        "plugins": {"multiPoint": {"enabled": [{"name": "policy"}]}},
        "pluginConfig": [{"name": "policy", "args": {"guestURL": str(wat_text(guest)), **args}}],
    }


def cluster_of(*found: dict[str, Any], nodes: int = 9) -> tuple[EmbeddedCluster, Calls]:
    calls = Calls()
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    cluster = EmbeddedCluster(set_up(read_config({**document, "profiles": list(found)}), observer=calls))
    for number in range(nodes):
        cluster.apply(node(f"node-{number}"))
    return cluster, calls


def queue(cluster: EmbeddedCluster, names: Sequence[str], **spec: Any) -> None:
    for name in names:
        made = pod(name)
        made["spec"] |= spec
        cluster.apply(made)


NAMES = [f"pod-{number}-{number % 9}" for number in range(100)]


def test_one_call_signs_many_pods() -> None:
    cluster, calls = cluster_of(profile(signing(), limits={"callTimeout": "10m"}))  # as many as may be, however slow
    queue(cluster, NAMES)
    cluster.settle()
    assert [cluster.pods[f"default/{name}"].node for name in NAMES] == [f"node-{name[-1]}" for name in NAMES]
    # The first one alone, as nobody knows how long it takes.
    assert calls.made.count("signpod") == 1 + -(-99 // 32)
    assert calls.made.count("filter") == calls.made.count("score") == 9  # once for each signature


def test_pods_of_other_profiles_are_left_alone() -> None:
    cluster, calls = cluster_of(profile(signing(TRAPS_ON_SEVEN)), profile(signing(), "other"))
    queue(cluster, ["pod-1", "pod-2"])
    queue(cluster, ["pod-7"], schedulerName="other")
    queue(cluster, ["pod-4", "pod-5"])
    cluster.settle()
    assert calls.failed == []
    assert all(pod.node for pod in cluster.pods.values())


def test_a_pod_that_has_changed_is_signed_again() -> None:
    cluster, calls = cluster_of(profile(signing()))
    queue(cluster, ["pod-1", "pod-2", "pod-3"])
    cluster.scheduler.schedule_one()
    cluster.scheduler.schedule_one()
    assert calls.made.count("signpod") == 2  # of the first, of the others
    changed = pod("pod-3")
    changed["metadata"]["labels"] = {"new": "label"}
    cluster.apply(changed)
    cluster.settle()
    assert calls.made.count("signpod") == 3


def test_a_pod_that_cannot_be_signed_is_the_only_one_to_fail() -> None:
    cluster, calls = cluster_of(profile(signing(TRAPS_ON_SEVEN)))
    queue(cluster, NAMES[:20])
    cluster.settle()
    left = {queued.pod.name: queued.message for queued in cluster.scheduler.queue}
    assert list(left) == ["pod-7-7", "pod-16-7"]
    assert all("wasm: signpod error" in message for message in left.values())
    assert set(calls.failed) == {"signpod"}


def test_where_failures_are_ignored_such_a_pod_has_no_signature() -> None:
    cluster, calls = cluster_of(profile(signing(TRAPS_ON_SEVEN), failurePolicy="Ignore"))
    queue(cluster, NAMES[:20])
    cluster.settle()
    assert [cluster.pods[f"default/{name}"].node for name in NAMES[:20]] == [f"node-{name[-1]}" for name in NAMES[:20]]
    assert calls.failed


def test_zero_is_no_signature() -> None:
    cluster, calls = cluster_of(profile(signing("(local.set $last (i32.const 0))")))
    queue(cluster, ["pod-1", "pod-2"])
    cluster.settle()
    assert calls.made.count("filter") == 2


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("pppnd"), st.integers(0, 9), st.integers(0, 9)), max_size=25))
def test_signing_ahead_changes_no_placement(steps: list[tuple[str, int, int]]) -> None:
    """Pods (p), nodes that come or change (n) and go (d); pods wait until the cluster has changed."""
    placements = []
    for text in (signing(), TWINS.replace("SIGN", "")):
        cluster, _ = cluster_of(profile(text), nodes=3)
        for count, (what, first, second) in enumerate(steps):
            if what == "p":
                queue(cluster, [f"pod-{count}-{first}"])
                if second < 3:
                    cluster.scheduler.schedule_one()
            elif what == "n":
                cluster.apply(node(f"node-{first}", value=f"v{second}"))
            else:
                cluster.delete("Node", "", f"node-{first}")
        cluster.settle()
        placements.append({key: found.node for key, found in cluster.pods.items()})
    assert placements[0] == placements[1]


# ---------------------------------------------------------------------- in a cycle


def test_a_signature_is_of_the_pod_alone() -> None:
    """There are no nodes, and each pod has its own cycle."""
    text = signing("(local.set $last (i32.add (call $node_rows) (i32.shl (call $cycle) (i32.const 8))))")
    guest = Guest.load(wat_text(text))
    with guest.cycle(pod("a-1"), [node("node-1"), node("node-2")]) as cycle:
        first = cycle.signpods([pod("b-2"), pod("c-3"), pod("d-4")]).signatures
        second = cycle.signpods([pod("e-5")]).signatures
    assert [signature & 0xFF for signature in (*first, *second)] == [0] * 4
    assert len({*first, *second}) == 4


def test_the_pod_of_the_cycle_is_at_hand_again_afterwards() -> None:
    guest = Guest.load(wat_text(signing()))
    with guest.cycle(pod("a-1"), [node("node-1"), node("node-2")]) as cycle:
        assert cycle.signpods([pod("b-2"), cycle.pod]).signatures == (ord("2"), ord("1"))
        cycle.prefilter()
        assert cycle.score().as_dict() == {"node-1": 50, "node-2": 0}


BY_REQUESTS = """
(module
  (import "kubewasp/v1" "pod_requests" (func $requests (param i32 i32) (result i32)))
  (import "kubewasp/v1" "resource" (func $resource (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "example.com/gpu")
  (func (export "signpod") (result i64)
    (drop (call $requests (i32.const 64) (i32.const 1024)))
    (i64.load (i32.const 64)))
  (func (export "prefilter") (result i32)
    (drop (call $requests (i32.const 64) (i32.const 1024)))
    (i32.load (i32.const 64)))
  (func (export "score") (result i64) (i64.const 0)))
"""


def asking(cpu: str) -> dict[str, Any]:
    made = pod(f"asks-{cpu}")
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu, "example.com/gpu": cpu}}
    return made


def test_each_pod_has_its_own_requests() -> None:
    guest = Guest.load(wat_text(BY_REQUESTS))
    with guest.cycle(asking("7")) as cycle:
        assert cycle.signpods([asking("1"), asking("2"), asking("3")]).signatures == (1000, 2000, 3000)
        assert cycle.prefilter().code == 7000
        assert cycle.signpods([asking("4"), cycle.pod]).signatures == (4000, 7000)


def test_a_resource_may_be_asked_for_while_pods_are_signed() -> None:
    """Requests of the current pod and of the next one for this resource are available at once."""
    asked_for = """(local $place i32)
    (local.set $place (i32.add (i32.const 80) (i32.shl (call $resource (i32.const 0) (i32.const 15)) (i32.const 3))))
    (drop (call $requests (i32.const 64) (i32.const 1024)))
    (i64.load (local.get $place))"""
    first = """(drop (call $requests (i32.const 64) (i32.const 1024)))
    (i64.load (i32.const 64))"""
    guest = Guest.load(wat_text(BY_REQUESTS.replace(first, asked_for)))
    with guest.cycle(asking("7")) as cycle:
        assert cycle.signpods([asking("1"), asking("2"), cycle.pod]).signatures == (1, 2, 7)


def test_all_64_bits_are_kept() -> None:
    guest = Guest.load(wat_text(signing("(return (i64.const -2))")))
    with guest.cycle(pod("a-1")) as cycle:
        assert cycle.signpods([cycle.pod]).signatures == (2**64 - 2,)


def test_after_a_failure_the_policy_answers() -> None:
    guest = Guest.load(wat_text(signing(TRAPS_ON_SEVEN)))
    with guest.cycle(pod("a-1"), [node("node-1")]) as cycle:
        failed = cycle.signpods([pod("a-1"), pod("a-7")])
        assert (failed.code, failed.signatures) == (Code.ERROR, ())
        assert "wasm: signpod error" in failed.reason
        assert cycle.signpods([pod("a-1")]).signatures == ()
    assert guest.stats.broken == 1


def test_an_evaluation_shows_that_a_pod_cannot_be_signed() -> None:
    guest = Guest.load(wat_text(signing(TRAPS_ON_SEVEN)))
    with guest.cycle(pod("a-7"), [node("node-1")]) as cycle:
        assert "wasm: signpod error" in evaluate(cycle).status.reason
    with guest.cycle(pod("a-1"), [node("node-1")]) as cycle:
        assert evaluate(cycle).scores == {"node-1": 50}


# ---------------------------------------------------------------------- how many at once


class FakeGuest:
    """Signs pods with their place, each in so many seconds; a pod called "bad" fails."""

    limits = Limits(call_timeout=1.0)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.asked: list[list[str]] = []

    def cycle(self, *_: object, **__: object) -> "FakeGuest":
        return self

    def __enter__(self) -> "FakeGuest":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def signpods(self, pods: Sequence[Pod]) -> SignResult:
        self.asked.append([pod.name for pod in pods])
        if any(pod.name == "bad" for pod in pods):
            return SignResult(Status(Code.ERROR, "no"))
        return SignResult(SUCCESS, Trace(seconds=self.seconds * len(pods)), tuple(range(1, len(pods) + 1)))


class FakeQueue:
    """A handle that knows the pods which come next."""

    table = None

    def __init__(self, pods: list[Pod]) -> None:
        self.pods = pods

    def upcoming_pods(self, count: int) -> list[Pod]:
        return self.pods[:count]


def signer(seconds: float, names: Sequence[str]) -> tuple[PodSigner, FakeGuest, FakeQueue]:
    parser = PodParser()
    pods = []
    for name in names:
        made = pod(name)
        made["metadata"]["uid"] = f"uid of {name}"
        pods.append(parser.parse(made))
    guest, handle = FakeGuest(seconds), FakeQueue(pods)
    return PodSigner(cast("Guest", guest), cast("SchedulerHandle", handle)), guest, handle


def run(made: PodSigner, handle: FakeQueue) -> list[tuple[Status, int]]:
    found = []
    while handle.pods:
        found.append(made.sign(handle.pods.pop(0)))
    return found


@pytest.mark.parametrize(("seconds", "most"), [(0.0, 32), (0.001, 32), (0.01, 10), (0.03, 3), (0.2, 1)])
def test_a_slow_guest_signs_as_many_as_a_tenth_of_the_time_limit_is_enough_for(seconds: float, most: int) -> None:
    made, guest, handle = signer(seconds, NAMES)
    assert all(status.is_success and signature for status, signature in run(made, handle))
    assert len(guest.asked[0]) == 1
    assert max(map(len, guest.asked)) == most
    assert sorted(name for names in guest.asked for name in names) == sorted(NAMES)


def test_after_a_failure_each_pod_is_asked_alone_until_one_succeeds() -> None:
    made, guest, handle = signer(0.0, ["a", "b", "bad", "c", "d", "e"])
    assert [status.is_success for status, _ in run(made, handle)] == [True, True, False, True, True, True]
    asked = [" ".join(names) for names in guest.asked]
    assert asked == ["a", "b bad c d e", "b", "bad c d e", "bad", "c", "d e"]


def test_no_more_are_kept_than_come_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubewasp.wasm.pod_signer._MOST_KEPT", 10)
    made, _guest, handle = signer(0.0, NAMES)
    made.sign(handle.pods[-1])
    for _ in range(3):
        made.sign(handle.pods[-1])
        handle.pods = handle.pods[31:] or handle.pods
    assert len(made._ahead) <= 10
