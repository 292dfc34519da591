"""Files of the host that go into an image: `SRC:DST`, a file or a folder with everything in it.

Links are refused instead of followed: an image holds what its author can see in the folder, and nothing of elsewhere.
"""

from __future__ import annotations

import os
import posixpath
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.images.errors import ImageError
from kubewasp.k8s.errors import quoted
from kubewasp.k8s.quantity import format_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_FILES: Final = 10_000
MAX_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class AddedFile:
    """A file with its path in the image, which is absolute and normal."""

    path: str
    content: bytes
    is_executable: bool = False


def read_added(given: Iterable[str]) -> tuple[AddedFile, ...]:
    """The files of all `SRC:DST`, sorted by their path in the image."""
    found: dict[str, AddedFile] = {}
    size = 0
    for text in given:
        for file in _files(text):
            if file.path in found:
                raise ImageError(f"--add {text}: {quoted(file.path)} is in the image twice")
            found[file.path] = file
            size += len(file.content)
            if len(found) > MAX_FILES or size > MAX_BYTES:
                limit = f"{MAX_FILES} files and {format_size(MAX_BYTES)}"
                raise ImageError(f"--add {text}: more than {limit}; mount a volume for large data")
    return tuple(found[path] for path in sorted(found))


def image_path(text: str) -> str:
    """An absolute, normal path of the image; ImageError for one that leaves it."""
    path = posixpath.normpath(posixpath.join("/", text))
    if ".." in text.split("/") or "\0" in text or path in ("/", "//"):
        raise ImageError(f"{quoted(text)} is no path of a file in an image")
    return f"/{path.lstrip('/')}"


def _files(text: str) -> Iterator[AddedFile]:
    source, colon, target = text.rpartition(":")
    if not colon or not source or not target:
        raise ImageError(f"--add {text}: expected SRC:DST, such as config.json:/etc/config.json")
    path = Path(source)
    try:
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            root = "" if posixpath.normpath(target) in ("/", ".") else target
            yield from _folder_files(path, root)
        else:
            yield _file(path, posixpath.join(target, path.name) if target.endswith("/") else target)
    except OSError as error:
        raise ImageError(f"--add {text}: {error.filename or source}: {error.strerror or error}") from None


def _folder_files(folder: Path, target: str) -> Iterator[AddedFile]:
    for place, folders, files in os.walk(folder, onerror=_raise):
        folders.sort()
        for name in folders:
            if Path(place, name).is_symlink():
                raise ImageError(f"{Path(place, name)}: a link; copy what it leads to into the folder")
        for name in sorted(files):
            path = Path(place, name)
            yield _file(path, posixpath.join(target, path.relative_to(folder).as_posix()))


def _raise(error: OSError) -> None:
    raise error


def _file(path: Path, target: str) -> AddedFile:
    if path.is_symlink():
        raise ImageError(f"{path}: a link; give the file that it leads to")
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ImageError(f"{path}: neither a file nor a folder")
        if status.st_size > MAX_BYTES:
            raise ImageError(f"{path}: larger than {format_size(MAX_BYTES)}; mount a volume for large data")
        return AddedFile(image_path(target), file.read(MAX_BYTES + 1), bool(status.st_mode & stat.S_IXUSR))
