"""Bundles of images run by crun of Debian with its wasm runtime, in a mount namespace: a real container.

Root is needed, for namespaces and mounts. The root folder of crun is one of extracted packages, not of this machine.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tools.testbed import debian_programs
from tools.testbed.debian_programs import UnavailableError

_SECONDS: Final = 60.0
_NAMESPACES: Final = ("pid", "ipc", "uts", "mount", "network")
# crun wants a root that is a mount point, and one hierarchy of control groups.
_SCRIPT: Final = """
set -e
root="$1" bundle="$2" name="$3"
mount --make-rprivate /
mount --bind "$root" "$root"
mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/run" "$root/bundle"
mount -t proc proc "$root/proc"
mount -t sysfs sys "$root/sys"
mount -t cgroup2 cgroup "$root/sys/fs/cgroup"
mount -t tmpfs run "$root/run"
mount --rbind /dev "$root/dev"
mount --bind "$bundle" "$root/bundle"
exec chroot "$root" /usr/bin/crun --cgroup-manager=disabled run -b /bundle "$name"
"""


def run(
    bundle: Path, argv: Sequence[str], *, annotations: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> str:
    """Output of the program `argv` in the folder `bundle/rootfs`, which is a container's root; read-only."""
    if os.geteuid() != 0:
        raise UnavailableError("crun needs root, for namespaces and mounts")
    if shutil.which("unshare") is None:
        raise UnavailableError("unshare is not on the PATH")
    for folder in ("dev", "proc"):
        (bundle / "rootfs" / folder).mkdir(parents=True, exist_ok=True)
    process = {
        "terminal": False,
        "user": {"uid": 0, "gid": 0},
        "args": list(argv),
        "env": [f"{name}={value}" for name, value in (environment or {}).items()],
        "cwd": "/",
        "noNewPrivileges": True,
    }
    config = {
        "ociVersion": "1.0.0",
        "process": process,
        "root": {"path": "rootfs", "readonly": True},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
        "annotations": dict(annotations),
        "linux": {"namespaces": [{"type": kind} for kind in _NAMESPACES]},
    }
    (bundle / "config.json").write_text(json.dumps(config))
    root = debian_programs.crun_root()
    command = ["unshare", "--mount", "sh", "-c", _SCRIPT, "sh", str(root), str(bundle), f"kubewasp-{os.getpid()}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode and done.stderr.startswith(("unshare:", "mount:")):
        raise UnavailableError(f"no namespaces or mounts on this machine: {done.stderr.strip().splitlines()[0]}")
    if done.returncode:
        raise RuntimeError(f"crun failed with code {done.returncode}: {done.stderr.strip()}")
    return done.stdout
