"""Source files under deploy/, before rendering by kustomize or Helm."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.rbac import Rules

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
BASE = DEPLOY / "kustomize" / "base"
ONLY_SCHEDULER = DEPLOY / "kustomize" / "overlays" / "only-scheduler"
CONSOLE = DEPLOY / "kustomize" / "components" / "console"
CHART = DEPLOY / "helm" / "kubewasp"
LEASE_ROLE = "kubewasp-leader-election"

Manifest = dict[str, Any]


def read(path: Path) -> list[Manifest]:
    return [item for item in yaml.safe_load_all(path.read_text(encoding="utf-8")) if item]


def resources(kustomization: Path) -> list[Manifest]:
    """Objects in the files of a kustomization, without those of other kustomizations."""
    (settings,) = read(kustomization / "kustomization.yaml")
    files = (kustomization / entry for entry in settings["resources"])
    return [item for file in files if file.is_file() for item in read(file)]


def one(manifests: list[Manifest], kind: str, name: str = "") -> Manifest:
    (found,) = (item for item in manifests if item["kind"] == kind and name in ("", item["metadata"]["name"]))
    return found


def cluster_rules() -> Rules:
    """Cluster-wide rights of the scheduler."""
    rules: Rules = one(resources(BASE), "ClusterRole")["rules"]
    return rules


def lease_rules(kustomization: Path = BASE) -> Rules:
    """Rights in the namespace of the lease."""
    rules: Rules = one(resources(kustomization), "Role")["rules"]
    return rules


def console_rules() -> Rules:
    """Further rights of a scheduler whose console asks the cluster about its viewers."""
    rules: Rules = one(resources(CONSOLE), "ClusterRole", "kubewasp-console")["rules"]
    return rules


def field_paths(value: Any, path: str = "") -> Iterator[str]:
    """The path of every field, e.g. `.spec.containers[0].name`."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from field_paths(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from field_paths(item, f"{path}[{index}]")
    else:
        yield path


def snapshot_rules() -> Rules:
    """Rights of `kubewasp snapshot`."""
    rules: Rules = one(read(DEPLOY / "snapshot-role.yaml"), "ClusterRole")["rules"]
    return rules
