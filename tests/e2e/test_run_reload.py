"""Reload and rollout of `kubewasp run` on a real API server: files, links, signals, trials, rollback, standbys.

`RELOADS=1000` asks for another number of reloads under churn.
"""

import json
import os
import random
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.e2e.faults.pod_log import PodLog
from tests.e2e.kubewasp import EVENTS, SOON, ours, wait_node
from tests.e2e.rollouts import PLUGIN, place, plugin, rollout, status, wait_digest, wait_failure, with_guest
from tests.rollout.policies import wasm, write
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import Kubewasp, StartKubewasp, profile
from tools.testbed.nodes import LEASES, FakeNodes
from tools.testbed.waiting import wait_until

LEASE: Final = "kubewasp"
RELOADS: Final = int(os.environ.get("RELOADS", "200"))
HOOKS: Final = ("filter", "score", "reserve", "permit")
BATCH: Final = 10


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cache folder of the test alone: ledgers of versions are in it."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def lease_of(cluster: Cluster) -> Iterator[Any]:
    """The configuration of an election on a lease in the test's namespace."""

    def config(duration: str, deadline: str, period: str) -> Object:
        times = {"leaseDuration": duration, "renewDeadline": deadline, "retryPeriod": period}
        where = {"resourceName": LEASE, "resourceNamespace": cluster.namespace}
        return {"leaderElection": {"leaderElect": True, **times, **where}}

    yield config
    cluster.client.delete_all("Lease", version=LEASES, namespace=cluster.namespace)


class Policy:
    """Guest file of the plugin `policy`, and its profile."""

    def __init__(self, path: Path, content: bytes, rollout: Object | None = None) -> None:
        self.path = path
        self.rollout = rollout
        write(path, content)

    def profile(self, **fields: Any) -> Object:
        return with_guest(f"file://{self.path}", rollout=self.rollout, **fields)

    def update(self, content: bytes) -> None:
        write(self.path, content)


def post(scheduler: Kubewasp, path: str) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{scheduler.port}{path}", method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return str(answer.read().decode())


def rewrite(scheduler: Kubewasp, **fields: Any) -> None:
    """Replaces sections of its configuration file."""
    path = scheduler.folder / "config.yaml"
    document = yaml.safe_load(path.read_text()) | fields
    fresh = path.with_suffix(".new")
    fresh.write_text(yaml.safe_dump(document, sort_keys=False))
    fresh.replace(path)


def test_a_changed_guest_file_is_in_use_soon(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, tmp_path: Path
) -> None:
    fake_nodes.create(10)
    last = sorted({name[-1] for name in fake_nodes.names})
    policy = Policy(tmp_path / "policy.wasm", wasm("v1", prefers=last[0]))
    scheduler = start_kubewasp(profiles=[policy.profile()])
    assert place(cluster, "before") == {last[0]}
    first = plugin(scheduler)["digest"]
    policy.update(wasm("v2", prefers=last[1]))
    wait_digest(scheduler, first)
    assert place(cluster, "after") == {last[1]}
    assert scheduler.metric("kubewasp_reloads_total") >= 1
    assert "Traceback" not in scheduler.log_text


def test_a_guest_that_cannot_be_used_changes_nothing_and_is_told_everywhere(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, lease_of: Any, tmp_path: Path
) -> None:
    fake_nodes.create(3)
    policy = Policy(tmp_path / "policy.wasm", wasm("v1"))
    scheduler = start_kubewasp(profiles=[policy.profile()], config=lease_of("15s", "10s", "500ms"))
    wait_until(lambda: scheduler.leads, SOON, "it to lead", scheduler.log_tail)
    digest = plugin(scheduler)["digest"]
    policy.update(b"\0asm, but broken")
    failure = wait_failure(scheduler)
    assert failure.startswith('plugin "policy": wasm: ')
    assert plugin(scheduler)["digest"] == digest
    place(cluster, "after")
    assert 'kubewasp_reloads_total{result="failure"}' in scheduler.metrics()
    assert json.loads(scheduler.get("/configz"))["rollout"]["reloads"]["lastFailure"] == failure
    assert "Reload failed, the version in use stays" in scheduler.log_text

    def events() -> list[Object]:
        found = cluster.list_all("Event", version=EVENTS)
        return [event for event in found if event["reason"] == "ReloadFailed"]

    [event] = wait_until(events, SOON, "an event", scheduler.log_tail)
    assert event["regarding"]["kind"] == "Lease"
    assert failure in event["note"]


