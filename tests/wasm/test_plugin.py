"""Wasm guests as plugins of a scheduler."""

import logging
from typing import Any

import pytest

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.config.model import ConfigError
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from kubewasp.wasm.plugin import WasmPlugin
from tests.guests.build import SOURCES, example, wat, wat_text
from tests.simulation.simulating import (
    Object,
    config,
    filled,
    node,
    pending,
    placed,
    pod,
    priority_class,
    profile,
    settled,
    steered,
    wasm,
)
from tests.wasm.steering import bit

NODES = [node("node-1"), node("node-2"), node("node-3")]
UNSCHEDULABLE, UNRESOLVABLE, WAIT, SKIP = 2, 3, 4, 5


def run(guest: Object, *pods: Object, nodes: list[Object] = NODES, **more: Any) -> EmbeddedCluster:
    return settled(*nodes, *(pods or (pod("web"),)), config=config(profile(guest, **more)))


def plugin(cluster: EmbeddedCluster, name: str = "policy") -> WasmPlugin:
    found = next(iter(cluster.scheduler.frameworks.values())).plugins[name]
    assert isinstance(found, WasmPlugin)
    return found


def logged(caplog: pytest.LogCaptureFixture, start: str) -> list[str]:
    return [line for line in caplog.messages if start in line]


# ---------------------------------------------------------------------- scheduling cycle


def test_filter_verdicts_and_reasons_stand_in_the_message() -> None:
    cluster = run(wasm("policy", steered("filter", status_code=UNSCHEDULABLE)))
    assert pending(cluster)["web"].startswith("0/3 nodes are available: 3 filter says no. ")
    assert "3 No preemption victims found for incoming pod." in pending(cluster)["web"]


def test_a_filter_closes_some_nodes() -> None:
    guest = wasm("policy", example("nodenumber"), guestConfig='{"reserved": 2}')
    huge = pod("huge", cpu="8")
    cluster = run(guest, pod("web", nodeSelector={"kubernetes.io/hostname": "node-2"}), pod("free"), huge)
    told = "0/3 nodes are available: 1 node number 2 is reserved, 2 node(s) didn't match Pod's node affinity/selector. "
    assert pending(cluster)["web"].startswith(told)
    assert placed(cluster)["free"] != "node-2"
    assert pending(cluster)["huge"].startswith("0/3 nodes are available: 3 Insufficient cpu. ")


def test_a_verdict_that_is_no_code_is_an_error() -> None:
    cluster = run(wasm("policy", steered("filter", status_code=42)))
    assert pending(cluster)["web"] == 'running "policy" filter plugin: filter says no'


@pytest.mark.parametrize("number", [1, 2, 3])
def test_scores_decide_between_equal_nodes(number: int) -> None:
    cluster = run(wasm("policy", example("nodenumber")), pod(f"web-{number}"))
    assert placed(cluster) == {f"web-{number}": f"node-{number}"}


@pytest.mark.parametrize(("weight", "winner"), [(1, "node-1"), (50, "node-2")])
def test_the_weight_decides_against_other_plugins(weight: int, winner: str) -> None:
    bound = [pod("other", on="node-2", cpu="3", memory="1Gi"), pod("another", on="node-3", cpu="3", memory="1Gi")]
    guest = wasm("policy", example("nodenumber"))
    cluster = run(guest, *bound, pod("web-2"), weights={"policy": weight})
    assert placed(cluster)["web-2"] == winner


def test_prefilter_narrows_the_nodes() -> None:
    cluster = run(wasm("policy", wat("prefilter")), *(pod(f"web-{number}") for number in range(6)))
    assert set(placed(cluster).values()) == {"node-1", "node-3"}
    cluster = run(wasm("policy", wat("prefilter")), pod("huge", cpu="8"))
    told = "0/3 nodes are available: 1 node(s) didn't satisfy plugin(s) [policy], 2 Insufficient cpu. "
    assert pending(cluster)["huge"].startswith(told)


def test_prefilter_may_reject_the_pod() -> None:
    cluster = run(wasm("policy", steered("prefilter", status_code=UNRESOLVABLE)))
    assert pending(cluster)["web"].startswith("0/3 nodes are available: prefilter says no. ")


def test_normalized_scores_count() -> None:
    cluster = run(wasm("policy", wat("normalizescore")))
    assert placed(cluster) == {"web": "node-3"}


def test_a_prescore_that_is_neither_success_nor_skip_is_an_error() -> None:
    cluster = run(wasm("policy", wat("prescore")))
    assert pending(cluster)["web"] == 'running PreScore plugin "policy": ["node-1","node-2","node-3"]'


