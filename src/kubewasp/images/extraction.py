"""Files of an image in a folder of the host, for a program that was granted them.

The folder is made from the merged tree: no name or link of a layer is ever opened on the host. Links are rewritten to
relative ones that stay inside; owners, special bits and devices are dropped.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kubewasp.images.errors import ImageError
from kubewasp.images.file_tree import TreeFile, TreeFolder, relative_target

if TYPE_CHECKING:
    from pathlib import Path

    from kubewasp.images.wasm_image import WasmImage


def extract(image: WasmImage, folder: Path) -> None:
    """Writes all files into a new, empty folder that nobody else writes to."""
    wanted: dict[tuple[int, int], list[tuple[str, TreeFile]]] = {}
    try:
        for place, node in image.tree.walk():
            path = folder / place.lstrip("/")
            if isinstance(node, TreeFolder):
                path.mkdir(mode=0o755)
            elif isinstance(node, TreeFile):
                wanted.setdefault((node.layer, node.entry), []).append((place, node))
            else:
                path.symlink_to(relative_target(place, node.target))
        for key, member in image.members():
            if key in wanted:
                _write(folder, wanted.pop(key), member.read(member.size))
    except OSError as error:
        raise ImageError(f"{image.where}: its files cannot be extracted: {error.strerror or error}") from None


def _write(folder: Path, places: list[tuple[str, TreeFile]], content: bytes) -> None:
    """One file under all its names."""
    (place, file), *links = places
    first = folder / place.lstrip("/")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(first, flags, 0o755 if file.is_executable else 0o644), "wb") as opened:
        opened.write(content)
    for link, _ in links:
        os.link(first, folder / link.lstrip("/"))
