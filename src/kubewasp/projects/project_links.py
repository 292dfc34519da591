"""Links of a plugin project. A build copies and reads files; a link must not bring in those of another folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.projects.build_cache import CACHE_MARK, PRODUCTS
from kubewasp.projects.toolchain import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator

_OURS: Final = ".kubewasp"  # written into; the link to the SDK in it is ours


def check(folder: Path) -> None:
    """Raises BuildError for a link that leads out of the project.

    Hidden files and virtual environments are no part of a plugin, and may be links.
    """
    for link in _links(folder):
        check_file(link, folder)


def check_file(path: Path, folder: Path) -> None:
    """Raises BuildError if the path leads out of the project."""
    try:
        target = path.resolve()
    except (OSError, RuntimeError):
        raise BuildError(f"{path} is a link in a circle; remove it") from None
    if not target.is_relative_to(folder.resolve()):
        raise BuildError(
            f"{path} is a link to {target}, outside of the project; "
            "replace it with a copy, or with a link inside of the project"
        )


def _links(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        if ("pyvenv.cfg" in files or CACHE_MARK in files) and Path(place) != folder:
            folders.clear()
            continue
        names = [name for name in (*folders, *files) if not name.startswith(".") or name == _OURS]
        yield from (path for name in sorted(names) if (path := Path(place, name)).is_symlink())
        folders[:] = [name for name in folders if name in names and name not in (*PRODUCTS, _OURS)]