def test_prescore_may_skip_the_scores() -> None:
    guest = steered("all_hooks", status_code=SKIP, where=bit("prescore", "bind"), points=1000)
    assert set(placed(run(wasm("policy", guest)))) == {"web"}
    out_of_range = steered("score", points=1000)
    assert "returns an invalid score 1000" in pending(run(wasm("policy", out_of_range)))["web"]


def test_a_score_that_fails_is_an_error() -> None:
    cluster = run(wasm("policy", steered("score", status_code=UNSCHEDULABLE)))
    assert pending(cluster)["web"] == 'running Score plugins: plugin "policy" failed with: score says no'


def test_postfilter_nominates_a_node() -> None:
    full = [pod(f"full-{number}", on=f"node-{number}", cpu="4") for number in (1, 2, 3)]
    more = {"postFilter": {"enabled": [{"name": "policy"}], "disabled": [{"name": "*"}]}}
    cluster = filled(*NODES, *full, pod("web"), config=config(profile(wasm("policy", wat("postfilter")), **more)))
    cluster.settle()
    assert pending(cluster)["web"] == "0/3 nodes are available: 3 Insufficient cpu."
    queued = next(iter(cluster.scheduler.queue))
    assert queued.pod.nominated_node == "node-2"
    assert [other.name for other in cluster.scheduler.nominator.on("node-2")] == ["web"]


def test_postfilter_may_say_why_it_cannot_help() -> None:
    more = {"postFilter": {"enabled": [{"name": "policy"}], "disabled": [{"name": "*"}]}}
    guest = wasm("policy", steered("postfilter", status_code=UNSCHEDULABLE, mode=0))
    cluster = run(guest, pod("web", cpu="8"), **more)
    assert pending(cluster)["web"] == "0/3 nodes are available: 3 Insufficient cpu. postfilter says no"


# ---------------------------------------------------------------------- binding


def test_a_reserve_that_fails_is_undone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    cluster = run(wasm("policy", steered("reserve", status_code=UNSCHEDULABLE)), nodes=NODES[:1])
    assert pending(cluster)["web"] == "0/1 nodes are available: 1 node-1."
    assert logged(caplog, "unreserve node-1")
    assert not cluster.scheduler.table.pod_count.any()


def test_a_permit_that_waits_runs_out_in_simulated_time() -> None:
    cluster = run(wasm("policy", steered("permit", status_code=WAIT, timeout=10_000)), nodes=NODES[:1])
    told = "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin policy."
    assert pending(cluster) == {"web": told}
    assert cluster.clock.now() == 10
    assert not cluster.scheduler.waiting
    assert not cluster.scheduler.table.pod_count.any()


def test_pods_that_wait_for_ever_do_not_keep_a_simulation_going() -> None:
    guest = wasm("policy", steered("permit", status_code=WAIT, timeout=10_000))
    cluster = run(guest, *(pod(f"web-{number}") for number in range(4)))
    assert len(pending(cluster)) == 4
    assert all("rejected due to timeout after waiting 10s" in message for message in pending(cluster).values())
    assert not cluster.scheduler.waiting
    assert cluster.clock.now() < 3600


def test_a_permit_may_refuse() -> None:
    cluster = run(wasm("policy", steered("permit", status_code=UNSCHEDULABLE)), nodes=NODES[:1])
    assert pending(cluster) == {"web": "0/1 nodes are available: 1 node-1."}


@pytest.mark.parametrize("status", [1, UNSCHEDULABLE])
def test_a_prebind_that_fails_ends(status: int) -> None:
    cluster = run(wasm("policy", steered("prebind", status_code=status)), pod("one"), pod("two"), nodes=NODES[:1])
    error, refusal = 'running PreBind plugin "policy": node-1', "0/1 nodes are available: 1 node-1."
    assert pending(cluster) == dict.fromkeys(("one", "two"), error if status == 1 else refusal)


def test_a_bind_that_skips_leaves_it_to_the_default_binder() -> None:
    more = {"bind": {"enabled": [{"name": "policy"}, {"name": "DefaultBinder"}], "disabled": [{"name": "*"}]}}
    cluster = run(wasm("policy", steered("bind", status_code=SKIP)), **more)
    assert set(placed(cluster)) == {"web"}


