"""Recordings: a replay of churn on a real API server decides the same, also after the process was killed."""

import random
import signal
import stat
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from kubewasp.live.recording.segments import SegmentEnd, frames
from tests.e2e import commands
from tests.e2e.kubewasp import SOON, ours
from tests.guests.build import ROOT
from tools.testbed.client import ApiError, Object
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import Kubewasp, StartKubewasp, profile
from tools.testbed.nodes import FakeNodes
from tools.testbed.waiting import wait_until

NODES: Final = 30
ROUNDS: Final = 25
SECRET: Final = "the-value-of-a-variable"
OTHER: Final = f"nodenumber={ROOT / 'examples' / 'guests' / 'prefer_label.wat'}"
GUESTS: Final = ROOT / "examples" / "guests"


class SmallChurn:
    """Pods that come, go and displace others; nodes that come, go and change."""

    def __init__(self, cluster: Cluster, nodes: FakeNodes) -> None:
        self._cluster = cluster
        self._nodes = nodes
        self._random = random.Random(7)
        self._pods: list[str] = []
        self._made = 0
        self._urgent = f"{cluster.namespace}-urgent"
        cluster.create(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": self._urgent},
                "value": 1000,
            }
        )
        nodes.create(NODES, labels=_labels, capacity={"cpu": "4"})

    def step(self) -> None:
        names = [f"pod-{self._made + number}" for number in range(12)]
        self._made += len(names)
        self._cluster.create_all([self._pod(name) for name in names])
        self._pods += names
        for name in self._random.sample(self._pods, min(7, len(self._pods))):
            self._pods.remove(name)
            self._delete(name)
        if self._random.random() < 0.3:
            self._nodes.delete(self._random.choice(self._nodes.names))
            self._nodes.create(1, labels=_labels, capacity={"cpu": "4"})
        if self._random.random() < 0.5:
            patch = {"metadata": {"labels": {"disk": self._random.choice(("ssd", "hdd"))}}}
            self._cluster.client.patch("Node", self._random.choice(self._nodes.names), patch)

    def _pod(self, name: str) -> Object:
        more: dict[str, Any] = {}
        if self._random.random() < 0.2:
            more["priorityClassName"] = self._urgent
        if self._random.random() < 0.1:
            more["nodeSelector"] = {"disk": "ssd"}
        made = ours(name, cpu=self._random.choice(("250m", "1", "2")), labels={"app": "web"}, **more)
        made["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": SECRET}]
        return made

    def _delete(self, name: str) -> None:
        try:
            self._cluster.delete("Pod", name, grace_seconds=0)
        except ApiError as error:
            if error.status != 404:
                raise


def _labels(number: int) -> dict[str, str]:
    return {"topology.kubernetes.io/zone": f"zone-{number % 3}"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "recording"


@pytest.fixture
def record(start_kubewasp: StartKubewasp, folder: Path) -> Callable[..., Kubewasp]:
    def start(*flags: str) -> Kubewasp:
        guests = {"nodenumber": GUESTS / "nodenumber.wat"}
        return start_kubewasp(profiles=[profile(guests=guests)], flags=["--record", str(folder), *flags])

    return start


def contents(folder: Path) -> bytes:
    """All that is recorded, unpacked."""
    found = []
    for path in sorted(folder.glob("*.kwrec")):
        with path.open("rb") as file:
            found += list(frames(file, SegmentEnd()))
    return b"".join(found)


def test_a_replay_of_churn_differs_nowhere_and_one_with_another_policy_does(
    cluster: Cluster, fake_nodes: FakeNodes, record: Callable[..., Kubewasp], folder: Path
) -> None:
    churn = SmallChurn(cluster, fake_nodes)
    scheduler = record("--record-size", "4Mi")
    for _ in range(ROUNDS):
        churn.step()
    wait_until(lambda: scheduler.metric("kubewasp_recording_bytes_total") > 20_000, SOON, "entries", cluster.describe)
    assert scheduler.metric("kubewasp_recording_active") == 1
    scheduler.signal(signal.SIGTERM)
    assert scheduler.wait_ended() == 0

    same = commands.run("replay", str(folder), "-o", "json", "--fail-on", "difference").found
    print(f"\n{same['attempts']} decisions, {same['recording']['seconds']:.1f} s in {same['timing']['seconds']:.1f} s")
    assert (same["differences"], same["first"], same["warnings"]) == (0, None, [])
    assert same["attempts"] > ROUNDS * 10
    assert same["other_scores"] == 0

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.glob("*.kwrec")} == {0o600}
    found = contents(folder)
    assert b"PASSWORD" in found
    assert SECRET.encode() not in found

    other = commands.run("replay", str(folder), "--plugin", OTHER, "-o", "json").json
    assert other["differences"] > 0
    assert other["first"]["pod"].startswith(f"{cluster.namespace}/pod-")
    assert other["first"]["cause"]["plugin"] == "nodenumber"
    assert other["kinds"]["other node"] > 0
    failed = commands.run("replay", str(folder), "--plugin", OTHER, "--fail-on", "difference")
    assert failed.code == 5
    assert "first difference" in failed.out


def test_a_killed_process_leaves_a_recording_that_replays_without_a_difference(
    cluster: Cluster, fake_nodes: FakeNodes, record: Callable[..., Kubewasp], folder: Path
) -> None:
    churn = SmallChurn(cluster, fake_nodes)
    scheduler = record()
    for _ in range(ROUNDS // 2):
        churn.step()
    wait_until(lambda: scheduler.metric("kubewasp_recording_bytes_total") > 5_000, SOON, "entries", cluster.describe)
    scheduler.signal(signal.SIGKILL)
    scheduler.wait_ended()
    newest = max(folder.glob("*.kwrec"))
    newest.write_bytes(newest.read_bytes() + zlib.compress(b"a frame that was cut off")[:7])

    ended = commands.run("replay", str(folder), "-o", "json")
    assert "torn" in ended.err
    assert ended.json["differences"] == 0
    assert ended.json["attempts"] > 0

    again = record()
    churn.step()
    wait_until(lambda: again.metric("kubewasp_recording_entries_total") > 50, SOON, "entries", cluster.describe)
    again.signal(signal.SIGTERM)
    assert again.wait_ended() == 0
    both = commands.run("replay", str(folder), "-o", "json").json
    assert (both["differences"], both["recording"]["segments"]) == (0, 2)
