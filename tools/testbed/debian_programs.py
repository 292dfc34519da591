"""Programs of Debian packages without installing them: skopeo, buildah, and crun with a wasm runtime.

A program on the PATH is taken; else its package is downloaded with apt, into folders of its own, and extracted into
`.build`: root is not needed for that. Machines without apt or a Debian archive have a reason instead of a program.
`python -m tools.testbed.debian_programs` prepares all of them, and prints the reasons.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubewasp.projects import build_cache

# The first Debian whose crun has a wasm runtime.
CRUN_SUITE: Final = "trixie"
_BUILT: Final = build_cache.folder("debian")
_KEYRING: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_INSTALLED: Final = Path("/var/lib/dpkg/status")
_APT_SECONDS: Final = 300.0
_MERGED: Final = ("bin", "lib", "lib64", "sbin")


class UnavailableError(Exception):
    """A program this machine cannot have; the text is the reason, for a skipped test."""


@dataclass(frozen=True, slots=True)
class DebianProgram:
    """An extracted program: its path, and the folder that it takes for the root of its libraries."""

    path: Path
    root: Path

    def environment(self) -> dict[str, str]:
        """Where its libraries are; empty for a program of the machine itself."""
        if self.root == Path("/"):
            return {}
        folders = sorted({path.parent for path in self.root.glob("usr/lib/*-linux-*/*.so*")})
        return {"LD_LIBRARY_PATH": os.pathsep.join(map(str, folders))} if folders else {}


@functools.cache
def program(name: str) -> DebianProgram:
    """A program of the PATH, or of the package of the same name for this machine's release."""
    there = shutil.which(name)
    if there is not None:
        return DebianProgram(Path(there), Path("/"))
    release = _release()
    root = _extracted(name, release.get("VERSION_CODENAME", ""), installed=_INSTALLED)
    return DebianProgram(root / "usr" / "bin" / name, root)


@functools.cache
def crun_root() -> Path:
    """A root folder with crun, its wasm runtime and all libraries, for `chroot`."""
    # The runtime is opened at run time: it is no dependency of the package.
    root = _extracted("crun", CRUN_SUITE, "libwasmedge0", installed=None)
    if not any(root.glob("usr/lib/**/libwasmedge.so*")):
        raise UnavailableError(f"crun of Debian {CRUN_SUITE} comes without a wasm runtime on this machine")
    return root


def _extracted(package: str, suite: str, *more: str, installed: Path | None) -> Path:
    """The folder of packages with their dependencies, without those that are installed."""
    folder = _BUILT / f"{package}-{suite}"
    if folder.exists():
        return folder
    archive = _archive()
    _BUILT.mkdir(parents=True, exist_ok=True)
    with build_cache.locked(_BUILT / f"{package}.lock"):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=_BUILT) as scratch:
                source = f"deb [signed-by={_KEYRING}] {archive} {suite} main"
                fresh = _extract((package, *more), source, installed, Path(scratch))
                fresh.replace(folder)
    return folder


def _extract(packages: Sequence[str], source: str, installed: Path | None, scratch: Path) -> Path:
    print(f"debian: downloading {', '.join(packages)}, once", file=sys.stderr, flush=True)
    state, cache, root = scratch / "state", scratch / "cache", scratch / "root"
    for folder in (state / "lists" / "partial", cache / "archives" / "partial", root / "usr"):
        folder.mkdir(parents=True)
    sources, status = scratch / "sources.list", scratch / "status"
    sources.write_text(f"{source}\n")
    status.write_bytes(installed.read_bytes() if installed is not None else b"")
    settings = {
        "Dir::State": state,
        "Dir::State::status": status,
        "Dir::Cache": cache,
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "-",
        "Dir::Etc::preferencesparts": "-",
        "APT::Sandbox::User": "",
        "APT::Get::List-Cleanup": "false",
        "APT::Update::Post-Invoke": "",
        "Debug::NoLocking": "true",
        "Acquire::Retries": "2",
        "Acquire::Languages": "none",
    }
    options = [f"-o{name}={value}" for name, value in settings.items()]
    _run(["apt-get", *options, "-qq", "update"])
    _run(["apt-get", *options, "-qq", "--yes", "--no-install-recommends", "--download-only", "install", *packages])
    for name in _MERGED:
        (root / "usr" / name).mkdir()
        (root / name).symlink_to(f"usr/{name}")
    for file in sorted((cache / "archives").glob("*.deb")):
        _run(
            ["sh", "-c", 'dpkg-deb --fsys-tarfile "$0" | tar -x -C "$1" --keep-directory-symlink', str(file), str(root)]
        )
    return root


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_APT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{command[0]} does not run: {error}") from None
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise UnavailableError(f"{command[0]} failed: {last[0]}")


def _archive() -> str:
    """The address of the Debian archive that this machine uses."""
    if shutil.which("apt-get") is None or not _KEYRING.is_file():
        raise UnavailableError("it is not on the PATH, and this machine has no apt with Debian's keys")
    apt = Path("/etc/apt")
    lists = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]
    text = "\n".join(path.read_text(errors="replace") for path in lists if path.is_file())
    found = re.search(r"^(?:URIs:|deb(?: \[[^\]]*\])?) +(\S+/debian)/?(?:\s|$)", text, re.MULTILINE)
    if found is None:
        raise UnavailableError("it is not on the PATH, and apt knows no Debian archive here")
    return found[1]


def _release() -> dict[str, str]:
    lines = Path("/etc/os-release").read_text().splitlines()
    return {name: value.strip('"') for name, _, value in (line.partition("=") for line in lines)}


def main() -> None:
    for name in ("skopeo", "buildah"):
        _report(name, functools.partial(program, name))
    _report("crun", crun_root)


def _report(name: str, find: Callable[[], object]) -> None:
    try:
        find()
    except UnavailableError as error:
        print(f"debian: {name}: tests are skipped: {error}")


if __name__ == "__main__":
    main()
