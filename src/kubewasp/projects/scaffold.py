"""New projects, made of the templates beside this file: what all have in common, and what a language adds."""

from __future__ import annotations

import keyword
import re
from importlib import resources
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from kubewasp.projects.toolchain import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable
    from pathlib import Path

# How a plugin is called in the templates.
PLACEHOLDER: Final = "plugin-name"
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LONGEST: Final = 63
# Those of Go that are not keywords of Python too.
_GO_KEYWORDS: Final = frozenset(
    (
        *("chan", "const", "default", "defer", "fallthrough", "func", "go", "goto", "interface", "map", "package"),
        *("range", "select", "struct", "switch", "var"),
    )
)
# Names that a file has in a template so that tools leave it alone there.
_RENAMED: Final = {"gitignore": ".gitignore"}
_LEFT_OUT: Final = frozenset(["__pycache__"])


def name_problem(name: str) -> str:
    """What is wrong with a plugin's name; empty if nothing is."""
    if len(name) > _LONGEST:
        return f"at most {_LONGEST} characters"
    if not _NAME.fullmatch(name):
        return "lower-case letters, digits and '-', beginning with a letter, such as prefer-label"
    if keyword.iskeyword(name) or keyword.issoftkeyword(name) or name in _GO_KEYWORDS:
        return "not a keyword of the language"
    return ""


def create(folder: Path, name: str, language: str) -> list[PurePosixPath]:
    """Makes the project in that folder, which may exist if it is empty. The files that were made, in order."""
    problem = name_problem(name)
    if problem:
        raise BuildError(f"{name!r} is no name for a plugin: expected {problem}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BuildError(f"{folder} is there already, and not an empty folder; nothing was changed")
    templates = resources.files(__package__) / "templates"
    made = []
    try:
        for path, file in (item for part in ("common", language) for item in _files(templates / part, PurePosixPath())):
            target = folder / path.with_name(_RENAMED.get(path.name, path.name))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(file.read_text(encoding="utf-8").replace(PLACEHOLDER, name), encoding="utf-8")
            made.append(PurePosixPath(target.relative_to(folder)))
    except OSError as error:
        raise BuildError(f"{folder} cannot be written: {error}") from None
    return sorted(made)


def _files(folder: Traversable, path: PurePosixPath) -> Iterator[tuple[PurePosixPath, Traversable]]:
    for item in folder.iterdir():
        if item.name in _LEFT_OUT:
            continue
        if item.is_dir():
            yield from _files(item, path / item.name)
        else:
            yield path / item.name, item
