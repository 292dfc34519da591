"""Go programs and guests of the peers: built once; a failed build is one line without names of this machine."""

from __future__ import annotations

import re
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from kubewasp.projects import build_cache, go
from kubewasp.projects.toolchain import BuildError
from tools import go_builds
from tools.go_builds import GoError

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES: Final = Path(__file__).parent
_REPORT: Final = "kubewasp.dev/bench/report"
_SHOWN: Final = 300
# Names of this machine and its network are no part of a published reason.
_PLACES: Final = (
    (re.compile(r"https?://\S*[^\s:;,]"), "the module proxy"),
    (re.compile(r"lookup \S+ on \S+"), "lookup of the module proxy"),
    (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?"), "an address"),
    (re.compile(r"(?<![\w./@-])(?:/[^\s/:;,]+){2,}/?"), "a file"),
)


class UnavailableError(KubewaspError):
    """A peer that is not available on this machine; the text is the reason, in one line."""


def program(name: str) -> Path:
    """The program in the folder NAME, whose modules are all pinned there."""
    tool = _go()

    def build(target: Path) -> None:
        with _unavailable():
            go_builds.build_program(tool, SOURCES / name, target)

    return build_cache.built(build_cache.folder("peers"), name, "", _ingredients(tool, name, "report"), build)


def guest(name: str) -> Path:
    """The guest in the folder NAME_guest, for any host of the classic ABI; it needs no modules."""
    tool = _go()

    def build(target: Path) -> None:
        with _unavailable():
            go_builds.build_guest(tool, SOURCES / f"{name}_guest", target)

    ingredients = _ingredients(tool, f"{name}_guest")
    return build_cache.built(build_cache.folder("peers"), f"guest-{name}", ".wasm", ingredients, build)


def program_with(name: str, module: str, release: str, replacement: Path | None = None) -> Path:
    """The program in the folder NAME with that release of a module, or with a replacement of it on disk."""
    tool = _go()

    def build(target: Path) -> None:
        with _unavailable(), tempfile.TemporaryDirectory(prefix="kubewasp-peer-") as scratch:
            folder = Path(scratch) / name
            shutil.copytree(SOURCES / name, folder)
            edits = [f"-replace={_REPORT}={SOURCES / 'report'}"]
            if replacement is None:
                edits.append(f"-require={module}@{go_builds.download(tool, module, release)['Version']}")
            else:
                edits += [f"-require={module}@v0.0.0", f"-replace={module}={replacement.resolve()}"]
            settings = {**go_builds.NATIVE, "GOFLAGS": "-mod=mod"}
            go_builds.run(tool, "mod", "edit", *edits, cwd=folder, settings=settings)
            go_builds.run(tool, "mod", "tidy", cwd=folder, settings=settings)
            go_builds.build_program(tool, folder, target, settings)

    replaced = [] if replacement is None else list(build_cache.contents(replacement))
    ingredients = [*_ingredients(tool, name, "report"), module.encode(), release.encode(), *replaced]
    return build_cache.built(build_cache.folder("peers"), name, "", ingredients, build)


def published(module: str, release: str, path: str) -> Path:
    """A guest published by others as a file of a Go module."""
    tool = _go()

    def fetch(target: Path) -> None:
        with _unavailable():
            go_builds.fetch(tool, module, release, path, target)

    ingredients = [text.encode() for text in (module, release, path)]
    return build_cache.built(build_cache.folder("peers"), "published", ".wasm", ingredients, fetch)


@contextmanager
def _unavailable() -> Iterator[None]:
    """Failed builds and downloads as UnavailableError."""
    try:
        yield
    except GoError as error:
        raise UnavailableError(f"the Go tool said: {shortened(error.complaint)}") from None


def _go() -> go.Go:
    try:
        return go.find()
    except BuildError as error:
        raise UnavailableError(shortened(str(error))) from None


def _ingredients(tool: go.Go, *folders: str) -> Iterator[bytes]:
    yield tool.text.encode()
    for folder in folders:
        yield from build_cache.contents(SOURCES / folder)


def shortened(text: str) -> str:
    """A complaint in one line, without names of this machine and its network."""
    line = "; ".join(part.strip() for part in text.splitlines() if part.strip())
    for pattern, stand_in in _PLACES:
        line = pattern.sub(stand_in, line)
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
