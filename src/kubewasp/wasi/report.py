"""What a program could ask for, in plain words, found out without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.wasi.preview1 import FUNCTIONS, MODULE, purpose
from kubewasp.wasi.program import is_wasi_interface
from kubewasp.wasm.ffi import PAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.wasi.program import Program

# Interfaces of WASI preview 2, by what they are for; the first that fits counts.
_INTERFACES = (
    ("arguments and environment variables", "wasi:cli/environment"),
    ("its own end", "wasi:cli/exit"),
    ("standard streams", "wasi:cli/"),
    ("clocks", "wasi:clocks/"),
    ("random numbers", "wasi:random/"),
    ("files and directories", "wasi:filesystem/"),
    ("sockets", "wasi:sockets/"),
    ("streams and waiting", "wasi:io/"),
)
# By purpose: the option that grants it, and what holds without.
_GRANTS = {
    "files and directories": "--dir HOST[:GUEST][:ro]: without it there is no directory",
    "environment variables": "--env NAME=VALUE: without it there is no variable",
    "arguments": "-- ARG...: without it there is just the program's name",
    "arguments and environment variables": "--env NAME=VALUE and -- ARG...: without them there are none",
    "standard streams and open files": "--stdin FILE or --stdin -: without it, standard input is empty",
    "standard streams": "--stdin FILE or --stdin -: without it, standard input is empty",
}


def report(program: Program) -> dict[str, Any]:
    return {
        "kind": _kind(program),
        "wasi": _version(program),
        "runnable": not program.problems,
        "size_bytes": program.size,
        "sha256": program.digest,
        "producers": program.producers,
        "could_ask_for": _by_purpose(program),
        "grants": list(_grants(program)),
        "network": _network(program),
        "exports": list(program.exports),
        "memory_bytes": None if program.memory_pages is None else program.memory_pages * PAGE,
        "memory_max_bytes": None if program.memory_max_pages is None else program.memory_max_pages * PAGE,
        "problems": program.problems,
        "compile_ms": round(program.compile_seconds * 1e3, 3),
        "from_cache": program.from_cache,
    }


def _kind(program: Program) -> str:
    form = "component" if program.is_component else "core module"
    if program.run_export:
        return f"{form}, command"
    return f"{form}, reactor" if "_initialize" in program.exports else form


def _version(program: Program) -> str:
    if program.is_component:
        versions = {name.partition("@")[2] for name, _ in program.imports if is_wasi_interface(name)}
        return f"preview 2 ({', '.join(sorted(versions))})" if versions else "preview 2"
    modules = {module for module, _ in program.imports}
    if "wasi_unstable" in modules:
        return "preview 0 (not offered)"
    return "preview 1" if MODULE in modules else "none"


def _by_purpose(program: Program) -> dict[str, list[str]]:
    """The imports by what they are for; what is not WASI stands under its own name."""
    found: dict[str, list[str]] = {}
    for module, name in program.imports:
        if program.is_component:
            words = next((words for words, start in _INTERFACES if module.startswith(start)), "not WASI")
            found.setdefault(words, []).append(module)
        elif module == MODULE and name in FUNCTIONS:
            found.setdefault(purpose(name), []).append(name)
        else:
            found.setdefault("not WASI", []).append(f"{module} {name}")
    return found


def _grants(program: Program) -> Iterator[str]:
    for words in _by_purpose(program):
        if words in _GRANTS:
            yield _GRANTS[words]


def _network(program: Program) -> str:
    if not program.is_component:
        return "none: WASI preview 1 cannot open a connection"
    return "none: it cannot be granted, connecting and listening fail"
