"""Sweeps as indexed Jobs: what the pods run, with the files that they see, gives the table of the whole."""

import base64
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewasp.lab.studies import sweep_file, sweep_job
from kubewasp.lab.studies.sweep_job import JobError
from tests.guests.build import ROOT, wat

BODY = {
    "kind": "Sweep",
    "inputs": [
        {"name": "folder", "manifests": ["../clusters"]},
        {"name": "trace", "trace": {"pods": "../traces/pods.csv", "nodes": "../traces/nodes.csv", "map": "map.yaml"}},
    ],
    "configurations": [
        {"name": "file", "config": "scheduler.yaml"},
        {"name": "guest", "plugins": [{"guest": "../policy.wasm"}]},
    ],
}
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: inner}]}}
  pluginConfig: [{name: inner, args: {guestURL: "file://inner.wasm"}}]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for name in ("sweeps", "clusters", "traces"):
        (tmp_path / name).mkdir()
    shutil.copy(ROOT / "examples/clusters/small.yaml", tmp_path / "clusters")
    for name in ("pods.csv", "nodes.csv"):
        shutil.copy(ROOT / "examples/traces" / name, tmp_path / "traces")
    shutil.copy(wat("filter"), tmp_path / "policy.wasm")
    shutil.copy(wat("filter"), tmp_path / "sweeps" / "inner.wasm")
    (tmp_path / "sweeps" / "scheduler.yaml").write_text(CONFIG)
    (tmp_path / "sweeps" / "map.yaml").write_text("kind: TraceMap\npods: {requests: {cpu: cpu}, arrival: arrival}\n")
    path = tmp_path / "sweeps" / "Big Sweep!.yaml"
    path.write_text(yaml.safe_dump(BODY))
    return path


def made(path: Path, **options: Any) -> list[dict[str, Any]]:
    return sweep_job.manifests(sweep_file.load(path), path, pods=3, image="kubewasp:1", **options)


def test_a_config_map_has_all_files_in_their_folders(file: Path) -> None:
    config_map, job = made(file)
    volumes = {volume["name"]: volume for volume in job["spec"]["template"]["spec"]["volumes"]}
    items = volumes["inputs"]["configMap"]["items"]
    assert volumes["inputs"]["configMap"]["name"] == config_map["metadata"]["name"]
    found = {item["path"]: base64.b64decode(config_map["binaryData"][item["key"]]) for item in items}
    root = file.parents[1]
    assert found == {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_each_pod_of_the_job_does_its_shard(file: Path) -> None:
    _, job = made(file)
    spec = job["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 3, 3)
    [container] = spec["template"]["spec"]["containers"]
    assert container["image"] == "kubewasp:1"
    assert container["args"][:2] == ["sweep", "/inputs/sweeps/Big Sweep!.yaml"]
    assert container["args"][container["args"].index("--shard") + 1] == "$(JOB_COMPLETION_INDEX)/3"
    assert job["metadata"]["name"] == "sweep-big-sweep"


def test_other_content_is_another_config_map(file: Path) -> None:
    before = made(file)[0]["metadata"]["name"]
    assert made(file)[0]["metadata"]["name"] == before
    (file.parents[1] / "traces" / "nodes.csv").write_text("name,cpu\na,1\n")
    assert made(file)[0]["metadata"]["name"] != before


def test_a_claim_has_inputs_and_results(file: Path) -> None:
    [job] = made(file, claim="shared")
    pod = job["spec"]["template"]["spec"]
    assert pod["volumes"][0] == {"name": "sweep", "persistentVolumeClaim": {"claimName": "shared"}}
    assert pod["containers"][0]["args"][1:4] == ["/sweep/inputs/sweeps/Big Sweep!.yaml", "--out", "/sweep/results"]


def test_too_much_for_a_config_map_needs_a_claim(file: Path) -> None:
    (file.parents[1] / "traces" / "pods.csv").write_bytes(b"x" * 2**20)
    with pytest.raises(JobError, match=r"too much for a ConfigMap; .* --job-claim"):
        made(file)
    assert made(file, claim="shared")


def test_a_plugin_project_has_to_be_built_first(file: Path) -> None:
    guest = file.parents[1] / "policy.wasm"
    guest.unlink()
    guest.mkdir()
    with pytest.raises(JobError, match=r"a plugin project; build it"):
        made(file)
