"""Contenders of the scheduler layer: a scheduler with its plugins, as a configuration profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.framework.config.model import WasmPluginSettings
from kubewasp.framework.registry import ENTRY_POINTS
from kubewasp.wasm.guest_loader import GuestLoader
from tools.bench import guests
from tools.bench.policies import built_in

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from kubewasp.framework.handle import SchedulerHandle
    from tools.bench.workloads import Object

KUBEWASP, KUBE_SCHEDULER = "kubewasp", "kube-scheduler"
EXTENDER: Final = "extender"
BUILTIN: Final = "builtin"
_SCHEDULER_NAME: Final = "default-scheduler"

# The policy of each wasm plugin by name. `zone` has one signature for all pods and evaluates a node once;
# `nodenumber-signed` signs each pod and evaluates nodes once per signature. Policies that read requested CPU cannot
# sign: every placed pod changes their answers.
WASM: Final[Mapping[str, Mapping[str, str]]] = {
    "wasm-1": {"zone": "zone"},
    "wasm-1-signed": {"nodenumber": "nodenumber-signed"},
    "wasm-1-unsigned": {"nodenumber": "nodenumber"},
    "wasm-2": {"zone": "zone", "nodenumber": "nodenumber-signed"},
    "wasm-5": {
        "zone": "zone",
        "nodenumber": "nodenumber-signed",
        "label-cpu": "label-cpu",
        "filter-reasons": "filter-reasons",
        "nodenumber-again": "nodenumber",
    },
    EXTENDER: {"zone": "zone"},
}


class BuiltIn(built_in.NodeNumber):
    """Constructor arguments of a plugin from a package."""

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None: ...


@dataclass(frozen=True, slots=True)
class Contender:
    """A scheduler with the plugins of `WASM`, the built-in one, or none."""

    scheduler: str
    plugins: str = "none"

    def __str__(self) -> str:
        return self.scheduler if self.plugins == "none" else f"{self.scheduler} with {self.plugins}"


def guests_of(plugins: str) -> dict[str, Path]:
    """Guest files by plugin name, built on first use."""
    return {name: guests.guest(policy, "go") for name, policy in WASM.get(plugins, {}).items()}


def profile(contender: Contender) -> Object:
    """The profile of kubewasp: all default plugins, and those of the contender."""
    wasm = guests_of(contender.plugins)
    names = [BuiltIn.name] if contender.plugins == BUILTIN else list(wasm)
    return {
        "schedulerName": _SCHEDULER_NAME,
        "plugins": {"multiPoint": {"enabled": [{"name": name} for name in names]}},
        "pluginConfig": [{"name": name, "args": {"guestURL": f"file://{path}"}} for name, path in wasm.items()],
    }


def compile_guests(plugins: str) -> None:
    """Compiles the guests into the cache, so that the first run is not slower."""
    for name, path in guests_of(plugins).items():
        GuestLoader().points(name, WasmPluginSettings(f"file://{path}"))


def packages(contender: Contender, folder: Path) -> Path | None:
    """A folder with the built-in form of the policy as an installed package, for the built-in contender only.

    A wasm plugin must not have the name of an installed plugin.
    """
    if contender.plugins != BUILTIN:
        return None
    info = folder / "kubewasp_bench_plugins-1.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    described = "Metadata-Version: 2.1\nName: kubewasp-bench-plugins\nVersion: 1\n"
    (info / "METADATA").write_text(described, encoding="ascii")
    offered = f"[{ENTRY_POINTS}]\n{BuiltIn.name} = {__name__}:{BuiltIn.__name__}\n"
    (info / "entry_points.txt").write_text(offered, encoding="ascii")
    return folder
