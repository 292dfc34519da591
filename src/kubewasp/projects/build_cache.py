"""Build cache: files built from sources, under names with a digest of all inputs.

Unchanged inputs are never built twice, changed inputs never give a stale file, and several processes may build at the
same time. The cache is `.build` in a checkout, else the user's cache directory.
"""

from __future__ import annotations

import fcntl
import hashlib
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.user_cache import directory as cache_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

# Build products beside the sources.
PRODUCTS = frozenset(
    {
        "build",
        "__pycache__",
        ".pytest_cache",
        "go.work",
        "go.work.sum",
        ".kubewasp",
        "compile_flags.txt",
        "node_modules",
    }
)
# A file in the build folder of Cargo and in caches of other tools: what is beside it is no source.
CACHE_MARK = "CACHEDIR.TAG"


def folder(part: str) -> Path:
    """Cache folder of one kind of files."""
    root = Path(__file__).parents[3]
    checkout = (root / "pyproject.toml").is_file() and (root / "sdk").is_dir()
    return root / ".build" / part if checkout else cache_directory() / part


def built(where: Path, name: str, ending: str, ingredients: Iterable[bytes], build: Callable[[Path], None]) -> Path:
    """The cached file for these ingredients; `build` writes it if it is missing."""
    target = where / f"{name}-{digest(ingredients)}{ending}"
    if target.exists():
        return target
    where.mkdir(parents=True, exist_ok=True)
    with locked(where / f"{name}.lock"):
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
    """Names and contents of all source files, except build products and files with the endings in `without`."""
    caches = {path.parent for path in sources.glob(f"*/{CACHE_MARK}")}
    files = [
        path
        for path in sources.rglob("*")
        if path.is_file() and not PRODUCTS & set(path.relative_to(sources).parts) and caches.isdisjoint(path.parents)
    ]
    for path in sorted(path for path in files if path.suffix not in without):
        yield path.relative_to(sources).as_posix().encode()
        yield path.read_bytes()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Mutual exclusion between processes. The lock ends with the open file, even after a crash."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
