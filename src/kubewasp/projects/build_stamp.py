"""Build stamp of a project: whether its wasm is that of its current sources.

The stamp lies beside the wasm: a digest of names, sizes and times of all sources, of the SDK and of the wasm.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.projects.build_cache import CACHE_MARK, PRODUCTS
from kubewasp.projects.toolchain import sdk

if TYPE_CHECKING:
    from collections.abc import Iterator

# Parts of a Go or Rust project outside of its folder; their sources are not in the stamp.
_OTHER_FOLDERS: Final = {
    "go.mod": re.compile(r"=>\s*\"?[./]"),
    "Cargo.toml": re.compile(r"\bpath\s*=\s*\"(?:/|\.\.)|\bworkspace\s*="),
}


def write(folder: Path, wasm: Path) -> None:
    """Marks the wasm as built from the current sources. A folder that cannot be written has no stamp."""
    with suppress(OSError):
        _stamp(wasm).unlink(missing_ok=True)  # it may be a link
        _stamp(wasm).write_text(_digest(folder, wasm), encoding="ascii")


def is_current(folder: Path, wasm: Path) -> bool:
    """Whether the wasm needs no build. False in doubt."""
    for file, elsewhere in _OTHER_FOLDERS.items():
        with suppress(OSError):
            if elsewhere.search((folder / file).read_text(errors="replace")):
                return False
    try:
        return _stamp(wasm).read_text(encoding="ascii") == _digest(folder, wasm)
    except (OSError, UnicodeDecodeError):
        return False


def _stamp(wasm: Path) -> Path:
    return wasm.with_name(f".{wasm.name}.sources")


def _digest(folder: Path, wasm: Path) -> str:
    found = hashlib.sha256()
    roots = [folder, *(sdk(part) for part in ("go", "python", "rust", "javascript", "c", "wit"))]
    for path in [wasm, *(path for root in roots for path in _sources(root))]:
        state = path.stat()
        found.update(f"{path.resolve()}\0{state.st_size}\0{state.st_mtime_ns}\n".encode(errors="surrogateescape"))
    return found.hexdigest()


def _sources(root: Path) -> Iterator[Path]:
    """All files except build products, hidden ones, and those of caches and virtual environments."""
    for place, folders, files in os.walk(root):
        if "pyvenv.cfg" in files or CACHE_MARK in files:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if name not in PRODUCTS and not name.startswith("."))
        for name in sorted(files):
            if name not in PRODUCTS and not name.startswith("."):
                yield Path(place, name)
