"""What was measured on and with: the machine and the versions. Nothing that tells whose machine it is."""

from __future__ import annotations

import os
import platform
import re
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Final

from kubewasp import __version__
from kubewasp.projects import go
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
    """Of everything that has a part in the figures; what is not installed is left out."""
    found = {"kubewasp": __version__, "python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    with suppress(BuildError):  # without Go there is no version; the forms that need it say so themselves
        found["go"] = ".".join(map(str, go.find().version))
    found["kubernetes"] = kubernetes_version().removeprefix("v")
    return found


def _cpu(cpuinfo: Path) -> str:
    """The name that the processor has for itself; on some machines only its architecture can be told."""
    try:
        found = _CPU_NAME.search(cpuinfo.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        found = None
    name = found[1] if found else platform.processor() or platform.machine() or "unknown"
    return " ".join(name.split())


def _cores() -> int:
    """Those that this process may use, which may be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
