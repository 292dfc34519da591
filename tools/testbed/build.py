"""kube-apiserver and kube-scheduler, built from the folder `sources`.

`python -m tools.testbed.build` builds them and prints its progress.
"""

import functools
import re
from pathlib import Path
from typing import Final

from kubewasp.projects import build_cache
from tools.testbed.go_programs import GoPrograms

SOURCES: Final = Path(__file__).parent / "sources"
PROGRAMS: Final = ("kube-apiserver", "kube-scheduler")


def kubernetes_version() -> str:
    """For example v1.36.4."""
    found = re.search(r"^\s*k8s\.io/kubernetes (v\S+)", (SOURCES / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"{SOURCES / 'go.mod'} does not require k8s.io/kubernetes")
    return found[1]


@functools.cache
def programs() -> Path:
    """The folder with the servers, built on first use."""
    version = kubernetes_version()
    major, minor, _ = version.removeprefix("v").split(".", 2)
    stamps = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return GoPrograms(
        sources=SOURCES,
        packages=tuple(f"./{name}" for name in PROGRAMS),
        built=build_cache.folder("e2e"),
        cost="about 5 minutes on 2 cores",
        label=f"{version}-",
        linker_flags=" ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in stamps.items()),
    ).folder()


if __name__ == "__main__":
    programs()
