"""C toolchain: discovery of zig, compilation to a freestanding guest, native tests. Nothing is downloaded.

The SDK is one header, found by an include path: of calls from here, and for editors of a `compile_flags.txt` in the
project, which clangd reads.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.projects import build_cache, project_links, toolchain
from kubewasp.projects.installation import install_command
from kubewasp.projects.near_names import nearest
from kubewasp.projects.toolchain import BuildError, TestResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAIN: Final = "main.c"
OLDEST: Final = (0, 12)
_FLAGS: Final = "compile_flags.txt"
# First line of our compile_flags.txt: the format has no comments.
_OURS: Final = "-DKUBEWASP_EDITOR_FLAGS"
_TESTS: Final = "_test.c"
_VERSION: Final = re.compile(r"\A(\d+)\.(\d+)")
_LANGUAGE: Final = ("-std=c11", "-Wall", "-Wextra")
# With function names, for stack traces and profiles, and without debug information. Dates would change the bytes.
_GUEST: Final = (
    *("-target", "wasm32-freestanding", "-O2", "-g0", "-ffreestanding", "-nostdlib", "-Werror=date-time"),
    *("-Wl,--no-entry", "-Wl,-z,stack-size=65536"),
)
# Undefined behaviour ends a test with a signal.
_NATIVE: Final = ("-O1", "-g", "-D_GNU_SOURCE", "-fsanitize=undefined", "-fsanitize-trap=undefined")
# Include paths of the user's environment are no part of a project.
_CLEARED: Final = {"CPATH": "", "C_INCLUDE_PATH": "", "LIBRARY_PATH": ""}
# Macros at the begin of a line: hooks and their like. The compiler has a dozen errors for a misspelt one.
_USED: Final = re.compile(r"^(KW_[A-Z_]+)\s*\(", re.MULTILINE)
_DEFINED: Final = re.compile(r"^\s*#\s*define\s+(KW_[A-Z_]+)\(", re.MULTILINE)
_TEST_SECONDS: Final = 300
_RUN: Final = re.compile(r"=== RUN (\w+)")
_END: Final = re.compile(r"--- (PASS|FAIL) (\w+) (\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class Zig:
    """A zig command of a supported version."""

    command: tuple[str, ...]
    version: str


def find() -> Zig:
    """Zig of the package ziglang, else of the PATH."""
    found: list[tuple[str, ...]] = []
    if importlib.util.find_spec("ziglang") is not None:
        found.append((sys.executable, "-m", "ziglang"))
    if on_path := shutil.which("zig"):
        found.append((on_path,))
    seen = []
    for command in found:
        zig = _probe(command)
        if isinstance(zig, Zig):
            return zig
        seen.append(f"{' '.join(command)}: {zig}")
    there = "; ".join(seen) or "none"
    raise BuildError(
        f"C plugins require zig {'.'.join(map(str, OLDEST))} or newer, whose C compiler builds them (found: {there}); "
        f"install it with `{install_command('c')}`"
    )


@functools.cache
def _probe(command: tuple[str, ...]) -> Zig | str:
    """A zig command with its version, or the reason why it is not used."""
    found = toolchain.probe([*command, "version"], _VERSION)
    if isinstance(found, str):
        return found
    is_supported = (int(found[1]), int(found[2])) >= OLDEST
    return Zig(command, found.string) if is_supported else f"version {found.string}"


def name_of(folder: Path) -> str:
    """A C project has no manifest: its name is that of the folder."""
    return folder.resolve().name


def build(project: Path, target: Path) -> None:
    """Compiles all C files but tests to a guest. Builds are reproducible: same sources and same zig, same bytes."""
    sources = [path for path in _sources(project) if not path.endswith(_TESTS)]
    if MAIN not in sources:
        raise BuildError(f"{project} is not a C project: no {MAIN}")
    _check_hooks(project, sources)
    with tempfile.TemporaryDirectory(prefix="kubewasp-c-") as scratch:
        made = Path(scratch) / "guest.wasm"  # always the same: the linker writes the name into the guest
        _compile(project, made, (*_GUEST, *_LANGUAGE), sources)
        shutil.copyfile(made, target)
    link(project)


def test(project: Path) -> list[TestResult]:
    """Compiles each file `*_test.c` to a program and runs it. Tests that do not compile are a BuildError."""
    results: list[TestResult] = []
    with tempfile.TemporaryDirectory(prefix="kubewasp-c-") as scratch:
        for number, source in enumerate(path for path in _sources(project) if path.endswith(_TESTS)):
            program = Path(scratch) / f"test-{number}"
            _compile(project, program, (*_NATIVE, *_LANGUAGE), [source])
            results.extend(_ran(program, project, source))
    link(project)
    return results


def link(project: Path) -> None:
    """Writes the project's `compile_flags.txt` for editors. A user's own file is kept."""
    path = project / _FLAGS
    content = "\n".join((_OURS, *_LANGUAGE, f"-I{toolchain.sdk('c').resolve()}", ""))
    with suppress(OSError, UnicodeDecodeError):  # optional: a read-only folder builds without it
        project_links.write(path, content, ours=_OURS)


def _sources(project: Path) -> Iterator[str]:
    """C files of the project and of its folders, relative and sorted; none of hidden folders and build products."""
    for path in sorted(project.rglob("*.c")):
        relative = path.relative_to(project)
        if not any(part in build_cache.PRODUCTS or part.startswith(".") for part in relative.parts):
            yield relative.as_posix()


def _check_hooks(project: Path, sources: Sequence[str]) -> None:
    """A BuildError for the first macro that is almost named like one of the header."""
    texts = {name: (project / name).read_text(encoding="utf-8", errors="replace") for name in sources}
    header = (toolchain.sdk("c") / "kubewasp.h").read_text(encoding="utf-8")
    hooks = [name for name in _DEFINED.findall(header) if not name.endswith("_")]
    known = {*hooks, *(name for text in texts.values() for name in _DEFINED.findall(text))}
    for name, text in texts.items():
        for used in _USED.finditer(text):
            meant = "" if used[1] in known else nearest(used[1], hooks, aliases={}, fuzzy=True)
            if meant:
                line = text.count("\n", 0, used.start()) + 1
                raise BuildError(f"{name}:{line}: {used[1]} is not a hook; did you mean {meant}?")


def _compile(project: Path, target: Path, options: Sequence[str], sources: Sequence[str]) -> None:
    zig = find()
    cache = build_cache.folder("zig")
    # Relative names of sources, in the project: the bytes do not depend on its place.
    command = [*zig.command, "cc", *options, f"-I{toolchain.sdk('c').resolve()}", "-I.", "-o", str(target), *sources]
    environment = {**_CLEARED, "ZIG_LOCAL_CACHE_DIR": str(cache)}
    toolchain.run_tool(command, cwd=project, env=environment, failed="C compiler errors:")


def _ran(program: Path, project: Path, source: str) -> list[TestResult]:
    try:
        done = toolchain.captured([program], cwd=project, timeout=_TEST_SECONDS)
    except subprocess.TimeoutExpired:
        return [TestResult(source, _TEST_SECONDS, failure=f"the tests took over {_TEST_SECONDS} s")]
    results = _results(done.stdout)
    if done.returncode and not any(result.failure for result in results):
        told = (done.stderr or done.stdout).strip()
        results.append(TestResult(source, failure=told or f"the tests ended with code {done.returncode}"))
    return results


def _results(text: str) -> list[TestResult]:
    """Results in the output of a test program of kubewasp_test.h."""
    results: list[TestResult] = []
    running, output = "", list[str]()
    for line in text.splitlines():
        if begun := _RUN.fullmatch(line):
            running, output = begun[1], []
        elif (ended := _END.fullmatch(line)) and ended[2] == running:
            failure = "" if ended[1] == "PASS" else "\n".join(output).strip("\n") or "the test failed"
            results.append(TestResult(running, float(ended[3]), failure=failure))
            running = ""
        else:
            output.append(line)
    if running:
        results.append(TestResult(running, failure="\n".join(output).strip("\n") or "the test did not finish"))
    return results
