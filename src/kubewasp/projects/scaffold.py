"""New projects from the templates beside this file: common files, plus those of a language."""

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

# Name of the plugin in the templates.
PLACEHOLDER: Final = "plugin-name"
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LONGEST: Final = 63
# Keywords of Go that are not keywords of Python.
_GO_KEYWORDS: Final = frozenset(
    (
        *("chan", "const", "default", "defer", "fallthrough", "func", "go", "goto", "interface", "map", "package"),
        *("range", "select", "struct", "switch", "var"),
    )
)
# Keywords of Rust that are not keywords of Python or Go.
_RUST_KEYWORDS: Final = frozenset(
    (
        *(
            "abstract",
            "become",
            "box",
            "crate",
            "do",
            "dyn",
            "enum",
            "extern",
            "final",
            "fn",
            "gen",
            "impl",
            "let",
            "loop",
        ),
        *(
            "macro",
            "mod",
            "move",
            "mut",
            "override",
            "priv",
            "pub",
            "ref",
            "self",
            "static",
            "super",
            "trait",
            "typeof",
        ),
        *("unsafe", "unsized", "use", "virtual", "where"),
    )
)
# Template files under another name, so that tools ignore them in the repository.
_RENAMED: Final = {"gitignore": ".gitignore"}
_LEFT_OUT: Final = frozenset(["__pycache__"])


def name_problem(name: str) -> str:
    """Requirement that a plugin name violates; empty for a valid name."""
    if len(name) > _LONGEST:
        return f"at most {_LONGEST} characters"
    if not _NAME.fullmatch(name):
        return "lower-case letters, digits and '-', beginning with a letter, such as prefer-label"
    if keyword.iskeyword(name) or keyword.issoftkeyword(name) or name in _GO_KEYWORDS | _RUST_KEYWORDS:
        return "not a keyword of the language"
    return ""


def create(folder: Path, name: str, language: str) -> list[PurePosixPath]:
    """Creates the project in a new or empty folder. Returns the created files, sorted."""
    problem = name_problem(name)
    if problem:
        raise BuildError(f"{name!r} is not a valid plugin name: expected {problem}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BuildError(f"{folder} already exists and is not an empty folder; nothing was changed")
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
