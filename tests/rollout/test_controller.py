"""Versions of a plugin in a running scheduler: reload, shadow, canary, promotion, rollback, what is kept and closed."""

import gc
import hashlib
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubewasp.k8s.pods import Owner, Pod
from kubewasp.rollout import rollout_events as events
from kubewasp.rollout.controller import NothingToDoError
from kubewasp.rollout.process_version import LeaderVersions
from kubewasp.rollout.trials import Stage
from tests.plugins.building import make_pod
from tests.rollout.bench import PLUGIN, Bench
from tests.rollout.policies import wasm

A, B = wasm("v1", prefers="a"), wasm("v2", prefers="b")
TRAPS, LOOPS = wasm("v3", traps=True), wasm("v4", loops=True)


# ---------------------------------------------------------------------- reload


def test_a_new_guest_decides_after_a_reload(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A)
    assert set(bench.pods(3)) == {"node-a"}
    assert bench.reload(B) == ""
    assert set(bench.pods(3, "next")) == {"node-b"}
    assert bench.told.reasons == [events.RELOADED, events.RELOADED]


def test_an_unchanged_guest_and_its_plugin_stay(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A)
    plugin, frameworks = bench.plugin(), dict(bench.cluster.scheduler.frameworks)
    bench.document["podMaxBackoffSeconds"] = 20
    assert bench.reload() == ""
    assert bench.plugin() is plugin
    assert bench.cluster.scheduler.frameworks["default-scheduler"] is frameworks["default-scheduler"]
    assert bench.cluster.scheduler.profiles.stable.tuning.max_backoff == 20


def test_weights_and_arguments_of_built_in_plugins_are_reloaded(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A)
    fit = bench.cluster.scheduler.frameworks["default-scheduler"].plugins["NodeResourcesFit"]
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    bench.profile["pluginConfig"] = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]
    assert bench.reload() == ""
    after = bench.cluster.scheduler.frameworks["default-scheduler"]
    assert after.plugins["NodeResourcesFit"] is not fit
    assert after.plugins[PLUGIN] is bench.plugin()
    bench.profile["plugins"] = {"multiPoint": {"enabled": [{"name": PLUGIN, "weight": 7}]}}
    assert bench.reload() == ""
    weights = {plugin.name: weight for plugin, weight in bench.cluster.scheduler.frameworks["default-scheduler"].score}
    assert weights[PLUGIN] == 7


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"not wasm", 'plugin "policy": wasm: '),
        (wasm("v2", hooks=()), 'plugin "policy": wasm: guest does not export any plugin functions'),
    ],
)
def test_a_guest_that_cannot_be_used_changes_nothing(tmp_path: Path, content: bytes, problem: str) -> None:
    bench = Bench(tmp_path, A)
    plugin, running = bench.plugin(), bench.running
    assert problem in bench.reload(content)
    assert bench.plugin() is plugin
    assert bench.running is running
    assert bench.told.reasons == [events.RELOAD_FAILED]
    assert problem in bench.history.last_failure
    assert set(bench.pods(2)) == {"node-a"}
    assert bench.reload(B) == ""
    assert bench.history.last_failure == ""


@pytest.mark.parametrize("section", [{"leaderElection": {"leaderElect": False}}, {"clientConnection": {"qps": 7}}])
def test_what_needs_a_restart_is_refused_with_a_sentence(tmp_path: Path, section: dict[str, Any]) -> None:
    bench = Bench(tmp_path, A)
    bench.document |= section
    [name] = section
    assert f"{name}: cannot change while the scheduler runs" in bench.reload(B)
    assert set(bench.pods(2)) == {"node-a"}


def test_a_plugin_that_is_removed_decides_no_more(tmp_path: Path) -> None:
    bench = Bench(tmp_path, wasm("v1", rejects="a"))
    assert "node-a" not in bench.pods(6)
    bench.profile["plugins"] = {}
    assert bench.reload() == ""
    assert "node-a" in bench.pods(6, "next")
    assert bench.running.version.digests == {}


