"""Keeps what was built from sources under a name that tells all it was made of.

Nothing is built twice and nothing stale is used; processes may build at the same time. In a checkout it is kept in
.build, else in the user's cache.
"""

from __future__ import annotations

import fcntl
import hashlib
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.wasm.compilation import directory as cache_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

# What builds leave beside sources.
_MADE = frozenset({"build", "__pycache__", ".pytest_cache", "go.work", "go.work.sum"})


def folder(part: str) -> Path:
    """Where one kind of built things is kept."""
    root = Path(__file__).parents[3]
    checkout = (root / "pyproject.toml").is_file() and (root / "sdk").is_dir()
    return root / ".build" / part if checkout else cache_directory() / part


def built(where: Path, name: str, ending: str, ingredients: Iterable[bytes], build: Callable[[Path], None]) -> Path:
    """The file that `build` makes of the ingredients: built now, unless it is there."""
    target = where / f"{name}-{digest(ingredients)}{ending}"
    if target.exists():
        return target
    where.mkdir(parents=True, exist_ok=True)
    with alone(where / f"{name}.lock"):
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=where) as scratch:
                fresh = Path(scratch) / f"{name}{ending}"
                build(fresh)
                fresh.replace(target)
    return target


def digest(ingredients: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for ingredient in ingredients:
        found.update(len(ingredient).to_bytes(8, "little") + ingredient)
    return found.hexdigest()[:16]


def contents(sources: Path, without: Collection[str] = ()) -> Iterator[bytes]:
    """Of all files that were not made by a build; and without those with certain endings."""
    files = [path for path in sources.rglob("*") if path.is_file() and not _MADE & set(path.relative_to(sources).parts)]
    for path in sorted(path for path in files if path.suffix not in without):
        yield path.relative_to(sources).as_posix().encode()
        yield path.read_bytes()


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """One process at a time; the lock ends with the file."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
