"""Guests of the benchmark policies, built once; a file name carries a hash of sources and tools."""

from __future__ import annotations

import re
import shutil
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wasmtime import wat2wasm

from kubewasp.projects import build_cache, go, python, toolchain
from tools.bench.policies.policy_list import SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LANGUAGES: Final = ("go", "python", "wat")
_INCLUDE: Final = re.compile(r"^[ ]*;;@include (\S+)$", re.MULTILINE)


class Unavailable(Exception):  # noqa: N818 - a fact of this machine
    """Something that cannot be measured on this machine, with the reason."""


def guest(policy: str, language: str) -> Path:
    """The wasm file of a policy; Unavailable where its toolchain is missing."""
    try:
        if language == "wat":
            return _assembled(policy)
        return _project(policy, language)
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


def _project(policy: str, language: str) -> Path:
    folder = SOURCES / f"{policy}-{language}"
    parts: tuple[str, ...]
    if language == "go":
        tool, parts = go.find().text, ("go",)
    else:
        tool, parts = _componentize(), ("python", "wit")
    sdks = [content for part in parts for content in build_cache.contents(toolchain.sdk(part))]
    build = go.build if language == "go" else python.build

    def build_copy(target: Path) -> None:
        with tempfile.TemporaryDirectory() as scratch:  # a build leaves files
            copy = Path(scratch) / folder.name
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("go.work*", "__pycache__"))
            build(copy, target)

    return _built(f"{policy}-{language}", [tool.encode(), *sdks, *build_cache.contents(folder)], build_copy)


def _componentize() -> str:
    try:
        return version(python.TOOL)
    except PackageNotFoundError:  # the command may exist all the same; the build checks
        return ""


def _built(name: str, ingredients: Iterable[bytes], build: Callable[[Path], None]) -> Path:
    return build_cache.built(build_cache.folder("bench"), name, ".wasm", ingredients, build)


def _write(target: Path, content: bytes) -> None:
    target.write_bytes(content)
