"""Links of a plugin project: those to the SDK of this machine, which kubewasp makes, and those of the author.

A build copies and reads files; a link must not bring in those of another folder.
"""

from __future__ import annotations

import os
import tempfile
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


def point(place: Path, target: Path) -> None:
    """Makes `place` a link to the folder `target`, at once. A file or folder of the author is kept."""
    if place.readlink() == target if place.is_symlink() else place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".") as scratch:
        fresh = Path(scratch, "link")
        fresh.symlink_to(target)
        fresh.replace(place)


def write(place: Path, content: str, *, ours: str) -> None:
    """Writes a file that names the SDK, at once. One that does not start with `ours` is the author's, and kept."""
    if place.exists() and (not (found := place.read_text()).startswith(ours) or found == content):
        return
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".") as scratch:
        fresh = Path(scratch, "file")
        fresh.write_text(content)
        fresh.replace(place)


def _links(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        if ("pyvenv.cfg" in files or CACHE_MARK in files) and Path(place) != folder:
            folders.clear()
            continue
        names = [name for name in (*folders, *files) if not name.startswith(".") or name == _OURS]
        yield from (path for name in sorted(names) if (path := Path(place, name)).is_symlink())
        folders[:] = [name for name in folders if name in names and name not in (*PRODUCTS, _OURS)]
