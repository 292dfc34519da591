"""Source of a running scheduler: pictures, activity, plugins, decisions."""

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kubewasp.console.console_source import NotThereError
from kubewasp.console.picture import ACTIVE, BACKOFF, GATED, UNSCHEDULABLE, columns_of
from kubewasp.rollout.planning import Running
from kubewasp.wasm.plugin import WasmPlugin
from tests.console.live_cluster import live
from tests.guests.build import ROOT
from tests.simulation.simulating import config, profile, wasm

NUMBER = ROOT / "examples" / "guests" / "nodenumber.wat"


def test_a_picture_has_nodes_pods_and_queue(tmp_path: Path) -> None:
    with live(tmp_path) as cluster:
        cluster.pod("a")
        cluster.run()
        cluster.pod("waiting")
        cluster.pod("huge", cpu="64")
        cluster.pod("gated", schedulingGates=[{"name": "later"}])
        picture = cluster.source.picture("", None)
        assert len(picture.nodes) == 6
        assert picture.pods["default/a"].node
        assert {key: entry.part for key, entry in picture.queue.items()} == {
            "default/waiting": ACTIVE,
            "default/huge": ACTIVE,
            "default/gated": GATED,
        }
        assert picture.queue["default/waiting"].order == 1
        assert picture.queue["default/gated"].plugins == ("SchedulingGates",)
        computed = columns_of(picture.nodes, picture.pods)
        for name in picture.columns.resources:
            assert np.array_equal(picture.columns.requested[name], computed.requested[name])
            assert np.array_equal(picture.columns.allocatable[name], computed.allocatable[name])
        assert np.array_equal(picture.columns.pods, computed.pods)
        cluster.run()
        cluster.later()
        entry = cluster.source.picture("", None).queue["default/huge"]
        assert (entry.part, entry.plugins) == (UNSCHEDULABLE, ("NodeResourcesFit",))
        assert "Insufficient cpu" in entry.message


def test_a_pod_that_is_being_bound_is_placed_and_not_pending(tmp_path: Path) -> None:
    with live(tmp_path) as cluster:
        cluster.pod("a")
        cluster.run(confirm=False)
        picture = cluster.source.picture("", None)
        assert picture.pods["default/a"].node
        assert picture.queue == {}
        assert int(picture.columns.pods.sum()) == 1


def test_a_picture_serves_for_a_while_and_longer_if_nothing_changes(tmp_path: Path) -> None:
    with live(tmp_path) as cluster:
        first = cluster.source.picture("", None)
        cluster.later(1000)
        assert cluster.source.picture("", None) is first
        cluster.pod("a")
        second = cluster.source.picture("", None)
        assert second is not first
        cluster.pod("b")
        assert cluster.source.picture("", None) is second
        cluster.later(1000)
        third = cluster.source.picture("", None)
        assert "default/b" in third.pods
        assert third.queue["default/a"] is second.queue["default/a"]
        assert all(third.nodes[name] is second.nodes[name] for name in second.nodes)


def test_backoff_has_an_end(tmp_path: Path) -> None:
    with live(tmp_path) as cluster:
        cluster.pod("huge", cpu="64")
        cluster.run()
        cluster.churn.node("n99")
        cluster.tell()
        picture = cluster.source.picture("", None)
        entry = picture.queue["default/huge"]
        if entry.part == BACKOFF:
            assert entry.until is not None
            assert entry.until > entry.since


def test_activity_has_counts_changes_and_plugins(tmp_path: Path) -> None:
    with live(tmp_path) as cluster:
        before = cluster.source.generation()
        cluster.source.picture("", None)
        cluster.pod("a")
        cluster.pod("huge", cpu="64")
        cluster.run()
        cluster.churn.node("n99")
        cluster.cluster.delete("Pod", "a")
        cluster.tell()
        cluster.later()
        cluster.source.picture("", None)
        activity = cluster.source.activity("")
        assert (activity.scheduled, activity.unschedulable) == (1, 1)
        assert {change.kind for change in activity.recent} == {"scheduled", "unschedulable", "node-added"}
        assert cluster.source.generation() > before


def test_a_node_that_is_cordoned_changes_and_a_heartbeat_is_none(tmp_path: Path) -> None:
    with live(tmp_path) as cluster:
        cluster.source.picture("", None)
        known = cluster.cluster.objects["Node", "n1"]
        cluster.cluster.put("Node", {**known, "spec": {"unschedulable": True}})
        cluster.cluster.put("Node", {**cluster.cluster.objects["Node", "n2"], "status": known["status"]})
        cluster.cluster.delete("Node", "n3")
        cluster.tell()
        cluster.later()
        cluster.source.picture("", None)
        texts = [change.text for change in cluster.source.activity("").recent]
        assert sorted(texts) == ["node n1: cordoned", "node n3 was removed"]


