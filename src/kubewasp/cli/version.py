"""`kubewasp version`: versions of kubewasp, Python, the wasm engine and the compilers of plugins."""

from __future__ import annotations

import platform
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from wasmtime import Config, Engine, Module

from kubewasp import __version__
from kubewasp.cli import output
from kubewasp.errors import KubewaspError
from kubewasp.projects import c, go, node, python, rust, tinygo

if TYPE_CHECKING:
    from collections.abc import Callable

# Symbol in the debug information of compiled code.
_ENGINE: Final = re.compile(rb"wasmtime_set_vmctx_memory_(\d+)_(\d+)_(\d+)")
_ABSENT: Final = "not found"


def run(*, form: str) -> None:
    found = versions()
    if form != "table":
        output.print_document(found, form)
        return
    facts = [
        ("kubewasp", found["kubewasp"]),
        ("Python", found["python"]),
        ("platform", found["platform"]),
        ("wasmtime", found["wasmtime"]),
        ("wasm engine", found["engine"] or "unknown"),
    ]
    output.print_facts(facts + [(label, _shown(found[key])) for key, (label, _) in _TOOLS.items()])


def versions() -> dict[str, Any]:
    """Compilers are asked at the same time: each is a process of its own."""
    with ThreadPoolExecutor(max_workers=len(_TOOLS)) as pool:
        tools = {key: pool.submit(_tool, find) for key, (_, find) in _TOOLS.items()}
        return {
            "kubewasp": __version__,
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
            "wasmtime": version("wasmtime"),
            "engine": engine_version(),
        } | {key: found.result() for key, found in tools.items()}


def engine_version() -> str | None:
    """Version of the engine in the wasmtime package, which may lag behind the package's own version.

    No function returns it. Debug information names a helper function of the engine with its version.
    """
    config = Config()
    config.debug_info = True
    compiled = bytes(Module(Engine(config), "(module (func))").serialize())
    found = _ENGINE.search(compiled)
    return ".".join(part.decode() for part in found.groups()) if found else None


def _tool(find: Callable[[], tuple[str, str]]) -> dict[str, str | None]:
    """Version and path of a compiler, or the reason why there is none."""
    try:
        found, path = find()
    except KubewaspError as error:
        return {"version": None, "path": None, "problem": str(error).splitlines()[0]}
    return {"version": found, "path": path, "problem": None}


def _go() -> tuple[str, str]:
    found = go.find()
    return ".".join(map(str, found.version)), found.command


def _componentize_py() -> tuple[str, str]:
    found = python.find()
    return found.version, str(found.path)


def _rust() -> tuple[str, str]:
    found = rust.find(Path(tempfile.gettempdir()))  # a project may choose another toolchain
    return found.text.split()[1], found.command  # "cargo 1.85.0 (…) rustc 1.85.0 (…)"


def _zig() -> tuple[str, str]:
    found = c.find()
    return found.version, " ".join(found.command)


def _tinygo() -> tuple[str, str]:
    found = tinygo.find()
    return ".".join(map(str, found.version)), found.command


def _node() -> tuple[str, str]:
    found = node.find()
    return found.version, found.command


def _componentize_js() -> tuple[str, str]:
    found = node.componentize_js()
    return found.version, found.command


# Compilers of plugins: their labels, and how they are found.
_TOOLS: Final[dict[str, tuple[str, Callable[[], tuple[str, str]]]]] = {
    "go": ("Go", _go),
    "tinygo": ("TinyGo", _tinygo),
    "rust": ("Rust", _rust),
    "zig": ("zig", _zig),
    "componentize_py": ("componentize-py", _componentize_py),
    "node": ("Node.js", _node),
    "componentize_js": ("componentize-js", _componentize_js),
}


def _shown(tool: dict[str, str | None]) -> str:
    return f"{tool['version']} ({tool['path']})" if tool["version"] else f"{_ABSENT}: {tool['problem']}"