def test_pods_that_the_old_version_rejected_are_tried_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, wasm("v1", rejects="a"), nodes="a")
    assert bench.pods(2) == ["", ""]
    assert bench.reload(wasm("v2")) == ""
    bench.cluster.all()
    assert {pod.node for pod in bench.cluster.pods.values()} == {"node-a"}


def test_cached_answers_of_the_old_version_end(tmp_path: Path) -> None:
    """A guest that signs pods has its answers cached by signature: the new version has the same signature."""
    bench = Bench(tmp_path, wasm("v1", prefers="a", signs=True))
    assert bench.pods(2) == ["node-a", "node-a"]
    before = bench.plugin()._cached
    assert any(key[0] is before for key in bench.cluster.scheduler.table.cache._entries)
    bench.reload(wasm("v2", prefers="b", signs=True))
    assert bench.pods(2, "next") == ["node-b", "node-b"]
    bench.cluster.tick()
    assert not any(key[0] is before for key in bench.cluster.scheduler.table.cache._entries)


def test_two_hundred_reloads_leave_nothing_behind(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"rollback": "never"})
    guests: list[weakref.ref[object]] = []
    for number in range(200):
        guests.append(weakref.ref(bench.plugin().guest))
        assert bench.reload(wasm(f"version {number}", prefers="b")) == ""
        bench.pods(1, f"pod-{number}")
        bench.cluster.delete(bench.cluster.pods[f"default/pod-{number}-0"])
        bench.cluster.tick()
        bench.work()
    gc.collect()
    assert sum(guest() is not None for guest in guests) <= 1
    assert len(bench.cluster.scheduler.retirement) == 0
    assert len(bench.controller._loaded) == 1


def test_the_guest_of_a_waiting_pod_is_closed_after_it(tmp_path: Path) -> None:
    hooks = ("filter", "score", "reserve", "permit")
    bench = Bench(tmp_path, wasm("v1", hooks=hooks, waits=True), rollout={"rollback": "never"})
    pod = make_pod("waiting")
    assert bench.cluster.one_of(pod).is_waiting
    old = bench.plugin().guest
    bench.reload(wasm("v2", hooks=hooks))
    bench.cluster.tick()
    bench.work()
    assert not old.pool._is_closed  # type: ignore[attr-defined]
    bench.cluster.allow(pod, PLUGIN)
    bench.cluster.tick()
    bench.work()
    assert old.pool._is_closed  # type: ignore[attr-defined]
    assert bench.cluster.where(pod)


# ---------------------------------------------------------------------- rollback after the swap


@pytest.mark.parametrize(
    ("content", "bound", "args"), [(TRAPS, "errors", {}), (LOOPS, "timeouts", {"limits": {"callTimeout": "10ms"}})]
)
def test_a_version_that_fails_after_the_swap_is_rolled_back(
    tmp_path: Path, content: bytes, bound: str, args: dict[str, Any]
) -> None:
    limits = {"within": 100, "maxErrors": 2, "maxTimeouts": 2}
    bench = Bench(tmp_path, A, rollout={"rollback": limits}, **args)
    bench.reload(content)
    nodes = bench.pods(5)
    bench.cluster.pass_time(20.0)
    bench.cluster.all()
    assert {pod.node for pod in bench.cluster.pods.values()} == {"node-a"}, nodes  # nothing is lost
    [told] = [event for event in bench.told.events if event.reason == events.ROLLED_BACK]
    assert f"3 {bound} in" in told.message
    bad = dict(bench.ledger.all_bad())[PLUGIN]
    assert bad.key.digest == told.digest
    assert bench.history.rollbacks == 1


def test_a_version_judged_bad_is_not_loaded_again_until_it_is_forgiven(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"rollback": {"within": 100, "maxErrors": 0}})
    bench.reload(TRAPS)
    bench.pods(1)
    digest = bench.status()["digest"]
    assert bench.reload() == ""
    assert bench.status()["digest"] == digest
    assert "trial" not in bench.status() or bench.status()["trial"]["digest"] == digest
    bench.ledger.forgive()
    assert bench.reload() == ""
    assert bench.status()["digest"] != digest


