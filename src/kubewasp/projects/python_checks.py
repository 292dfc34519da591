"""Static checks of a Python plugin before its build: syntax, plugin class, imports.

The sources are parsed, never run. Imports are followed from plugin.py through the project's own modules. Imports in
functions count as well: a component has no files to import from at run time.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kubewasp.projects.python_sources import is_left_out
from kubewasp.projects.toolchain import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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


@dataclass(frozen=True, slots=True)
class _Import:
    """One import statement; `names` are those of `from module import names`."""

    module: str
    names: tuple[str, ...]
    line: int
    is_optional: bool


def check(project: Path) -> Findings:
    """Checks a project. Raises BuildError for code that cannot work in a component."""
    entry = project / ENTRY
    if not entry.is_file():
        raise BuildError(f"{project}: no {ENTRY}; a Python plugin is a class in a file of this name")
    tree = _parsed(entry, project)
    _check_class(tree, project)
    findings = Findings()
    _follow(project, entry, tree, findings)
    return findings


def _parsed(path: Path, project: Path) -> ast.Module:
    shown = path.relative_to(project)
    try:
        return ast.parse(path.read_bytes(), str(shown))
    except SyntaxError as error:
        raise BuildError(_syntax_error(error)) from None
    except ValueError as error:  # a NUL byte
        raise BuildError(f"{shown}: {error}") from None


def _syntax_error(error: SyntaxError) -> str:
    import traceback

    return "".join(traceback.format_exception_only(error)).rstrip()


# ---------------------------------------------------------------------- the plugin class


def _check_class(tree: ast.Module, project: Path) -> None:
    """Requires exactly one class that derives from Plugin. Bases from other modules are checked by the build."""
    bases = {f"{SDK}.Plugin", f"{SDK}.plugin.Plugin"}
    elsewhere: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            bases |= {f"{item.asname}.Plugin" for item in node.names if item.name == SDK and item.asname}
        elif isinstance(node, ast.ImportFrom):
            names = {item.asname or item.name: item.name for item in node.names}
            if node.module in (SDK, f"{SDK}.plugin"):
                bases |= {name for name, original in names.items() if original in ("Plugin", "*")}
                bases |= {"Plugin"} if "*" in names else set()
            else:
                elsewhere |= set(names)
    classes: dict[str, int] = {}
    parents: set[str] = set()
    undecided = False
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            of = {ast.unparse(base) for base in node.bases}
            undecided |= bool({name.partition(".")[0] for name in of} & elsewhere)
            if of & (bases | set(classes)):
                classes[node.name] = node.lineno
                parents |= of & set(classes)
    own = {name: line for name, line in classes.items() if name not in parents}
    if len(own) > 1:
        found = ", ".join(f"{name} (line {line})" for name, line in own.items())
        raise BuildError(
            f"{project / ENTRY}: expected one class that derives from {SDK}.Plugin, found {len(own)}: {found}"
        )
    if not own and not undecided:
        raise BuildError(f"{project / ENTRY}: expected one class that derives from {SDK}.Plugin, found none")


# ---------------------------------------------------------------------- imports


def _follow(project: Path, entry: Path, tree: ast.Module, findings: Findings) -> None:
    findings.own[entry] = tree
    todo: list[tuple[Path, ast.Module]] = [(entry, tree)]
    while todo:
        path, parsed = todo.pop()
        for item in _imports(parsed, _package(path, project)):
            for found in _own_files(project, item):
                if found not in findings.own:
                    findings.own[found] = _parsed(found, project)
                    todo.append((found, findings.own[found]))
            _judge(item, path, project, findings)
        if path.parent == project:
            _check_threads(parsed, path.relative_to(project))


def _judge(item: _Import, path: Path, project: Path, findings: Findings) -> None:
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


def _imports(tree: ast.Module, package: str) -> Iterator[_Import]:
    yield from _imports_in(tree.body, package, is_optional=False)


def _imports_in(nodes: Sequence[ast.AST], package: str, *, is_optional: bool) -> Iterator[_Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for name in node.names:
                yield _Import(name.name, (), node.lineno, is_optional)
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(node, package)
            yield _Import(module, tuple(name.name for name in node.names), node.lineno, is_optional)
        elif isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            yield from _imports_in(node.orelse, package, is_optional=is_optional)
        elif isinstance(node, ast.Try) and any(map(_catches_import_error, node.handlers)):
            yield from _imports_in(node.body, package, is_optional=True)
            rest = [*node.handlers, *node.orelse, *node.finalbody]
            yield from _imports_in(rest, package, is_optional=is_optional)
        else:
            yield from _imports_in(list(ast.iter_child_nodes(node)), package, is_optional=is_optional)


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    caught = "" if handler.type is None else ast.unparse(handler.type)
    return not caught or any(name in caught for name in ("ImportError", "ModuleNotFoundError", "Exception"))


def _package(path: Path, project: Path) -> str:
    return ".".join(path.relative_to(project).parent.parts)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    kept = parts[: len(parts) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])])


def _is_own(project: Path, top: str) -> bool:
    return (project / f"{top}.py").is_file() or _is_package(project / top)


def _is_package(folder: Path) -> bool:
    return folder.is_dir() and not is_left_out(folder.name) and any(folder.glob("*.py"))


def _own_files(project: Path, item: _Import) -> Iterator[Path]:
    """Files of the project that an import runs: parent packages, the module, and imported submodules."""
    parts = item.module.split(".")
    names = item.names
    if names == ("*",) and (package := project.joinpath(*parts, "__init__.py")).is_file():
        names = _exported(_parsed(package, project))
    wanted = [parts[:end] for end in range(1, len(parts) + 1)] + [[*parts, name] for name in names]
    for path in wanted:
        if not all(path):
            continue
        for found in (project.joinpath(*path).with_suffix(".py"), project.joinpath(*path, "__init__.py")):
            if found.is_file():
                yield found


def _exported(tree: ast.Module) -> tuple[str, ...]:
    """Texts in `__all__`: names that `from package import *` imports, submodules among them."""
    assigned = [
        node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    texts = [item.value for node in assigned for item in ast.walk(node.value) if isinstance(item, ast.Constant)]
    return tuple(text for text in texts if isinstance(text, str))


def _native(project: Path, top: str) -> str | None:
    for found in project.glob(f"{top}.*"):
        if found.suffix in _NATIVE_SUFFIXES:
            return found.name
    return None
