"""`kubewasp plugin inspect`: properties of a guest, and warnings about likely mistakes."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from kubewasp.cli import output
from kubewasp.errors import KubewaspError
from kubewasp.framework.cluster_events import ALL_EVENTS
from kubewasp.k8s.quantity import format_size
from kubewasp.wasm.component.component_module import WORLD
from kubewasp.wasm.core.abi import EXTENSION, KUBERNETES_MODULES, WASI
from kubewasp.wasm.core.core_module import CoreModule
from kubewasp.wasm.download import without_credentials
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.ffi import PAGE
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_module import GuestModule, load_guest_module
from kubewasp.wasm.limits import Limits, config_name
from kubewasp.wasm.source import fetch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kubewasp.input_file import StandardInput
    from kubewasp.wasm.component.component_module import ComponentModule

# Hooks that are called only beside another hook.
_NEEDS = {"addpod": "prefilter", "removepod": "prefilter", "prescore": "score", "normalizescore": "score"}
# Not `fd_prestat_*`: the runtime of every Go guest asks for preopened folders at its start.
_DENIED = ("path_", "sock_", "fd_readdir")

_PODS = "podsPerInstance"  # shown if it is a limit
# Limits that are left out of the table where they have these values.
_USUAL = {_PODS: (0,), "interruption": ("load",)}


def run(
    source: str | StandardInput, *, config: str, args: Sequence[str], limits: Limits, sha256: str | None, form: str
) -> None:
    wasm = fetch(source, sha256=sha256, max_bytes=limits.guest_size)
    name = without_credentials(str(source))
    began = time.perf_counter()
    program = load_guest_module(wasm, limits)
    failure, seconds = None, 0.0
    guest: Guest | None = None
    try:
        guest = Guest(program, name=name, config=config, args=args, limits=limits)
    except KubewaspError as error:
        failure = str(error)
    seconds = time.perf_counter() - began
    report = _report(program, limits, seconds, guest)
    report["warnings"] = list(_warnings(program, limits, report["hooks"]))
    if form != "table":
        output.print_document(report | {"error": failure}, form)
    else:
        output.print_facts(_facts(report))
    if failure is not None:
        raise GuestLoadError(failure)


def kind_of(program: GuestModule) -> str:
    if not isinstance(program, CoreModule):
        return f"component, world {WORLD}"
    extended = any(module == EXTENSION for module, _ in program.imports)
    return "core module, classic ABI" + (f" with {EXTENSION}" if extended else "")


def _report(program: GuestModule, limits: Limits, seconds: float, guest: Guest | None) -> dict[str, Any]:
    if isinstance(program, CoreModule):
        own = _of_module(program, guest)
    else:
        own = _of_component(cast("ComponentModule", program), guest)
    return {
        "kind": kind_of(program),
        "size_bytes": program.size,
        "sha256": program.digest,
        "producers": program.producers,
        **own,
        "limits": {config_name(name): value for name, value in asdict(limits).items()},
        "load_ms": round(seconds * 1e3, 3),
        "compile_ms": round(program.compile_seconds * 1e3, 3),
        "from_cache": program.from_cache,
        "declares": [] if guest is None else list(_declarations(guest)),
        "events": [] if guest is None else _events(guest),
        "start_logs": [] if guest is None else [line.text for line in guest.start_logs],
    }


def _of_module(program: CoreModule, guest: Guest | None) -> dict[str, Any]:
    imports = _grouped(program.imports)
    return {
        # Declared by the guest; exports of the module if the guest does not start.
        "hooks": list(program.hooks if guest is None else guest.hooks),
        "start": [name.removeprefix("kubewasp:") for name in program.start_functions],
        "imports": imports,
        "memory_bytes": program.memory_pages * PAGE,
        "memory_max_bytes": None if program.memory_max_pages is None else program.memory_max_pages * PAGE,
    }


def _of_component(program: ComponentModule, guest: Guest | None) -> dict[str, Any]:
    names = (name.partition("@")[0].partition("/") for name in program.imports)
    imports = _grouped((package, interface) for package, _, interface in names)
    # The memory of a component is unknown before its first call.
    known = {"start": ["start"], "imports": imports, "memory_bytes": None, "memory_max_bytes": None}
    return {"hooks": [] if guest is None else list(guest.hooks), **known}


def _grouped(imports: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Names by module, each once."""
    found: dict[str, list[str]] = {}
    for module, name in dict.fromkeys(imports):
        found.setdefault(module, []).append(name)
    return found


def _events(guest: Guest) -> list[str]:
    if guest.cluster_events == ALL_EVENTS:
        return ["any event"]
    return [f"{event.resource} {'/'.join(event.actions)}" for event in guest.cluster_events]


def _declarations(guest: Guest) -> Iterator[str]:
    if guest.purity is not None:
        yield "pure" if guest.purity.reports else "pure, by whole pods"
    if guest.normalization is not None:
        yield f"normalization {guest.normalization}"


def _facts(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    tools = [tool for field in ("language", "processed-by", "sdk") for tool in report["producers"].get(field, [])]
    maximum = report["memory_max_bytes"]
    limits = report["limits"]
    yield "kind", report["kind"]
    yield "size", f"{format_size(report['size_bytes'])} ({report['size_bytes']} bytes)"
    yield "sha256", report["sha256"]
    yield "toolchain", ", ".join(tools) or "unknown (no producers section)"
    yield "hooks", ", ".join(report["hooks"])
    if report["declares"]:
        yield "declares", ", ".join(report["declares"])
    yield "start", ", ".join(report["start"]) or "none"
    for module, names in report["imports"].items():
        yield "imports", f"{module}: {', '.join(names)}"
    at_most = f"maximum {format_size(maximum)}" if maximum is not None else f"limit {format_size(limits['memory'])}"
    at_start = "" if report["memory_bytes"] is None else f"{format_size(report['memory_bytes'])} initial, "
    yield "memory", at_start + at_most
    yield (
        "limits",
        ", ".join(_limit(name, value) for name, value in limits.items() if value not in _USUAL.get(name, ())),
    )
    yield "load time", f"{report['load_ms']:.1f} ms ({'from the cache' if report['from_cache'] else 'compiled'})"
    if report["events"]:
        yield "events", "; ".join(report["events"])
    for line in report["start_logs"]:
        yield "start log", line
    for warning in report["warnings"]:
        yield "warning", warning


def _limit(name: str, value: float | str) -> str:
    if name == _PODS or isinstance(value, str):
        return f"{name} {value}"
    return f"{name} {value:g} s" if name.endswith("Timeout") else f"{name} {format_size(int(value))}"


def _warnings(program: GuestModule, limits: Limits, hooks: Sequence[str]) -> Iterator[str]:
    for hook, other in _NEEDS.items():
        if hook in hooks and other not in hooks:
            yield f"{hook} is never called without {other}"
    if not isinstance(program, CoreModule):
        return
    denied = [name for module, name in dict.fromkeys(program.imports) if module == WASI and name.startswith(_DENIED)]
    if denied:
        yield f"{', '.join(denied)}: files and sockets are not available, these calls fail"
    if not any(module in KUBERNETES_MODULES for module, _ in program.imports):
        yield "no k8s.io import: the guest cannot read pods or nodes"
    if program.memory_pages * PAGE > limits.memory / 2:
        yield f"initial memory is more than half of the limit ({format_size(limits.memory)})"
