"""Builds the Go programs and guests of the peers, once, and says in one line why something cannot be built here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from kubewasp.projects import build_cache, go
from kubewasp.projects.toolchain import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SOURCES: Final = Path(__file__).parent
# Where modules come from is the user's choice; what is built from them is not.
_SETTINGS: Final = {
    "GOWORK": "off",
    "GOTOOLCHAIN": "local",
    "GOFLAGS": "-mod=readonly",
    "GOEXPERIMENT": "",
    "CGO_ENABLED": "0",
}
_NATIVE: Final = {"GOOS": "", "GOARCH": ""}
_WASM: Final = {"GOOS": "wasip1", "GOARCH": "wasm", "GOWASM": "", "GOPROXY": "off"}
_OPTIONS: Final = ("-trimpath", "-buildvcs=false", "-ldflags=-s -w")
_REPORT: Final = "kubewasp.dev/bench/report"
_SHOWN: Final = 300
# What says more about this machine and its network than about the failure.
_PLACES: Final = (
    (re.compile(r"https?://\S*[^\s:;,]"), "the module proxy"),
    (re.compile(r"lookup \S+ on \S+"), "lookup of the module proxy"),
    (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?"), "an address"),
    (re.compile(r"(?<![\w./@-])(?:/[^\s/:;,]+){2,}/?"), "a file"),
)


class UnavailableError(KubewaspError):
    """A peer that cannot be had here; the text says why, in one line."""


def program(name: str) -> Path:
    """The program in the folder NAME, whose modules are all pinned there."""
    tool = _go()

    def build(target: Path) -> None:
        _run(tool, "build", *_OPTIONS, "-o", target, ".", cwd=SOURCES / name, settings=_NATIVE)

    return build_cache.built(build_cache.folder("peers"), name, "", _ingredients(tool, name, "report"), build)


def guest(name: str) -> Path:
    """The guest in the folder guest/NAME, for any host of the classic ABI; it needs no modules."""
    tool = _go()

    def build(target: Path) -> None:
        command = ("build", "-buildmode=c-shared", *_OPTIONS, "-o", target, ".")
        _run(tool, *command, cwd=SOURCES / "guest" / name, settings=_WASM)

    ingredients = _ingredients(tool, f"guest/{name}")
    return build_cache.built(build_cache.folder("peers"), f"guest-{name}", ".wasm", ingredients, build)


def program_with(name: str, module: str, release: str, replacement: Path | None = None) -> Path:
    """The program in the folder NAME, which needs that release of a module; or a replacement of it, on disk."""
    tool = _go()

    def build(target: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="kubewasp-peer-") as scratch:
            folder = Path(scratch) / name
            shutil.copytree(SOURCES / name, folder)
            edits = [f"-replace={_REPORT}={SOURCES / 'report'}"]
            if replacement is None:
                edits.append(f"-require={module}@{_download(tool, module, release)['Version']}")
            else:
                edits += [f"-require={module}@v0.0.0", f"-replace={module}={replacement.resolve()}"]
            settings = _NATIVE | {"GOFLAGS": "-mod=mod"}
            _run(tool, "mod", "edit", *edits, cwd=folder, settings=settings)
            _run(tool, "mod", "tidy", cwd=folder, settings=settings)
            _run(tool, "build", *_OPTIONS, "-o", target, ".", cwd=folder, settings=settings)

    replaced = [] if replacement is None else list(build_cache.contents(replacement))
    ingredients = [*_ingredients(tool, name, "report"), module.encode(), release.encode(), *replaced]
    return build_cache.built(build_cache.folder("peers"), name, "", ingredients, build)


def published(module: str, release: str, path: str) -> Path:
    """A guest that others have built and published, as a file of a Go module."""
    tool = _go()

    def fetch(target: Path) -> None:
        found = Path(_download(tool, module, release)["Dir"], path)
        if not found.is_file():
            raise UnavailableError(f"{module}@{release} has no file {path}")
        shutil.copyfile(found, target)

    ingredients = [text.encode() for text in (module, release, path)]
    return build_cache.built(build_cache.folder("peers"), "published", ".wasm", ingredients, fetch)


def _go() -> go.Go:
    try:
        return go.find()
    except BuildError as error:
        raise UnavailableError(shortened(str(error))) from None


def _ingredients(tool: go.Go, *folders: str) -> Iterator[bytes]:
    yield tool.text.encode()
    for folder in folders:
        yield from build_cache.contents(SOURCES / folder)


def _download(tool: go.Go, module: str, release: str) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="kubewasp-peer-") as folder:
        Path(folder, "go.mod").write_text("module fetch\n")
        said = _run(tool, "mod", "download", "-json", f"{module}@{release}", cwd=Path(folder), settings=_NATIVE)
    found: dict[str, str] = json.loads(said)
    return found


def _run(tool: go.Go, *arguments: str | Path, cwd: Path, settings: Mapping[str, str]) -> str:
    done = subprocess.run(
        [tool.command, *arguments],
        cwd=cwd,
        env={**os.environ, **_SETTINGS, **settings},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise UnavailableError(f"the Go tool said: {shortened(_complaint(done.stdout, done.stderr, arguments))}")
    return done.stdout


def _complaint(output: str, errors: str, arguments: Sequence[str | Path]) -> str:
    if "-json" in arguments:  # it complains there, not on stderr
        try:
            return str(json.loads(output)["Error"])
        except (ValueError, KeyError):
            pass
    lines = [line for line in errors.splitlines() if not line.startswith(("go: downloading ", "go: finding "))]
    return "\n".join(lines) or "nothing, but it failed"


def shortened(text: str) -> str:
    """A complaint in one line, without what only this machine and its network are called."""
    line = "; ".join(part.strip() for part in text.splitlines() if part.strip())
    for pattern, stand_in in _PLACES:
        line = pattern.sub(stand_in, line)
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
