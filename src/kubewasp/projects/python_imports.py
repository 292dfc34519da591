"""Sources of a Python project: parsed files, their import statements, and the project's files that an import runs."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubewasp.projects import project_links
from kubewasp.projects.toolchain import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Import:
    """One import statement; `names` are those of `from module import names`."""

    module: str
    names: tuple[str, ...]
    line: int
    is_optional: bool


def parsed(path: Path, project: Path) -> ast.Module:
    """Syntax tree of a file; a syntax error is a BuildError in Python's words."""
    shown = path.relative_to(project)
    project_links.check_file(path, project)
    try:
        return ast.parse(path.read_bytes(), str(shown))
    except SyntaxError as error:
        raise BuildError(_syntax_error(error)) from None
    except ValueError as error:  # a NUL byte
        raise BuildError(f"{shown}: {error}") from None


def _syntax_error(error: SyntaxError) -> str:
    import traceback

    return "".join(traceback.format_exception_only(error)).rstrip()


def imports(tree: ast.Module, package: str) -> Iterator[Import]:
    """All import statements, also those in functions; without those for type checkers."""
    yield from _imports_in(tree.body, package, is_optional=False)


def _imports_in(nodes: Sequence[ast.AST], package: str, *, is_optional: bool) -> Iterator[Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for name in node.names:
                yield Import(name.name, (), node.lineno, is_optional)
        elif isinstance(node, ast.ImportFrom):
            module = absolute(node, package)
            yield Import(module, tuple(name.name for name in node.names), node.lineno, is_optional)
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


def package_of(path: Path, project: Path) -> str:
    """Dotted name of the package of a module; empty at the top level."""
    return ".".join(path.relative_to(project).parent.parts)


def absolute(node: ast.ImportFrom, package: str) -> str:
    """Dotted name of the module of `from module import …`."""
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    kept = parts[: len(parts) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])])


def own_files(project: Path, item: Import) -> Iterator[Path]:
    """Files of the project that an import runs: parent packages, the module, and imported submodules."""
    parts = item.module.split(".")
    names = item.names
    if names == ("*",) and (package := project.joinpath(*parts, "__init__.py")).is_file():
        names = _exported(parsed(package, project))
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