def test_a_version_that_stands_its_probation_is_the_last_good_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"rollback": {"within": 4}}, ledger=tmp_path / "ledger" / "x.json")
    bench.reload(B)
    assert bench.status()["trial"]["stage"] == "probation"
    bench.pods(4)
    assert "trial" not in bench.status()
    good = bench.ledger.good(PLUGIN)
    assert good is not None
    assert good.key.digest == bench.status()["digest"]
    assert events.ACCEPTED in bench.told.reasons


def test_a_new_plugin_that_fails_is_taken_out_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, profile={"plugins": {}}, rollout={"rollback": {"within": 100, "maxErrors": 0}})
    bench.profile.clear()
    bench.reload(TRAPS)
    bench.pods(3)
    bench.cluster.pass_time(20.0)
    bench.cluster.all()
    assert all(pod.node for pod in bench.cluster.pods.values())
    assert bench.running.version.digests == {}


def test_a_rollback_keeps_what_else_was_reloaded(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"rollback": {"within": 100, "maxErrors": 0}})
    bench.document["podMaxBackoffSeconds"] = 33
    bench.reload(TRAPS)
    bench.pods(1)
    assert bench.cluster.scheduler.profiles.stable.tuning.max_backoff == 33
    assert bench.plugin().guest is bench.running.version.release_of(PLUGIN).guest  # type: ignore[union-attr]


def test_an_error_that_a_guest_returns_counts_as_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"rollback": {"within": 100, "maxErrors": 0}})
    bench.reload(wasm("v5", hooks=("filter", "score"), points=101, prefers="a"))  # out of range: an error of Score
    bench.pods(1)
    assert events.ROLLED_BACK in bench.told.reasons


def test_a_start_without_a_good_version_has_no_way_back_and_says_so(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TRAPS, rollout={"rollback": {"within": 100, "maxErrors": 0}})
    bench.pods(1)
    assert bench.told.reasons == [events.BOUND_BROKEN]
    assert "no earlier version is known" in bench.told.events[0].message
    assert bench.plugin().guest.hooks  # the plugin stays: a policy is not left out silently


def test_a_start_without_a_probation_is_with_a_good_version(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"rollback": "never"})
    good = bench.ledger.good(PLUGIN)
    assert good is not None
    assert good.key.digest == bench.status()["digest"]


def test_the_first_version_cannot_be_aborted(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A)
    with pytest.raises(NothingToDoError, match="no earlier version to go back to"):
        bench.controller.abort()
    assert set(bench.pods(2)) == {"node-a"}


# ---------------------------------------------------------------------- shadow


def test_a_shadow_is_compared_and_has_no_influence(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"shadow": "100%"})
    bench.reload(B)
    assert set(bench.pods(5)) == {"node-a"}
    trial = bench.status()["trial"]
    assert (trial["stage"], trial["pods"], trial["otherNodes"], trial["errors"]) == ("shadow", 5, 5, 0)
    assert trial["scoreDistance"] == pytest.approx(200 / 3, abs=0.01)
    assert trial["otherVerdicts"] == 0
    assert len(bench.told.comparisons) == 5
    assert trial["examples"][0] == "default/pod-0: node-a -> node-b"


def test_verdicts_of_a_shadow_are_compared(tmp_path: Path) -> None:
    bench = Bench(tmp_path, wasm("v1", prefers="a"), rollout={"shadow": "100%"})
    bench.reload(wasm("v2", prefers="a", rejects="b"))
    bench.pods(4)
    trial = bench.status()["trial"]
    assert (trial["otherNodes"], trial["nodesJudged"], trial["otherVerdicts"]) == (0, 12, 4)
    assert trial["wholeCycles"] == 4


def test_a_share_of_the_pods_is_compared(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"shadow": "20%"}, nodes="abcdefgh")
    bench.reload(B)
    bench.pods(300)
    assert 30 <= bench.status()["trial"]["pods"] <= 90


