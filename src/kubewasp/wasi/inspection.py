"""Static inspection of a WASI program: kind, imports by purpose, needed capabilities. The program does not run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubewasp.wasi.preview1 import FUNCTIONS, MODULE, purpose
from kubewasp.wasi.program import is_wasi_interface
from kubewasp.wasm.ffi import PAGE

if TYPE_CHECKING:
    from kubewasp.wasi.program import WasiProgram

# Purposes of WASI preview 2 interfaces by prefix; the first match counts.
_INTERFACES = (
    ("arguments and environment variables", "wasi:cli/environment"),
    ("process exit", "wasi:cli/exit"),
    ("standard streams", "wasi:cli/"),
    ("clocks", "wasi:clocks/"),
    ("random numbers", "wasi:random/"),
    ("files and directories", "wasi:filesystem/"),
    ("sockets", "wasi:sockets/"),
    ("streams and polling", "wasi:io/"),
)
_NOT_WASI = "not WASI"
# By purpose: the option that grants the capability, and the default.
_GRANTS = {
    "files and directories": "--dir HOST[:GUEST][:ro] (default: no directory)",
    "environment variables": "--env NAME=VALUE (default: no variable)",
    "arguments": "-- ARG... (default: only the program's name)",
    "arguments and environment variables": "--env NAME=VALUE and -- ARG... (default: none)",
    "standard streams and open files": "--stdin FILE or --stdin - (default: empty)",
    "standard streams": "--stdin FILE or --stdin - (default: empty)",
}


@dataclass(frozen=True, slots=True)
class ProgramReport:
    """Inspection of a program; the fields are those of `kubewasp wasi inspect -o json`."""

    kind: str
    wasi: str
    runnable: bool
    size_bytes: int
    sha256: str
    producers: dict[str, list[str]]
    could_ask_for: dict[str, list[str]]
    grants: list[str]
    network: str
    exports: list[str]
    memory_bytes: int | None
    memory_max_bytes: int | None
    problems: list[str]
    compile_ms: float
    from_cache: bool


def inspect_program(program: WasiProgram) -> ProgramReport:
    """The report on a loaded program."""
    imports = _imports_by_purpose(program)
    return ProgramReport(
        kind=_kind(program),
        wasi=_version(program),
        runnable=not program.problems,
        size_bytes=program.size,
        sha256=program.digest,
        producers=program.producers,
        could_ask_for=imports,
        grants=list(dict.fromkeys(_GRANTS[words] for words in imports if words in _GRANTS)),
        network=_network(program),
        exports=list(program.exports),
        memory_bytes=None if program.memory_pages is None else program.memory_pages * PAGE,
        memory_max_bytes=None if program.memory_max_pages is None else program.memory_max_pages * PAGE,
        problems=program.problems,
        compile_ms=round(program.compile_seconds * 1e3, 3),
        from_cache=program.from_cache,
    )


def _kind(program: WasiProgram) -> str:
    form = "component" if program.is_component else "core module"
    if program.run_export:
        return f"{form}, command"
    return f"{form}, reactor" if "_initialize" in program.exports else form


def _version(program: WasiProgram) -> str:
    if program.is_component:
        versions = {name.partition("@")[2] for name, _ in program.imports if is_wasi_interface(name)}
        return f"preview 2 ({', '.join(sorted(versions))})" if versions else "preview 2"
    modules = {module for module, _ in program.imports}
    if "wasi_unstable" in modules:
        return "preview 0 (not supported)"
    return "preview 1" if MODULE in modules else "none"


def _imports_by_purpose(program: WasiProgram) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for module, name in program.imports:
        if program.is_component:
            words = next((words for words, start in _INTERFACES if module.startswith(start)), _NOT_WASI)
            found.setdefault(words, []).append(module)
        elif module == MODULE and name in FUNCTIONS:
            found.setdefault(purpose(name), []).append(name)
        else:
            found.setdefault(_NOT_WASI, []).append(f"{module} {name}")
    # A module may import a function twice.
    return {words: list(dict.fromkeys(names)) for words, names in found.items()}


def _network(program: WasiProgram) -> str:
    if not program.is_component:
        return "none: WASI preview 1 cannot open connections"
    return "none: connecting and listening always fail"
