"""`kubewasp version`: versions of kubewasp, Python, the wasm engine and the compilers of plugins."""

from __future__ import annotations

import platform
import re
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from wasmtime import Config, Engine, Module

from kubewasp import __version__
from kubewasp.cli import output
from kubewasp.errors import KubewaspError
from kubewasp.projects import go, python

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
    output.print_facts(
        [
            ("kubewasp", found["kubewasp"]),
            ("Python", found["python"]),
            ("platform", found["platform"]),
            ("wasmtime", found["wasmtime"]),
            ("wasm engine", found["engine"] or "unknown"),
            ("Go", _shown(found["go"])),
            ("componentize-py", _shown(found["componentize_py"])),
        ]
    )


def versions() -> dict[str, Any]:
    return {
        "kubewasp": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "wasmtime": version("wasmtime"),
        "engine": engine_version(),
        "go": _tool(_go),
        "componentize_py": _tool(_componentize_py),
    }


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


def _shown(tool: dict[str, str | None]) -> str:
    return f"{tool['version']} ({tool['path']})" if tool["version"] else f"{_ABSENT}: {tool['problem']}"
