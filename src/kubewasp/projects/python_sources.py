"""Files of a Python project that are part of its component: the imported modules, and the data files they may read.

Everything else (README, sample manifests, notebooks) is neither visible to the build nor a reason for a new one. Data
files are found in the source: those that a string of a module can name, if a module reads files at all; all of them, if
a module lists folders.
"""

from __future__ import annotations

import ast
import os
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Names of functions and methods that read files, list folders, or import modules by name.
_READS: Final = frozenset(
    ("open", "read", "read_text", "read_bytes", "read_binary", "get_data", "files", "getline", "getlines", "ZipFile")
)  # fmt: skip
_LISTS: Final = frozenset(("iterdir", "listdir", "scandir", "walk", "glob", "iglob", "rglob", "contents"))
_IMPORTS: Final = frozenset(
    ("import_module", "__import__", "iter_modules", "walk_packages", "exec_module", "run_path", "run_module")
)
_GLOBS: Final = frozenset(("glob", "iglob", "rglob"))
_LEFT_OUT: Final = ("tests", "test", "build", "dist", "__pycache__", "node_modules")


def is_left_out(name: str) -> bool:
    """Whether a file or folder is not part of a plugin unless it is imported."""
    return name.startswith((".", "test_")) or name in _LEFT_OUT or name.endswith((".wasm", "_test.py", ".egg-info"))


def parts(project: Path, modules: Iterable[tuple[Path, ast.Module]]) -> list[PurePosixPath]:
    """Files of the component, relative to the project and sorted: the given modules, and their data files."""
    given = dict(modules)
    used, patterns = _Use(), set[str]()
    for tree in given.values():
        used.look_at(tree)
        patterns.update(_patterns(tree))
    found = {path.relative_to(project) for path in given}
    found |= {path for path in _files(project) if used.may_use(path, patterns)}
    return sorted(PurePosixPath(path.as_posix()) for path in found)


class _Use:
    """What the modules do with files, by the names of the functions they mention."""

    def __init__(self) -> None:
        self.reads = False
        self.lists = False
        self.imports = False

    def look_at(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            self.reads |= name in _READS or name in _GLOBS
            self.imports |= name in _IMPORTS
            self.lists |= name in _LISTS - _GLOBS
            if isinstance(node, ast.Call) and _called(node) in _GLOBS:  # a pattern in the source is like a name
                self.lists |= not (node.args and isinstance(node.args[0], ast.Constant | ast.JoinedStr))

    def may_use(self, path: Path, patterns: set[str]) -> bool:
        if self.lists or (self.imports and path.suffix == ".py"):
            return True
        return self.reads and any(fnmatchcase(part, pattern) for part in path.parts for pattern in patterns)


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _patterns(tree: ast.Module) -> Iterator[str]:
    """Patterns of file and folder names that the strings of a module can make."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        # "data/prices.json" names the folder as well as the file; ".json" is an ending, as of with_suffix.
        for part in PurePosixPath(text).parts:
            yield f"*{part}" if part.startswith(".") else part


def _files(project: Path) -> Iterator[Path]:
    """Files of the project that may be part of the plugin; not those of tests, builds and virtual environments."""
    for folder, folders, names in os.walk(project):
        folders[:] = [
            name for name in folders if not is_left_out(name) and not Path(folder, name, "pyvenv.cfg").exists()
        ]
        for name in names:
            path = Path(folder, name)
            if not is_left_out(name) and path.is_file():
                yield path.relative_to(project)
