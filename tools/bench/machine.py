"""Machine and versions of a result. Nothing identifies the owner of the machine."""

from __future__ import annotations

import os
import platform
import re
import tempfile
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Final

from kubewasp import __version__
from kubewasp.projects import c, go, rust
from kubewasp.projects.toolchain import BuildError
from tools.testbed.build import kubernetes_version

_CPU_NAME: Final = re.compile(r"^(?:model name|Model|cpu model|Hardware)\s*:\s*(.+)$", re.MULTILINE)
_LIBRARIES: Final = ("wasmtime", "numpy", "protobuf", "componentize-py")


def machine(cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, str | int]:
    """Processor, cores, memory and system."""
    return {
        "cpu": _cpu(cpuinfo),
        "cores": _cores(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Versions of everything with influence on the figures, as far as installed."""
    found = {"kubewasp": __version__, "python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    # Without a compiler there is no version, and its forms are skipped with that reason.
    with suppress(BuildError):
        found["go"] = ".".join(map(str, go.find().version))
    with suppress(BuildError):
        found["rust"] = rust.find(Path(tempfile.gettempdir())).text.split()[1]
    with suppress(BuildError):
        found["zig"] = c.find().version
    found["kubernetes"] = kubernetes_version().removeprefix("v")
    return found


def _cpu(cpuinfo: Path) -> str:
    """The model name of the processor; its architecture where there is none."""
    try:
        found = _CPU_NAME.search(cpuinfo.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        found = None
    name = found[1] if found else platform.processor() or platform.machine() or "unknown"
    return " ".join(name.split())


def _cores() -> int:
    """Cores available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
