"""Local guest URLs: the path in a `file:` URL, and relative ones in the folder of a configuration file."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from pathlib import Path

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_FILE: Final = re.compile(r"file:(?://)?", re.IGNORECASE)


def local_path(url: str) -> str | None:
    """The path of a guest on this machine; None for one on another.

    A path, `file:///absolute`, and also `file://relative/path`, as kube-scheduler-wasm-extension reads it.
    """
    file = _FILE.match(url)
    if file is not None:
        return unquote(url[file.end() :])
    return None if _SCHEME.match(url) else url


def in_folder(url: str, folder: Path) -> str:
    """The guest URL; a relative path becomes an absolute one that starts at the folder."""
    path, file = local_path(url), _FILE.match(url)
    if not path or path.startswith("/"):
        return url
    where = folder.absolute()
    return f"file://{quote(os.fsencode(where))}/{url[file.end() :]}" if file is not None else str(where / path)
