"""Deployed configuration files: accepted by the scheduler, consistent with the roles."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.deploy.manifests import BASE, ONLY_SCHEDULER, ROOT, lease_rules, one, resources

KUSTOMIZATIONS = pytest.mark.parametrize("kustomization", [BASE, ONLY_SCHEDULER], ids=lambda folder: folder.name)


def check(config: Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).parent / "kubewasp", "config", "check", config, "-o", "yaml"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@KUSTOMIZATIONS
def test_config_check_has_nothing_to_say(kustomization: Path) -> None:
    checked = check(kustomization / "config.yaml")
    assert (checked.returncode, checked.stderr) == (0, "")


@KUSTOMIZATIONS
def test_the_lease_is_the_one_that_the_role_allows(kustomization: Path) -> None:
    election = yaml.safe_load(check(kustomization / "config.yaml").stdout)["leaderElection"]
    assert election["leaderElect"] is True
    (names,) = (rule["resourceNames"] for rule in lease_rules(kustomization) if "resourceNames" in rule)
    assert names == [election["resourceName"]]
    namespace = one(resources(kustomization), "Role")["metadata"].get("namespace")
    assert election["resourceNamespace"] == namespace or (namespace is None and kustomization == BASE)


def test_the_base_elects_in_its_own_namespace() -> None:
    election = yaml.safe_load((BASE / "config.yaml").read_text(encoding="utf-8"))["leaderElection"]
    assert election["resourceNamespace"] == one(resources(BASE), "Namespace")["metadata"]["name"]


def test_a_second_scheduler_has_a_name_of_its_own_and_the_only_one_that_of_kube_scheduler() -> None:
    names = [
        [profile["schedulerName"] for profile in yaml.safe_load((folder / "config.yaml").read_text())["profiles"]]
        for folder in (BASE, ONLY_SCHEDULER)
    ]
    assert names == [["kubewasp"], ["default-scheduler"]]


def test_the_plugin_in_the_comment_works(tmp_path: Path) -> None:
    lines = (BASE / "config.yaml").read_text(encoding="utf-8").splitlines()
    example = [line.replace("  # ", "  ", 1) for line in lines if "A wasm plugin" not in line]
    config = yaml.safe_load("\n".join(example))
    (plugin,) = config["profiles"][0]["pluginConfig"]
    assert plugin["args"].pop("sha256")
    assert plugin["args"]["guestURL"].startswith("https://")
    plugin["args"]["guestURL"] = f"file://{ROOT}/examples/guests/nodenumber.wat"
    changed = tmp_path / "config.yaml"
    changed.write_text(yaml.safe_dump(config), encoding="utf-8")
    checked = check(changed)
    assert (checked.returncode, checked.stderr) == (0, "")
    (profile,) = yaml.safe_load(checked.stdout)["profiles"]
    assert {"name": "NodeNumber", "weight": 5} in profile["plugins"]["score"]["enabled"]
