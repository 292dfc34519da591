"""Guests of the benchmark policies, built once; a file name carries a hash of sources and tools."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wasmtime import wat2wasm

from kubewasp.errors import KubewaspError
from kubewasp.projects import build_cache, c, go, javascript, node, python, rust, tinygo, toolchain
from tests.guests import build as test_guests
from tools.bench.policies.policy_list import SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kubewasp.projects.toolchain import Toolchain

TINYGO: Final = "tinygo"
# Folder of guests built elsewhere, POLICY.wasm; also for worker processes.
_TINYGO_GUESTS: Final = "KUBEWASP_BENCH_TINYGO_GUESTS"
# Toolchain and SDK folders of each language.
_TOOLCHAINS: Final[dict[str, tuple[Toolchain, tuple[str, ...]]]] = {
    "go": (go, ("go",)),
    TINYGO: (tinygo, ("go",)),
    "rust": (rust, ("rust",)),
    "c": (c, ("c",)),
    "python": (python, ("python", "wit")),
    "javascript": (javascript.JAVASCRIPT, ("javascript", "wit")),
    "typescript": (javascript.TYPESCRIPT, ("javascript", "wit")),
}
_INCLUDE: Final = re.compile(r"^[ ]*;;@include (\S+)$", re.MULTILINE)


class Unavailable(Exception):  # noqa: N818 - a fact of this machine
    """Something that cannot be measured on this machine, with the reason."""


def guest(policy: str, language: str) -> Path:
    """The wasm file of a policy; Unavailable where its toolchain is missing."""
    if language == "wat":
        return _assembled(policy)
    if language == TINYGO and (given := given_tinygo_guest(policy)):
        return given
    return project(SOURCES / f"{policy}-{'go' if language == TINYGO else language}", language)


def use_tinygo_guests(folder: Path | None) -> None:
    """TinyGo guests are those of the folder, in this process and its children."""
    if folder is None:
        return
    if not any(folder.glob("*.wasm")):
        raise KubewaspError(f"{folder}: no *.wasm; a folder with guests that TinyGo built is required, POLICY.wasm")
    os.environ[_TINYGO_GUESTS] = str(folder.resolve())


def given_tinygo_guest(policy: str) -> Path | None:
    """The file in the folder of TinyGo's guests, if there is one; Unavailable if it lacks the policy."""
    folder = os.environ.get(_TINYGO_GUESTS)
    if not folder:
        return None
    path = Path(folder) / f"{policy}.wasm"
    if not path.is_file():
        raise Unavailable(f"{path}: no such file")
    return path


def has_tinygo() -> bool:
    """Whether guests of TinyGo can be had."""
    return bool(os.environ.get(_TINYGO_GUESTS)) or shutil.which("tinygo") is not None


def project(folder: Path, language: str) -> Path:
    """The wasm file of a plugin project, built as by `kubewasp plugin build`; Unavailable without its toolchain."""
    try:
        return _project(folder, language)
    except toolchain.BuildError as error:
        raise Unavailable(str(error)) from None


def text(policy: str) -> str:
    """A policy in WebAssembly text, with its includes."""
    source = (SOURCES / f"{policy}.wat").read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda match: (SOURCES / match[1]).read_text(encoding="utf-8"), source)


def assembled(name: str, source: str) -> Path:
    """A guest from its text."""
    ingredients = [version("wasmtime").encode(), source.encode()]
    return _built(name, ingredients, lambda target: _write(target, bytes(wat2wasm(source))))


def _assembled(policy: str) -> Path:
    return assembled(f"{policy}-wat", text(policy))


def _project(folder: Path, language: str) -> Path:
    compiler, parts = _TOOLCHAINS[language]
    tool = _version(folder, language)
    sdks = [content for part in parts for content in build_cache.contents(toolchain.sdk(part))]
    sources = build_cache.contents(folder, without=(".md", ".yaml"))

    def build_copy(target: Path) -> None:
        # Crates are compiled once for all projects.
        shared = test_guests.rust_build_folder() if language == "rust" else nullcontext()
        with tempfile.TemporaryDirectory() as scratch, shared:  # a build leaves files
            copy = Path(scratch) / folder.name
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(*build_cache.PRODUCTS, "target"))
            compiler.build(copy.resolve(), target)

    name = folder.name if folder.name.endswith(language) else f"{folder.name}-{language}"
    return _built(name, [tool.encode(), *sdks, *sources], build_copy)


def _version(folder: Path, language: str) -> str:
    """The version of the toolchain; raises BuildError where it is missing."""
    if language == "go":
        return go.find().text
    if language == TINYGO:
        return str(tinygo.find())
    if language == "rust":
        return _rust(folder)
    if language == "c":
        return c.find().version
    if language == "python":
        return _componentize()
    return f"{node.find().version} {node.lock_digest()}"


def _rust(folder: Path) -> str:
    """With the target of guests, which a new machine lacks."""
    try:
        return rust.find(folder).text
    except toolchain.BuildError:
        if shutil.which("rustup") is None:
            raise
        try:
            test_guests.rust_target()
        except RuntimeError as error:
            raise toolchain.BuildError(str(error)) from None
        return rust.find(folder).text


def _componentize() -> str:
    try:
        return version(python.TOOL)
    except PackageNotFoundError:  # the command may exist all the same; the build checks
        return ""


def _built(name: str, ingredients: Iterable[bytes], build: Callable[[Path], None]) -> Path:
    return build_cache.built(build_cache.folder("bench"), name, ".wasm", ingredients, build)


def _write(target: Path, content: bytes) -> None:
    target.write_bytes(content)
