"""Class of a Python plugin, and its bases in the project's modules."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.projects.python_imports import absolute, package_of
from kubewasp.projects.toolchain import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

_SDK: Final = "kubewasp_sdk"
_PLUGIN: Final = ("kubewasp_sdk.Plugin", "kubewasp_sdk.plugin.Plugin")
# Bases of the standard library that have no methods of a plugin.
_PLAIN: Final = ("object", "ABC", "abc.ABC", "Generic", "typing.Generic", "Protocol", "typing.Protocol")


@dataclass(frozen=True, slots=True)
class ClassInFile:
    """A class and the file that defines it."""

    path: Path
    node: ast.ClassDef


@dataclass(frozen=True, slots=True)
class PluginClass:
    """Class of a plugin with its bases in the project, nearest first."""

    parts: Sequence[ClassInFile]
    has_unknown_bases: bool


def plugin_class(project: Path, entry: Path, modules: Mapping[Path, ast.Module]) -> PluginClass | None:
    """The one class of plugin.py that derives from Plugin; None if that is decided by classes that are not known."""
    finder = _Finder(project, modules)
    found = {node.name: finder.lineage(entry, node) for node in modules[entry].body if isinstance(node, ast.ClassDef)}
    plugins = {name: lineage for name, lineage in found.items() if lineage.is_plugin}
    parents = {part.node.name for lineage in plugins.values() for part in lineage.parts[1:] if part.path == entry}
    own = [lineage for name, lineage in plugins.items() if name not in parents]
    wanted = f"{entry}: expected one class that derives from {_SDK}.Plugin"
    if len(own) > 1:
        raise BuildError(f"{wanted}, found {len(own)}: {_named(own)}")
    if own:
        return PluginClass(own[0].parts, own[0].has_unknown)
    if any(lineage.has_unknown for lineage in found.values()):
        return None
    others = f"; classes without it: {_named(found.values())}" if found else ""
    raise BuildError(f"{wanted}, found none{others}")


@dataclass(slots=True)
class _Lineage:
    parts: list[ClassInFile]
    is_plugin: bool = False
    has_unknown: bool = False


def _named(lineages: Iterable[_Lineage]) -> str:
    classes = [lineage.parts[0].node for lineage in lineages]
    return ", ".join(f"{node.name} (line {node.lineno})" for node in classes)


class _Finder:
    """Looks up base classes by their names in the source."""

    def __init__(self, project: Path, modules: Mapping[Path, ast.Module]) -> None:
        self._project = project
        self._modules = modules
        self._names = {path: self._imported(path, tree) for path, tree in modules.items()}

    def lineage(self, path: Path, node: ast.ClassDef) -> _Lineage:
        found = _Lineage([ClassInFile(path, node)])
        for part in found.parts:  # grows
            found.has_unknown |= bool(part.node.keywords) or not all(map(self._is_dataclass, part.node.decorator_list))
            for base in part.node.bases:
                name = self._full_name(part.path, ast.unparse(base).partition("[")[0])
                known = self._class(part.path, name)
                if name in _PLUGIN:
                    found.is_plugin = True
                elif known is None:
                    found.has_unknown |= name not in _PLAIN
                elif known not in found.parts:
                    found.parts.append(known)
        return found

    def _is_dataclass(self, decorator: ast.expr) -> bool:
        """Other decorators may add methods, or return another class."""
        name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
        return name in ("dataclass", "dataclasses.dataclass")

    def _imported(self, path: Path, tree: ast.Module) -> dict[str, str]:
        """Local name → full dotted name, of the imports at the top level."""
        names: dict[str, str] = {}
        for node in tree.body:
            if isinstance(node, ast.Import):
                names |= {item.asname: item.name for item in node.names if item.asname}
            elif isinstance(node, ast.ImportFrom):
                module = absolute(node, package_of(path, self._project))
                names |= {item.asname or item.name: f"{module}.{item.name}" for item in node.names}
                if module == _SDK and "*" in names:
                    names["Plugin"] = f"{_SDK}.Plugin"
        return names

    def _full_name(self, path: Path, name: str) -> str:
        first, dot, rest = name.partition(".")
        return f"{self._names[path].get(first, first)}{dot}{rest}"

    def _class(self, path: Path, name: str) -> ClassInFile | None:
        """A class of the project, by its name in this file or its full name."""
        module, _, last = name.rpartition(".")
        files = [self._project.joinpath(*module.split(".")).with_suffix(".py")] if module else [path]
        files += [self._project.joinpath(*module.split("."), "__init__.py")] if module else []
        for file in files:
            for node in self._modules[file].body if file in self._modules else ():
                if isinstance(node, ast.ClassDef) and node.name == last:
                    return ClassInFile(file, node)
        return None
