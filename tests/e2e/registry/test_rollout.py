"""From `plugin push` to a swap between two pods: a tag that moves in a real registry, rollback, signatures."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.kubewasp import SOON, ours, wait_node
from tests.rollout.policies import wasm
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import Kubewasp, StartKubewasp, profile
from tools.testbed.nodes import FakeNodes
from tools.testbed.registries import Registry
from tools.testbed.waiting import wait_until

PLUGIN: Final = "policy"
OFTEN: Final = {"reload": {"interval": "1s"}}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cache, store and credentials of the test alone."""
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def kubewasp(*words: object, **env: str) -> str:
    command = [sys.executable, "-m", "kubewasp", *map(str, words)]
    ended = subprocess.run(command, env=os.environ | env, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def push(folder: Path, content: bytes, reference: str) -> str:
    guest = folder / "policy.wasm"
    guest.write_bytes(content)
    return str(json.loads(kubewasp("plugin", "push", guest, reference, "-o", "json"))["digest"])


def with_guest(reference: str, **args: Any) -> Object:
    enabled = {"multiPoint": {"enabled": [{"name": PLUGIN, "weight": 1000}]}}
    return profile(plugins=enabled, pluginConfig=[{"name": PLUGIN, "args": {"guestURL": reference, **args}}])


def status(scheduler: Kubewasp) -> Object:
    return dict(json.loads(scheduler.get("/rollout")))


def plugin(scheduler: Kubewasp) -> Object:
    [found] = status(scheduler)["plugins"]
    return dict(found)


def place(cluster: Cluster, name: str) -> set[str]:
    names = [f"{name}-{number}" for number in range(4)]
    cluster.create_all(ours(item, cpu="10m") for item in names)
    return {wait_node(cluster, item)[-1] for item in names}


def test_a_moved_tag_is_in_use_soon(  # noqa: PLR0917 - fixtures
    cluster: Cluster,
    fake_nodes: FakeNodes,
    start_kubewasp: StartKubewasp,
    registry: Registry,
    repository: str,
    tmp_path: Path,
) -> None:
    fake_nodes.create(10)
    last = sorted({name[-1] for name in fake_nodes.names})
    tag = registry.reference(f"{repository}:stable")
    push(tmp_path, wasm("v1", prefers=last[0]), tag)
    scheduler = start_kubewasp(profiles=[with_guest(tag)], config=OFTEN)
    assert place(cluster, "before") == {last[0]}
    first = plugin(scheduler)["digest"]
    manifest = push(tmp_path, wasm("v2", prefers=last[1]), tag)
    wait_until(lambda: plugin(scheduler)["digest"] != first, SOON, "another version", scheduler.log_tail)
    assert plugin(scheduler)["source"].endswith(manifest)
    assert place(cluster, "after") == {last[1]}


def test_a_bad_tag_is_rolled_back_and_a_restart_begins_with_the_last_good_digest(  # noqa: PLR0917 - fixtures
    cluster: Cluster,
    fake_nodes: FakeNodes,
    start_kubewasp: StartKubewasp,
    registry: Registry,
    repository: str,
    tmp_path: Path,
) -> None:
    fake_nodes.create(3)
    tag = registry.reference(f"{repository}:stable")
    push(tmp_path, wasm("v1"), tag)
    rollout = {"rollback": {"within": 50, "maxErrors": 3}}
    scheduler = start_kubewasp(profiles=[with_guest(tag, rollout=rollout)], config=OFTEN)
    kubewasp("rollout", "promote", "--server", f"http://127.0.0.1:{scheduler.port}")
    good = plugin(scheduler)["digest"]
    push(tmp_path, wasm("v2", traps=True), tag)
    wait_until(lambda: plugin(scheduler)["digest"] != good, SOON, "the bad version", scheduler.log_tail)
    cluster.create_all(ours(f"pod-{number}", cpu="10m") for number in range(20))
    cluster.wait_bound(SOON)
    assert plugin(scheduler)["digest"] == good
    scheduler.stop()
    scheduler.start()
    assert plugin(scheduler)["digest"] == good
    assert "starting the last good one" in scheduler.log_text
    place(cluster, "after")


def test_a_version_without_a_trusted_signature_is_not_taken(  # noqa: PLR0917 - fixtures
    cluster: Cluster,
    fake_nodes: FakeNodes,
    start_kubewasp: StartKubewasp,
    registry: Registry,
    repository: str,
    tmp_path: Path,
) -> None:
    fake_nodes.create(10)
    last = sorted({name[-1] for name in fake_nodes.names})
    tag = registry.reference(f"{repository}:stable")
    kubewasp("plugin", "keygen", tmp_path / "team", KUBEWASP_PASSWORD="secret")
    push(tmp_path, wasm("v1", prefers=last[0]), tag)
    kubewasp("plugin", "sign", tag, "--key", tmp_path / "team.key", KUBEWASP_PASSWORD="secret")
    signer = {"kind": "pubKey", "owner": "team", "keyFile": str(tmp_path / "team.pub")}
    trust = {"trust": {"allOf": [signer]}}
    scheduler = start_kubewasp(profiles=[with_guest(tag)], config=OFTEN | trust)
    first = plugin(scheduler)["digest"]
    push(tmp_path, wasm("v2", prefers=last[1]), tag)
    failure = wait_until(lambda: status(scheduler)["reloads"]["lastFailure"], SOON, "a refusal", scheduler.log_tail)
    assert "no signature by team" in failure
    assert plugin(scheduler)["digest"] == first
    assert place(cluster, "refused") == {last[0]}
    kubewasp("plugin", "sign", tag, "--key", tmp_path / "team.key", KUBEWASP_PASSWORD="secret")
    wait_until(lambda: plugin(scheduler)["digest"] != first, SOON, "the signed version", scheduler.log_tail)
    assert place(cluster, "signed") == {last[1]}