def test_a_bind_that_fails_undoes_all() -> None:
    more = {"bind": {"enabled": [{"name": "policy"}, {"name": "DefaultBinder"}], "disabled": [{"name": "*"}]}}
    cluster = run(wasm("policy", steered("bind", status_code=1)), nodes=NODES[:1], **more)
    assert pending(cluster) == {"web": 'running Bind plugin "policy": node-1'}
    assert not cluster.scheduler.table.pod_count.any()


def test_postbind_hears_of_the_node(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    cluster = run(wasm("policy", wat("postbind")), nodes=NODES[:1])
    assert placed(cluster) == {"web": "node-1"}
    assert len(logged(caplog, "postbind node-1")) == 1


# ---------------------------------------------------------------------- instances


def test_one_instance_goes_with_the_pod(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    text = (SOURCES / "wat" / "state.wat").read_text().replace('(export "bind")', '(export "bind_not")')
    cluster = run(wasm("policy", wat_text(text, "state")), pod("one"), pod("two"), nodes=NODES[:2])
    assert set(placed(cluster)) == {"one", "two"}
    for name in ("one", "two"):
        lines = [line.partition(": ")[2].split()[0] for line in logged(caplog, f"pod={name} ")]
        assert lines == ["filter"] * 2 + ["score"] * 2 + ["reserve", "permit", "prebind", "postbind"]
        assert {line.split()[3] for line in logged(caplog, f"pod={name} ")} in ({"cycle=1"}, {"cycle=2"})


@pytest.mark.parametrize("guest", ["score", "filter", "reserve"])
def test_instances_go_back_to_the_pool(guest: str) -> None:
    cluster = run(wasm("policy", wat(guest)), *(pod(f"web-{number}", cpu="10m") for number in range(200)))
    assert len(placed(cluster)) == 200
    assert plugin(cluster).guest.stats.created == 1


def test_failing_pods_give_their_instances_back() -> None:
    guest = wasm("policy", steered("filter", status_code=UNSCHEDULABLE))
    cluster = run(guest, *(pod(f"web-{number}") for number in range(100)))
    assert len(pending(cluster)) == 100
    assert plugin(cluster).guest.stats.created == 1


def test_trials_of_preemption_share_the_pods_instance() -> None:
    nodes = [node(f"node-{number}") for number in range(20)]
    low = [pod(f"low-{number}", on=f"node-{number}", cpu="4") for number in range(20)]
    high = [pod(f"high-{number}", cpu="4", priority=5) for number in range(10)]
    cluster = run(wasm("policy", wat("filter")), *low, *high, nodes=nodes)
    assert {name for name in placed(cluster) if name.startswith("high")} == {f"high-{number}" for number in range(10)}
    assert len(cluster.objects.preemptions) == 10
    assert plugin(cluster).guest.stats.created == 1


# ---------------------------------------------------------------------- the queue


def test_events_that_a_guest_asks_for_wake_its_pods() -> None:
    text = (SOURCES / "wat" / "enqueue.wat").read_text()
    refusing = text.replace(
        '(func (export "filter") (result i32) (i32.const 0))', '(func (export "filter") (result i32) (i32.const 2))'
    )
    cluster = run(wasm("policy", wat_text(refusing, "enqueue")), nodes=NODES[:1])
    queued = next(iter(cluster.scheduler.queue))
    assert queued.attempts == 1
    cluster.apply(priority_class("any", 1))
    cluster.settle()
    assert queued.attempts == 1
    cluster.apply(node("node-2"))
    cluster.settle()
    assert queued.attempts == 2
    registered = [(item.resource, item.actions) for item in plugin(cluster).events()]
    assert registered == [("Node", Action.ADD | Action.UPDATE_NODE_LABEL), ("Pod", Action.DELETE)]


def test_a_guest_that_does_not_say_hears_of_everything() -> None:
    cluster = run(wasm("policy", wat("filter")))
    assert [(item.resource, item.actions) for item in plugin(cluster).events()] == [("*", Action.ALL)]


# ---------------------------------------------------------------------- the handle


def test_a_guest_finds_and_rejects_a_waiting_pod() -> None:
    """Another guest holds every pod back for a minute; the one that is tried next rejects it by its uid."""
    held = pod("held")
    held["metadata"]["uid"] = "uid-1"
    holds = wasm("holds", steered("permit", status_code=WAIT, timeout=60_000))
    rejects = wasm("rejects", wat("waiting"))
    profiles = [profile(holds), profile(rejects, scheduler="other")]
    cluster = filled(NODES[0], held, config=config(*profiles))
    cluster.scheduler.schedule_one()
    assert list(cluster.scheduler.waiting) == ["uid-1"]
    cluster.apply(pod("other", schedulerName="other"))
    attempt = cluster.scheduler.schedule_one()
    assert attempt is not None
    assert attempt.message.startswith("0/1 nodes are available: 1 waiting, rejected.")
    assert not cluster.scheduler.waiting


def test_events_of_guests_are_recorded() -> None:
    cluster = run(wasm("policy", wat("events")), pod("pod-1"), nodes=NODES[:1])
    assert len(cluster.recorded) == 1


def test_the_node_of_a_waiting_pod_may_go() -> None:
    guest = steered("all_hooks", status_code=WAIT, where=bit("permit"), timeout=10_000)
    cluster = filled(*NODES[:1], pod("web"), config=config(profile(wasm("policy", guest))))
    cluster.at(5, lambda: cluster.delete("Node", "", "node-1") and None)
    cluster.settle()
    assert set(pending(cluster)) == {"web"}
    assert not cluster.scheduler.waiting


# ---------------------------------------------------------------------- several


def test_two_guests_at_once() -> None:
    number = wasm("number", example("nodenumber"), guestConfig='{"reserved": 3}')
    label = wasm("label", example("prefer_label"), guestConfig="disk=ssd")
    nodes = [node("node-1"), node("node-2", disk="ssd"), node("node-3", disk="ssd")]
    settings = config(profile(number, label))
    cluster = settled(*nodes, pod("web-1"), config=settings)
    assert placed(cluster) == {"web-1": "node-2"}


def test_two_profiles_with_different_guests() -> None:
    first = profile(wasm("policy", steered("filter", status_code=UNSCHEDULABLE)))
    second = profile(wasm("policy", example("nodenumber")), scheduler="numbers")
    pods = [pod("one"), pod("web-2", schedulerName="numbers"), pod("web-3", schedulerName="numbers")]
    cluster = settled(*NODES, *pods, config=config(first, second))
    assert placed(cluster) == {"web-2": "node-2", "web-3": "node-3"}
    assert set(pending(cluster)) == {"one"}


# ---------------------------------------------------------------------- failures


def failing(policy: str, what: int, *hooks: str, **limits: str) -> Object:
    return wasm("policy", steered("misbehave", what=what, where=bit(*hooks)), failurePolicy=policy, limits=limits)


def test_a_failing_guest_keeps_its_pods_pending_and_the_scheduler_goes_on() -> None:
    profiles = [profile(failing("Fail", 1, "filter")), profile(scheduler="other")]
    cluster = settled(*NODES, pod("web"), pod("other", schedulerName="other"), config=config(*profiles))
    assert set(placed(cluster)) == {"other"}
    assert pending(cluster)["web"].startswith('running "policy" filter plugin: wasm: filter error: ')
    assert "unreachable" in pending(cluster)["web"]


@pytest.mark.parametrize(
    "hook", ["prefilter", "filter", "prescore", "score", "reserve", "permit", "prebind", "postbind"]
)
def test_failures_can_be_ignored(hook: str) -> None:
    text = (SOURCES / "wat" / "misbehave.wat").read_text().replace('(export "bind")', '(export "bind_not")')
    source = text.replace('(export "what") (mut i32) (i32.const 0)', '(export "what") (mut i32) (i32.const 1)')
    source = source.replace(
        '(export "where") (mut i32) (i32.const -1)', f'(export "where") (mut i32) (i32.const {bit(hook)})'
    )
    assert source.count(f"(i32.const {bit(hook)}))") >= 1
    guest = wasm("policy", wat_text(source, "misbehave"), failurePolicy="Ignore")
    cluster = run(guest, pod("one"), pod("two"))
    assert set(placed(cluster)) == {"one", "two"}
    assert plugin(cluster).guest.stats.broken >= 1


def test_a_guest_that_loops_does_not_stop_the_others() -> None:
    profiles = [profile(failing("Fail", 2, "score", callTimeout="20ms")), profile(scheduler="other")]
    cluster = settled(*NODES, pod("web"), pod("other", schedulerName="other"), config=config(*profiles))
    assert set(placed(cluster)) == {"other"}
    assert "time limit of 0.02 s exceeded" in pending(cluster)["web"]


def test_a_guest_that_cannot_be_loaded_is_told_with_its_place() -> None:
    with pytest.raises(ConfigError) as caught:
        run(wasm("policy", wat("start_trap")))
    assert str(caught.value).startswith('profiles[0]: plugin "policy": ')