def test_a_shadow_is_promoted_after_so_many_pods(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"shadow": "100%", "promote": "after 3 pods"})
    bench.reload(B)
    assert bench.pods(5) == ["node-a"] * 3 + ["node-b"] * 2
    assert bench.status()["trial"]["stage"] == "probation"
    assert bench.asked == 1  # other plugins may be waiting


def test_a_shadow_that_traps_is_given_up_and_no_pod_notices(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"shadow": "100%", "promote": {"after": 100, "maxErrors": 1}})
    bench.reload(TRAPS)
    assert set(bench.pods(5)) == {"node-a"}
    assert "trial" not in bench.status() or bench.status()["trial"]["stage"] == "probation"
    assert [event.stage for event in bench.told.events if event.reason == events.ROLLED_BACK] == ["shadow"]
    assert bench.status()["errors"] == 0  # of the version in use


def test_disagreement_over_the_bound_ends_a_shadow(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"shadow": "100%", "promote": {"after": 10, "maxDisagreement": "20%"}})
    bench.reload(B)
    assert set(bench.pods(12)) == {"node-a"}
    [told] = [event for event in bench.told.events if event.reason == events.ROLLED_BACK]
    assert told.message.endswith("3 pods on another node in 3 pods, maxDisagreement is 20%")


# ---------------------------------------------------------------------- canary


def owned(name: str, owner: str) -> Pod:
    return replace(make_pod(name), owner=Owner("apps/v1", "ReplicaSet", owner, owner))


def test_a_canary_decides_for_whole_owners(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"canary": "50%"})
    bench.reload(B)
    placed: dict[str, set[str]] = {}
    for number in range(20):
        name = f"set-{number}"
        placed[name] = {bench.cluster.one_of(owned(f"{name}-{index}", name)).node for index in range(2)}
    assert all(len(nodes) == 1 for nodes in placed.values())
    assert {node for nodes in placed.values() for node in nodes} == {"node-a", "node-b"}
    trial = bench.status()["trial"]
    assert trial["stage"] == "canary"
    assert trial["pods"] == bench.told.canaries == 2 * sum(nodes == {"node-b"} for nodes in placed.values())


def test_a_canary_by_namespace_and_labels(tmp_path: Path) -> None:
    selector = {"matchLabels": {"tier": "test"}}
    bench = Bench(tmp_path, A, rollout={"canary": {"namespaces": ["team"], "labelSelector": selector}})
    bench.reload(B)
    labelled = {"labels": {"tier": "test"}}
    assert set(bench.pods(3, "one", namespace="team", **labelled)) == {"node-b"}
    assert set(bench.pods(3, "two", namespace="team")) == {"node-a"}
    assert set(bench.pods(3, "three", **labelled)) == {"node-a"}


def test_shadow_then_canary_then_all(tmp_path: Path) -> None:
    rollout = {"shadow": "100%", "canary": {"namespaces": ["team"]}, "promote": "after 2 pods"}
    bench = Bench(tmp_path, A, rollout=rollout)
    bench.reload(B)
    assert bench.running.staged is not None
    assert bench.running.staged.stage is Stage.SHADOW
    bench.pods(2)
    assert bench.running.staged.stage is Stage.CANARY
    assert bench.pods(2, "other") == ["node-a", "node-a"]
    assert bench.pods(2, "team", namespace="team") == ["node-b", "node-b"]
    assert bench.running.staged is None
    assert bench.pods(2, "all") == ["node-b", "node-b"]
    stages = [event.stage for event in bench.told.events if event.reason == events.STAGE_STARTED]
    assert stages == ["shadow", "canary"]


def test_a_canary_that_traps_is_given_up_and_its_pods_are_not_lost(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"canary": "100%", "promote": {"after": 100, "maxErrors": 2}})
    bench.reload(TRAPS)
    bench.pods(5)
    bench.cluster.pass_time(20.0)
    bench.cluster.all()
    assert {pod.node for pod in bench.cluster.pods.values()} == {"node-a"}
    assert [event.stage for event in bench.told.events if event.reason == events.ROLLED_BACK] == ["canary"]


