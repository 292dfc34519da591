"""Plugin project on disk: its language, its name, its build."""

from __future__ import annotations

import re
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.projects import build_stamp, c, go, javascript, project_links, python, rust
from kubewasp.projects.toolchain import BuildError
from kubewasp.wasm.errors import GuestLoadError, GuestStartError
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_module import load_guest_module
from kubewasp.wasm.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubewasp.projects.toolchain import TestResult, Toolchain
    from kubewasp.wasm.guest_module import GuestModule

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_GO_MODULE: Final = re.compile(r'^module\s+"?([^\s"]+)"?\s*(?://.*)?$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Language:
    """A plugin language. Each of its `marks` is a file that identifies a project in it."""

    name: str
    label: str
    marks: tuple[str, ...]
    toolchain: Toolchain
    name_of: Callable[[Path], str]


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with a plugin."""

    folder: Path
    name: str
    language: Language

    @property
    def wasm_name(self) -> str:
        return f"{self.name}.wasm"

    @property
    def wasm(self) -> Path:
        """Default output file of the build."""
        return self.folder / "build" / self.wasm_name


@dataclass(frozen=True, slots=True)
class Built:
    """A built plugin. A plugin that does not start has no `guest`; `problem` is the error of its start.

    `needs_config`: the plugin itself refuses to start without a configuration.
    """

    path: Path
    program: GuestModule
    guest: Guest | None
    problem: str
    seconds: float
    needs_config: bool = False

    @property
    def hooks(self) -> tuple[str, ...]:
        """Implemented hooks, as declared by the plugin."""
        return () if self.guest is None else self.guest.hooks


def _go_name(folder: Path) -> str:
    """Last element of the module path, without a version suffix."""
    match = _GO_MODULE.search(_content(folder / "go.mod"))
    if match is None:
        raise BuildError(f"{folder / 'go.mod'}: no line `module PATH`")
    parts = [part for part in match[1].split("/") if not re.fullmatch(r"v\d+", part)]
    return parts[-1] if parts else match[1]


def _python_name(folder: Path) -> str:
    """`project.name` of pyproject.toml, else the name of the folder."""
    path = folder / "pyproject.toml"
    if not path.exists():
        return folder.resolve().name
    try:
        name = tomllib.loads(_content(path)).get("project", {}).get("name")
    except (tomllib.TOMLDecodeError, AttributeError) as error:
        raise BuildError(f"{path}: {error}") from None
    return name if isinstance(name, str) else folder.resolve().name


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BuildError(f"{path}: cannot be read: {error}") from None


LANGUAGES: Final = (
    Language("go", "Go", ("go.mod",), go, _go_name),
    Language("python", "Python", ("plugin.py", "pyproject.toml"), python, _python_name),
    Language("rust", "Rust", ("Cargo.toml",), rust, rust.name_of),
    Language("javascript", "JavaScript", javascript.JAVASCRIPT.entries, javascript.JAVASCRIPT, javascript.name_of),
    Language("typescript", "TypeScript", javascript.TYPESCRIPT.entries, javascript.TYPESCRIPT, javascript.name_of),
    Language("c", "C", (c.MAIN,), c, c.name_of),
)


def find(folder: Path) -> Project:
    """The project in a folder."""
    if not folder.is_dir():
        raise BuildError(f"no such folder: {folder}")
    found = [language for language in LANGUAGES if any((folder / mark).exists() for mark in language.marks)]
    if not found:
        marks = " nor ".join(f"{' or '.join(item.marks)} ({item.label})" for item in LANGUAGES)
        raise BuildError(
            f"{folder} is not a plugin project: it has neither {marks}; `kubewasp plugin new NAME` creates one"
        )
    if len(found) > 1:
        marks = ", ".join(mark for item in found for mark in item.marks if (folder / mark).exists())
        labels = " and ".join(item.label for item in found)
        raise BuildError(f"{folder} is ambiguous, {labels}: it has {marks}; keep one plugin per folder")
    project_links.check(folder)
    name = found[0].name_of(folder)
    if not _NAME.fullmatch(name):
        raise BuildError(f"{folder}: {name!r} is not a valid plugin name; use letters, digits, '-', '_' and '.'")
    return Project(folder, name, found[0])


def build(project: Project, target: Path | None = None) -> Built:
    """Builds and loads the plugin. A failure leaves an earlier build untouched."""
    began = time.perf_counter()
    target = project.wasm if target is None else target
    folder = target.parent.resolve()  # absolute: tools run in other folders
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as scratch:
            made = Path(scratch) / project.wasm_name
            project.language.toolchain.build(project.folder.resolve(), made)
            program, guest, refusal = _checked(made, project)
            made.replace(target)
        if target == project.wasm:
            build_stamp.write(project.folder, target)
    except OSError as error:
        raise BuildError(f"{target} cannot be written: {error}") from None
    problem, needs_config = ("", False) if refusal is None else (str(refusal), refusal.refused)
    return Built(target, program, guest, problem, time.perf_counter() - began, needs_config)


def is_built(project: Project) -> bool:
    """Whether the default output file is that of the current sources."""
    return build_stamp.is_current(project.folder, project.wasm)


def _checked(wasm: Path, project: Project) -> tuple[GuestModule, Guest | None, GuestStartError | None]:
    """Compiles and starts the plugin. A start error is not a build error: the plugin may require a configuration."""
    limits = Limits()
    try:
        program = load_guest_module(wasm.read_bytes(), limits)
        try:
            return program, Guest(program, name=project.name, limits=limits), None
        except GuestStartError as error:
            return program, None, error
    except GuestLoadError as error:
        raise BuildError(f"{project.wasm_name} was built but cannot be loaded: {error}") from None


def native_tests(project: Project) -> Sequence[TestResult]:
    return project.language.toolchain.test(project.folder.resolve())
