"""From `plugin push` to a swap between two pods: a tag that moves in a real registry, rollback, signatures."""

from pathlib import Path
from typing import Final

import pytest

from tests.e2e.commands import run
from tests.e2e.kubewasp import SOON, ours
from tests.e2e.rollouts import place, plugin, rollout, wait_digest, wait_failure, with_guest
from tests.rollout.policies import wasm
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import StartKubewasp
from tools.testbed.nodes import FakeNodes
from tools.testbed.registries import Registry

OFTEN: Final = {"reload": {"interval": "1s"}}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cache, store and credentials of the test alone."""
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBEWASP_PASSWORD", "secret")  # of keys
    return tmp_path


def push(folder: Path, content: bytes, reference: str) -> str:
    guest = folder / "policy.wasm"
    guest.write_bytes(content)
    return str(run("plugin", "push", guest, reference, "-o", "json").json["digest"])


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
    wait_digest(scheduler, first)
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
    rollback = {"rollback": {"within": 50, "maxErrors": 3}}
    scheduler = start_kubewasp(profiles=[with_guest(tag, rollout=rollback)], config=OFTEN)
    rollout(scheduler, "promote")
    good = plugin(scheduler)["digest"]
    push(tmp_path, wasm("v2", traps=True), tag)
    wait_digest(scheduler, good)
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
    assert run("plugin", "keygen", tmp_path / "team").code == 0
    push(tmp_path, wasm("v1", prefers=last[0]), tag)
    assert run("plugin", "sign", tag, "--key", tmp_path / "team.key").code == 0
    signer = {"kind": "pubKey", "owner": "team", "keyFile": str(tmp_path / "team.pub")}
    trust = {"trust": {"allOf": [signer]}}
    scheduler = start_kubewasp(profiles=[with_guest(tag)], config=OFTEN | trust)
    first = plugin(scheduler)["digest"]
    push(tmp_path, wasm("v2", prefers=last[1]), tag)
    failure = wait_failure(scheduler)
    assert "no signature by team" in failure
    assert plugin(scheduler)["digest"] == first
    assert place(cluster, "refused") == {last[0]}
    assert run("plugin", "sign", tag, "--key", tmp_path / "team.key").code == 0
    wait_digest(scheduler, first)
    assert place(cluster, "signed") == {last[1]}