def test_a_decision_is_made_by_other_plugins_on_a_picture(tmp_path: Path) -> None:
    with live(tmp_path, config=config(profile(wasm("NodeNumber", NUMBER)))) as cluster:
        cluster.pod("pod-1")
        cluster.run()
        cluster.pod("pod-3")
        picture, study = cluster.source.picture("", None), cluster.source.study("")
        assert study is not None
        decision = study.decide(picture, "default/pod-3")
        assert decision.node == "n3"
        assert {plugin.name: plugin.origin for plugin in decision.plugins}["NodeNumber"] == "wasm"
        (running,) = [
            plugin
            for plugin in cluster.scheduler.frameworks["default-scheduler"].plugins.values()
            if isinstance(plugin, WasmPlugin)
        ]
        studied = study._scheduler.frameworks["default-scheduler"].plugins["NodeNumber"]  # type: ignore[union-attr]
        assert isinstance(studied, WasmPlugin)
        assert studied.guest is not running.guest
        assert studied.guest.module is running.guest.module
        assert cluster.source.study("") is study
        assert cluster.scheduler.queue.get("uid-pod-3") is not None


def test_plugins_have_origin_digest_memory_and_time(tmp_path: Path) -> None:
    with live(tmp_path, config=config(profile(wasm("NodeNumber", NUMBER)))) as cluster:
        cluster.metrics.guest_call("NodeNumber", "score", 0.01, "")
        cluster.metrics.guest_call("NodeNumber", "score", 0.02, "timeout")
        cluster.metrics.plugin("NodeResourcesFit", "Filter", "Success", 0.001)
        facts = {item.name: item for item in cluster.source.plugins("")}
        guest = facts["NodeNumber"]
        assert (guest.origin, guest.calls, guest.timeouts, guest.errors) == ("wasm", 2, 1, 0)
        assert guest.digest.startswith("sha256:")
        assert guest.digest.count("sha256:") == 1
        assert guest.seconds == pytest.approx(0.03)
        assert guest.memory is not None
        assert "score" in guest.hooks
        fit = facts["NodeResourcesFit"]
        assert (fit.origin, fit.calls) == ("built-in", 10)
        names = {profile.name for profile in cluster.source.session.profiles}
        assert names == {"default-scheduler"}


def test_another_version_has_another_study(tmp_path: Path) -> None:
    with live(tmp_path, config=config(profile(wasm("NodeNumber", NUMBER)))) as cluster:
        cluster.pod("pod-1")
        first = cluster.source.study("")
        assert first is not None
        first.decide(cluster.source.picture("", None), "default/pod-1")
        made = cluster.cluster.version
        cluster.rollout.running = Running(replace(made))
        second = cluster.source.study("")
        assert second is not first
        assert second is not None
        assert second.decide(cluster.source.picture("", None), "default/pod-1").node == "n1"


def test_there_is_one_run_and_no_timeline(tmp_path: Path) -> None:
    with live(tmp_path) as cluster:
        source = cluster.source
        assert source.timeline("live") is None
        assert source.comparison() is None
        for ask in (lambda: source.picture("other", None), lambda: source.picture("", 3), lambda: source.plugins("x")):
            with pytest.raises(NotThereError):
                ask()


def test_pictures_are_taken_while_the_scheduler_works(tmp_path: Path) -> None:
    with live(tmp_path, nodes=50) as cluster:
        problems: list[BaseException] = []
        is_over = threading.Event()

        def look() -> None:
            try:
                while not is_over.is_set():
                    picture = cluster.source._pictures.take()
                    assert len(picture.columns.names) == len(picture.nodes)
                    assert all(entry.pod.key == key for key, entry in picture.queue.items())
            except BaseException as error:  # noqa: BLE001 - shown below
                problems.append(error)

        looking = threading.Thread(target=look)
        looking.start()
        try:
            for number in range(400):
                cluster.churn.pod(is_plain=True)
                cluster.cluster.deliver(3)
                cluster.cluster.step()
                if number % 40 == 0:
                    cluster.churn.node(f"more{number}")
        finally:
            is_over.set()
            looking.join()
        assert problems == []
