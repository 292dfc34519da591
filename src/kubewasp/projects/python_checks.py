"""Static checks of a Python plugin before its build: syntax, imports, plugin class, hooks.

The sources are parsed, never run. Imports are followed from plugin.py through the project's own modules. Imports in
functions count as well: a component has no files to import from at run time.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kubewasp.projects import python_classes, python_hooks
from kubewasp.projects.python_imports import Import, imports, own_files, package_of, parsed
from kubewasp.projects.python_sources import is_left_out
from kubewasp.projects.toolchain import BuildError

if TYPE_CHECKING:
    from pathlib import Path

SDK: Final = "kubewasp_sdk"
ENTRY: Final = "plugin.py"
_NO_NETWORK = "plugins have no network"
_NO_THREADS = "plugins have no threads"
_NO_PROCESSES = "plugins cannot start processes"
_NO_NATIVE = "plugins cannot call native code"
_NOT_THERE = "it does not exist in WebAssembly"
# Standard modules that do not work in a component. Some can be imported; their use fails.
_UNUSABLE: Final = {
    "asyncio": "plugins cannot wait for I/O; write the hooks without async",
    "concurrent": _NO_THREADS,
    "_thread": _NO_THREADS,
    "multiprocessing": _NO_PROCESSES,
    "subprocess": _NO_PROCESSES,
    "pty": _NO_PROCESSES,
    "socket": _NO_NETWORK,
    "socketserver": _NO_NETWORK,
    "select": _NO_NETWORK,
    "selectors": _NO_NETWORK,
    "http": _NO_NETWORK,
    "ftplib": _NO_NETWORK,
    "imaplib": _NO_NETWORK,
    "poplib": _NO_NETWORK,
    "smtplib": _NO_NETWORK,
    "xmlrpc": _NO_NETWORK,
    "signal": "plugins have no signals",
}
_NOT_IMPORTABLE: Final = {
    "ssl": _NO_NETWORK,
    "ctypes": _NO_NATIVE,
    "cffi": _NO_NATIVE,
    **dict.fromkeys(("bz2", "curses", "dbm", "fcntl", "grp", "lzma", "mmap", "pwd", "readline"), _NOT_THERE),
    **dict.fromkeys(("resource", "sqlite3", "syslog", "termios", "tkinter", "tty", "turtle", "venv"), _NOT_THERE),
}
_PARTLY: Final = {("urllib", "request"): _NO_NETWORK, ("threading", "Thread"): _NO_THREADS}
# Modules that standard modules import on first use, which is too late in a component.
_LATE: Final = {"datetime": ("_strptime",), "time": ("_strptime",)}
_NATIVE_SUFFIXES: Final = (".so", ".pyd", ".dylib")


@dataclass(slots=True)
class Findings:
    """Modules to import at build time, required ones and optional ones; and the project's own modules among them."""

    needed: dict[str, None] = field(default_factory=dict)
    optional: dict[str, None] = field(default_factory=dict)
    own: dict[Path, ast.Module] = field(default_factory=dict)


def check(project: Path) -> Findings:
    """Checks a project. Raises BuildError for code that cannot work in a component."""
    entry = project / ENTRY
    if not entry.is_file():
        raise BuildError(f"{project}: no {ENTRY}; a Python plugin is a class in a file of this name")
    findings = Findings()
    _follow(project, entry, findings)
    plugin = python_classes.plugin_class(project, entry, findings.own)
    if plugin is not None:
        python_hooks.check(project, plugin, findings.own)
    return findings


# ---------------------------------------------------------------------- imports


def _follow(project: Path, entry: Path, findings: Findings) -> None:
    findings.own[entry] = parsed(entry, project)
    todo: list[tuple[Path, ast.Module]] = [(entry, findings.own[entry])]
    while todo:
        path, tree = todo.pop()
        for item in imports(tree, package_of(path, project)):
            for found in own_files(project, item):
                if found not in findings.own:
                    findings.own[found] = parsed(found, project)
                    todo.append((found, findings.own[found]))
            _judge(item, path, project, findings)
        if path.parent == project:
            _check_threads(tree, path.relative_to(project))


def _judge(item: Import, path: Path, project: Path, findings: Findings) -> None:
    top, _, rest = item.module.partition(".")
    where = f"{path.relative_to(project)}:{item.line}: import {item.module}"
    if top in ("", SDK, "__future__"):
        return
    if _is_own(project, top):
        (findings.optional if item.is_optional else findings.needed)[item.module] = None
        return
    if item.is_optional:
        if top in sys.stdlib_module_names:
            findings.optional[item.module] = None
        return
    why = _NOT_IMPORTABLE.get(top)
    if why is None and path.parent == project:  # vendored packages may never use it
        part = rest.partition(".")[0]
        why = _UNUSABLE.get(top) or next((_PARTLY[top, n] for n in (part, *item.names) if (top, n) in _PARTLY), None)
    if why is not None:
        raise BuildError(f"{where}: this module does not work in a plugin: {why}")
    native = _native(project, top)
    if native is not None:
        raise BuildError(f"{where}: {native} is native code for this machine; only pure Python works in a plugin")
    if top not in sys.stdlib_module_names:
        raise BuildError(
            f"{where}: no such module in the project. Pure-Python packages work if they are in the project's "
            "folder; packages with native code, such as numpy, do not work in a plugin"
        )
    findings.needed[item.module] = None
    for late in _LATE.get(top, ()):
        findings.optional[late] = None


def _check_threads(tree: ast.Module, shown: Path) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            why = _PARTLY.get((node.value.id, node.attr))
            if why is not None:
                raise BuildError(f"{shown}:{node.lineno}: {node.value.id}.{node.attr} does not work in a plugin: {why}")


def _is_own(project: Path, top: str) -> bool:
    return (project / f"{top}.py").is_file() or _is_package(project / top)


def _is_package(folder: Path) -> bool:
    return folder.is_dir() and not is_left_out(folder.name) and any(folder.glob("*.py"))


def _native(project: Path, top: str) -> str | None:
    for found in project.glob(f"{top}.*"):
        if found.suffix in _NATIVE_SUFFIXES:
            return found.name
    return None
