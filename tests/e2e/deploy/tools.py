"""kustomize and Helm, built from tests/e2e/deploy/tools into .build/deploy-tools.

A first build takes about a minute on two free cores.
"""

import functools
import os
import subprocess
from pathlib import Path
from typing import Any, Final

import yaml

from tests.deploy.manifests import CHART, ROOT
from tools.testbed.go_programs import GoPrograms

SOURCES: Final = Path(__file__).parent / "tools"
BUILT: Final = ROOT / ".build" / "deploy-tools"
PACKAGES: Final = ("sigs.k8s.io/kustomize/kustomize/v5", "helm.sh/helm/v4/cmd/helm")
# Charts and caches of the user are none of our business.
_HELM_FOLDERS: Final = ("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME")

Manifest = dict[str, Any]


def kustomize(folder: Path) -> list[Manifest]:
    """Objects of `kustomize build` for a folder."""
    return _manifests(_run([programs() / "kustomize", "build", folder]))


def helm_template(
    *options: str | Path, release: str = "kubewasp", namespace: str = "kubewasp-system"
) -> list[Manifest]:
    """Objects of `helm template` for the chart."""
    return _manifests(helm("template", release, CHART, "--namespace", namespace, *options))


def helm(*arguments: str | Path) -> str:
    """Output of Helm; ToolError with its error output on failure."""
    folders = {name: str(BUILT / "helm" / name.lower()) for name in _HELM_FOLDERS}
    return _run([programs() / "helm", *arguments], env=folders | {"KUBECONFIG": os.devnull})


class ToolError(Exception):
    """A tool failed; the text is what it said."""


@functools.cache
def programs() -> Path:
    """The folder with the tools, which are built if need be."""
    return GoPrograms(sources=SOURCES, packages=PACKAGES, built=BUILT, cost="about a minute on 2 cores").folder()


def _run(command: list[str | Path], *, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=os.environ | (env or {}), capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(f"{done.stderr}{done.stdout}".strip())
    return done.stdout


def _manifests(text: str) -> list[Manifest]:
    return [item for item in yaml.safe_load_all(text) if item]


if __name__ == "__main__":
    print(f"kustomize and Helm are in {programs().relative_to(ROOT)}")