def test_weights_profiles_and_backoffs_are_reloaded_on_a_signal_and_on_request(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    fake_nodes.create(2)
    scheduler = start_kubewasp(config={"reload": {"watch": False}})
    cluster.create(ours("stranger", scheduler="another"))
    rewrite(scheduler, profiles=[profile(), profile("another")], podMaxBackoffSeconds=17)
    scheduler.signal(signal.SIGHUP)
    wait_node(cluster, "stranger")  # a pod that was there before its profile
    shown = json.loads(scheduler.get("/configz"))["componentconfig"]
    assert [item["schedulerName"] for item in shown["profiles"]] == ["kubewasp", "another"]
    assert shown["podMaxBackoffSeconds"] == 17
    rewrite(scheduler, profiles=[profile()])
    assert "reload requested" in post(scheduler, "/reload")
    wait_until(lambda: status(scheduler)["reloads"]["succeeded"] == 2, SOON, "a reload", scheduler.log_tail)
    cluster.create(ours("late", scheduler="another"))
    cluster.create(ours("own"))
    wait_node(cluster, "own")
    assert "nodeName" not in cluster.get("Pod", "late")["spec"]


def test_what_needs_a_restart_is_refused(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    fake_nodes.create(1)
    scheduler = start_kubewasp()
    rewrite(scheduler, leaderElection={"leaderElect": True})
    failure = wait_failure(scheduler)
    assert "leaderElection: cannot change while the scheduler runs" in failure
    cluster.create(ours("after"))
    wait_node(cluster, "after")


def test_an_update_of_a_config_map_is_noticed(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, tmp_path: Path
) -> None:
    """A kubelet writes the files of a new version into a new folder and moves the link `..data` to it."""
    fake_nodes.create(10)
    last = sorted({name[-1] for name in fake_nodes.names})
    volume = tmp_path / "volume"
    volume.mkdir()

    def publish(version: str, content: bytes) -> None:
        (volume / f"..{version}").mkdir()
        (volume / f"..{version}" / "policy.wasm").write_bytes(content)
        fresh = volume / "..data_tmp"
        fresh.symlink_to(f"..{version}")
        fresh.replace(volume / "..data")

    publish("1", wasm("v1", prefers=last[0]))
    (volume / "policy.wasm").symlink_to("..data/policy.wasm")
    scheduler = start_kubewasp(profiles=[with_guest(f"file://{volume}/policy.wasm")])
    first = plugin(scheduler)["digest"]
    assert place(cluster, "before") == {last[0]}
    publish("2", wasm("v2", prefers=last[1]))
    wait_digest(scheduler, first)
    assert place(cluster, "after") == {last[1]}


def test_a_plugin_that_traps_after_the_swap_is_rolled_back_and_nothing_is_lost(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, tmp_path: Path
) -> None:
    fake_nodes.create(10)
    rollback = {"rollback": {"within": 100, "maxErrors": 5}}
    policy = Policy(tmp_path / "policy.wasm", wasm("v1"), rollback)
    scheduler = start_kubewasp(profiles=[policy.profile()])
    good = plugin(scheduler)["digest"]
    rollout(scheduler, "promote")
    with PodLog(cluster) as log:
        policy.update(wasm("v2", traps=True))
        wait_digest(scheduler, good)
        cluster.create_all(ours(f"pod-{number}", cpu="10m") for number in range(50))
        cluster.wait_bound(SOON)
    assert plugin(scheduler)["digest"] == good
    assert log.moved == []
    assert log.over_committed == {}
    assert scheduler.metric("kubewasp_rollbacks_total") == 1
    table = rollout(scheduler, "status")
    assert "ROLLED BACK" in table
    assert "maxErrors is 5" in table
    # A restart with the bad version in the file starts the last good one, and says so.
    scheduler.stop()
    scheduler.start()
    assert plugin(scheduler)["digest"] == good
    assert "starting the last good one" in scheduler.log_text
    assert place(cluster, "restarted")


def test_shadow_canary_and_promotion_by_hand(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, tmp_path: Path
) -> None:
    fake_nodes.create(10)
    last = sorted({name[-1] for name in fake_nodes.names})
    stages = {"shadow": "100%", "canary": {"labelSelector": {"matchLabels": {"canary": "yes"}}}}
    policy = Policy(tmp_path / "policy.wasm", wasm("v1", prefers=last[0]), stages)
    scheduler = start_kubewasp(profiles=[policy.profile()])
    policy.update(wasm("v2", prefers=last[1]))
    wait_until(
        lambda: plugin(scheduler).get("trial", {}).get("stage") == "shadow", SOON, "a shadow", scheduler.log_tail
    )
    assert place(cluster, "shadowed") == {last[0]}
    trial = plugin(scheduler)["trial"]
    assert trial["pods"] == trial["otherNodes"] == 5
    table = rollout(scheduler, "status")
    assert max(map(len, table.splitlines())) <= 80
    assert "5 of 5 (100.0%)" in table
    assert rollout(scheduler, "promote").endswith("is in stage canary\n")
    labels = {"metadata": {"labels": {"canary": "yes"}}}
    chosen = ours("chosen", cpu="10m")
    chosen["metadata"] |= labels["metadata"]
    cluster.create(chosen)
    assert wait_node(cluster, "chosen")[-1] == last[1]
    assert place(cluster, "others") == {last[0]}
    assert scheduler.metric("kubewasp_canary_pods_total") == 1
    rollout(scheduler, "promote", PLUGIN)
    assert place(cluster, "all") == {last[1]}
    rollout(scheduler, "abort")
    assert place(cluster, "back") == {last[0]}


def test_two_hundred_reloads_under_churn(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, tmp_path: Path
) -> None:
    fake_nodes.create(30, capacity={"cpu": "4", "memory": "64Gi", "pods": "20"})
    chance = random.Random(1)
    policy = Policy(tmp_path / "policy.wasm", wasm("v0", hooks=HOOKS), {"rollback": {"within": 20}})
    scheduler = start_kubewasp(profiles=[policy.profile()])
    pods: list[str] = []
    sizes = []
    with PodLog(cluster) as log:
        for number in range(1, RELOADS + 1):
            names = [f"pod-{number}-{index}" for index in range(BATCH)]
            cluster.create_all(ours(name, cpu="100m") for name in names)
            pods += names
            before = plugin(scheduler)["digest"]
            other = "0123456789"[number % 10]
            kind = {"prefers": other} if number % 2 else {"rejects": other}
            policy.update(wasm(f"v{number}", hooks=HOOKS, **kind))
            post(scheduler, "/reload")
            wait_digest(scheduler, before)
            if len(pods) > 20 * BATCH:
                gone = chance.sample(pods, 3 * BATCH)
                cluster.client.each(lambda name: cluster.delete("Pod", name, grace_seconds=0), gone)
                pods = [name for name in pods if name not in set(gone)]
            if number % 10 == 0:
                assert scheduler.running, scheduler.log_tail()
                sizes.append(scheduler.memory() >> 20)
        cluster.wait_bound(SOON)
    assert log.moved == []
    assert log.over_committed == {}
    assert sorted(cluster.placements()) == sorted(pods)
    found = status(scheduler)
    assert found["reloads"]["failed"] == 0
    assert found["reloads"]["rollbacks"] == 0
    assert found["reloads"]["succeeded"] >= RELOADS
    assert "Traceback" not in scheduler.log_text
    print(f"\n{RELOADS} reloads, {len(log.names):,} pods, {sizes[0]} to {sizes[-1]} MiB, sizes {sizes}")
    settled = sizes[len(sizes) // 4]
    assert sizes[-1] - settled < 25, sizes


def test_a_standby_takes_over_with_the_same_digest(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, lease_of: Any, tmp_path: Path
) -> None:
    fake_nodes.create(10)
    last = sorted({name[-1] for name in fake_nodes.names})
    policy = Policy(tmp_path / "policy.wasm", wasm("v1", prefers=last[0]), {"canary": "50%"})
    config = lease_of("3s", "2s", "500ms")
    leader = start_kubewasp(profiles=[policy.profile()], config=config)
    wait_until(lambda: leader.leads, SOON, "the first one to lead", leader.log_tail)
    standby = start_kubewasp(profiles=[policy.profile()], config=config)
    first = plugin(leader)["digest"]
    policy.update(wasm("v2", prefers=last[1]))

    def in_canary(process: Kubewasp) -> bool:
        return plugin(process).get("trial", {}).get("stage") == "canary"  # the first version has a trial too

    for process in (leader, standby):
        wait_until(lambda process=process: in_canary(process), SOON, "a canary", process.log_tail)
    rollout(leader, "promote")
    digest = wait_digest(leader, first)
    assert wait_digest(standby, first) == digest  # it follows the leader, without pods of its own

    def annotated() -> bool:
        notes = cluster.get("Lease", LEASE, version=LEASES)["metadata"].get("annotations", {})
        return json.loads(notes.get("kubewasp.dev/plugin-digests", "{}")) == {PLUGIN: digest}

    wait_until(annotated, SOON, "the digest in the lease", leader.log_tail)
    leader.kill()
    wait_until(lambda: standby.leads, SOON, "the other one to lead", standby.log_tail)
    assert plugin(standby)["digest"] == digest
    assert place(cluster, "after") == {last[1]}


def test_control_is_not_for_web_pages(cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp) -> None:
    fake_nodes.create(1)
    scheduler = start_kubewasp()
    request = urllib.request.Request(
        f"http://127.0.0.1:{scheduler.port}/reload", method="POST", headers={"Origin": "http://example.com"}
    )
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request, timeout=5)
    assert cluster.namespace