def test_shares_can_be_changed_while_a_canary_runs(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"canary": "100%"})
    bench.reload(B)
    bench.pods(3)
    candidate = bench.running.staged
    bench.args["rollout"] = {"canary": {"namespaces": ["nowhere"]}}
    assert bench.reload() == ""
    staged = bench.running.staged
    assert staged is not None
    assert candidate is not None
    assert staged.candidate.guest is candidate.candidate.guest
    assert staged.tally.pods == 3  # its counts go on
    assert set(bench.pods(3, "next")) == {"node-a"}


def test_another_version_takes_the_place_of_the_one_on_trial(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"canary": "100%"})
    bench.reload(B)
    bench.pods(2)
    bench.reload(wasm("v9", prefers="c"))
    assert set(bench.pods(3, "next")) == {"node-c"}
    assert bench.status()["trial"]["pods"] == 3
    assert list(bench.ledger.all_bad()) == []


# ---------------------------------------------------------------------- by hand


def test_promotion_and_abortion_by_hand(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"shadow": "100%", "canary": "100%"})
    with pytest.raises(NothingToDoError, match="has no version"):
        bench.controller.promote("nothing")
    bench.reload(B)
    assert bench.controller.promote().endswith("is in stage canary")
    assert bench.controller.promote(PLUGIN).endswith("decides for all pods")
    assert set(bench.pods(2)) == {"node-b"}
    assert bench.controller.abort().endswith("not tried again")
    assert set(bench.pods(2, "next")) == {"node-a"}
    assert events.ABORTED in bench.told.reasons
    bench.work()
    assert bench.reload() == ""
    assert set(bench.pods(2, "last")) == {"node-a"}


def test_a_probation_is_accepted_by_hand(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A)
    bench.controller.promote()  # the version of the start
    bench.work()
    bench.reload(B)
    assert bench.controller.promote().endswith("is accepted")
    with pytest.raises(NothingToDoError, match="no version is on trial"):
        bench.controller.abort()


# ---------------------------------------------------------------------- standby


def test_a_standby_follows_the_leader(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, rollout={"canary": "10%"})
    bench.reload(B)
    staged = bench.running.staged
    assert staged is not None
    bench.controller.follow(LeaderVersions({PLUGIN: staged.candidate.digest}, {}, {}))
    assert bench.running.staged is None
    assert bench.status()["digest"] == staged.candidate.digest
    bench.controller.follow(LeaderVersions({PLUGIN: "sha256:old"}, {}, {PLUGIN: [staged.candidate.digest]}))
    assert bench.status()["digest"] != staged.candidate.digest


def test_a_standby_that_started_with_a_bad_version_takes_the_leaders(tmp_path: Path) -> None:
    bench = Bench(tmp_path, B, ledger=tmp_path / "ledger" / "x.json")
    release = bench.running.version.release_of(PLUGIN)
    assert release is not None
    good = f"sha256:{hashlib.sha256(A).hexdigest()}"
    bench.ledger.keep(good, A)
    bench.controller.follow(LeaderVersions({PLUGIN: good}, {PLUGIN: good}, {PLUGIN: [release.digest]}))
    assert bench.asked == 1
    bench.work()
    assert bench.reload() == ""
    assert bench.status()["digest"] == good
    assert set(bench.pods(2)) == {"node-a"}


# ---------------------------------------------------------------------- swap


def test_a_plugin_that_cannot_be_made_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path, A)
    running = bench.running

    def fail(*_: object, **__: object) -> None:
        raise ValueError("cannot be made")

    monkeypatch.setattr("kubewasp.framework.registry.Registry.create", fail)
    assert "cannot be made" in bench.reload(B)
    assert bench.running is running


def test_each_swap_is_measured(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A)
    before = len(bench.told.swaps)
    for number in range(20):
        bench.reload(wasm(f"version {number}"))
    assert len(bench.told.swaps) == before + 20
