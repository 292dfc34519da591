"""Test guests, built into .build/guests.

A guest's file name carries a hash of its sources and its toolchain: nothing is built twice, nothing stale is used.
Processes may build at the same time. `python -m tests.guests.build` builds all of them.
"""

import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import wasmtime

from kubewasp.projects import build_cache, node, toolchain
from kubewasp.projects import c as c_projects
from kubewasp.projects import go as go_projects
from kubewasp.projects import javascript as javascript_projects
from kubewasp.projects import python as python_projects
from kubewasp.projects import rust as rust_projects
from kubewasp.wasm.guest_module import load_guest_module
from kubewasp.wasm.limits import Limits
from tools import go_builds

SOURCES = Path(__file__).parent
ROOT = SOURCES.parents[1]
EXAMPLES = ROOT / "examples" / "guests"
BUILT = ROOT / ".build" / "guests"


def wat(name: str) -> Path:
    """The guest tests/guests/wat/NAME.wat."""
    return wat_text((SOURCES / "wat" / f"{name}.wat").read_text(), name)


def example(name: str) -> Path:
    """The guest examples/guests/NAME.wat."""
    return wat_text((EXAMPLES / f"{name}.wat").read_text(), f"example-{name}")


def wat_text(text: str, name: str = "inline") -> Path:
    def assemble(target: Path) -> None:
        try:
            target.write_bytes(wasmtime.wat2wasm(text))
        except wasmtime.WasmtimeError as error:
            raise RuntimeError(f"{name}.wat: {error}") from None

    return _built(name, [version("wasmtime").encode(), text.encode()], assemble)


def go_guest(name: str) -> Path:
    """The guest tests/guests/go/NAME, a WASI reactor built by standard Go."""
    return _go(SOURCES / "go" / name, f"go-{name}", go_builds.build_guest)


def go_command(name: str) -> Path:
    """The WASI command tests/guests/wasi/NAME, built by standard Go."""
    return _go(SOURCES / "wasi" / name, f"go-command-{name}", _build_command)


def published(module: str, release: str, checksum: str, path: str) -> Path:
    """A guest published by others as a file of a Go module."""
    go = go_projects.find()

    def fetch(target: Path) -> None:
        go_builds.fetch(go, module, release, path, target, checksum=checksum)

    return _built(f"published-{Path(path).stem}", [module.encode(), checksum.encode(), path.encode()], fetch)


def go_example(folder: Path) -> Path:
    """The WASI command in a folder of the examples, built by standard Go."""
    return _go(folder, f"go-example-{folder.name}", _build_command)


def go_handler(folder: Path, package: str) -> Path:
    """The web handler of a package of the examples, a WASI reactor built by standard Go."""

    def build(go: go_projects.Go, folder: Path, target: Path) -> None:
        go_builds.build_guest(go, folder, target, f"./{package}")

    return _go(folder, f"go-handler-{package}", build)


def python_example(folder: Path) -> Path:
    """The component in a folder of the examples: app.py, for the world `handler` of its wit."""

    def build(target: Path) -> None:
        command: list[str | Path] = [
            Path(sys.executable).parent / "componentize-py",
            "-d",
            "wit",
            "-w",
            "handler",
            "componentize",
            "app",
        ]
        _run([*command, "-o", target], cwd=folder)

    return _built(
        f"python-example-{folder.name}", [version("componentize-py").encode(), *build_cache.contents(folder)], build
    )


def _go(folder: Path, name: str, build: Callable[[go_projects.Go, Path, Path], None]) -> Path:
    go = go_projects.find()
    ingredients = [go.text.encode(), *build_cache.contents(folder)]
    return _built(name, ingredients, lambda target: build(go, folder, target))


def _build_command(go: go_projects.Go, folder: Path, target: Path) -> None:
    go_builds.build_program(go, folder, target, go_builds.WASM)


def project_guest(folder: Path) -> Path:
    """The guest of a plugin project, built as by `kubewasp plugin build`, with the current SDK, and compiled."""
    if (folder / "Cargo.toml").exists():
        return _rust_project(folder)
    language: toolchain.Toolchain
    parts: tuple[str, ...]
    if (folder / c_projects.MAIN).exists():
        language, parts, tool = c_projects, ("c",), c_projects.find().version
    elif (folder / "go.mod").exists():
        language, parts, tool = go_projects, ("go",), go_projects.find().text
    elif (folder / "plugin.py").exists():
        language, parts, tool = python_projects, ("python", "wit"), version("componentize-py")
    else:
        is_typed = (folder / "plugin.ts").exists()
        language = javascript_projects.TYPESCRIPT if is_typed else javascript_projects.JAVASCRIPT
        parts, tool = ("javascript", "wit"), node.tools_digest()
    sources = [content for part in parts for content in build_cache.contents(toolchain.sdk(part))]
    ingredients = [tool.encode(), *sources, *build_cache.contents(folder, without=(".md", ".yaml"))]

    def build(target: Path) -> None:
        language.build(folder, target)
        # Compiled here, under the lock: a component takes ten seconds, and parallel workers would all compile it.
        load_guest_module(target.read_bytes(), Limits())

    return _built(f"project-{folder.name}", ingredients, build)


def _rust_project(folder: Path) -> Path:
    """Projects share a build folder: their crates are compiled once."""
    rust_target()
    ingredients = [rust_projects.find(folder).text.encode(), *build_cache.contents(toolchain.sdk("rust"))]
    ingredients += build_cache.contents(folder, without=(".md", ".yaml"))

    def build(target: Path) -> None:
        with rust_build_folder():
            rust_projects.build(folder, target)
        load_guest_module(target.read_bytes(), Limits())

    return _built(f"project-{folder.name}", ingredients, build)


@contextmanager
def rust_build_folder() -> Iterator[Path]:
    """Cargo's build folder of all tests, used by one process at a time."""
    shared = BUILT.parent / "cargo"
    shared.mkdir(parents=True, exist_ok=True)
    before = os.environ.get("CARGO_TARGET_DIR")
    with build_cache.locked(shared / "tests.lock"):
        os.environ["CARGO_TARGET_DIR"] = str(shared)
        try:
            yield shared
        finally:
            os.environ.pop("CARGO_TARGET_DIR")
            if before is not None:
                os.environ["CARGO_TARGET_DIR"] = before


@functools.cache
def rust_target(target: str = rust_projects.TARGET) -> None:
    """Installs a target of Rust, which a new machine lacks."""
    BUILT.parent.mkdir(exist_ok=True)
    with build_cache.locked(BUILT.parent / "rustup.lock"):
        _run(["rustup", "target", "add", target])


def c_guest(name: str) -> Path:
    """The guest tests/guests/c/NAME.c, freestanding."""
    compiler, compiler_version = _c_compiler()
    options = ["-std=c11", "-ffreestanding", "-fno-builtin", "-nostdlib", "-Wl,--no-entry"]
    return _c(SOURCES / "c" / f"{name}.c", f"c-{name}", [*compiler, *options], compiler_version)


def c_command(source: Path) -> Path:
    """A WASI command in C, with the C library that the package ziglang has."""
    zig = [sys.executable, "-m", "ziglang"]
    return _c(source, f"c-command-{source.stem}", [*zig, "cc", "-target", "wasm32-wasi"], _run([*zig, "version"]))


def c_handler(source: Path) -> Path:
    """A web handler in C, a WASI reactor that exports the allocator, with the options of its folder's memory.h."""
    zig = [sys.executable, "-m", "ziglang"]
    options = ["-mexec-model=reactor", "-Wl,--export=malloc", "-Wl,--export=free"]
    compiler = [*zig, "cc", "-target", "wasm32-wasi", *options]
    edition = _run([*zig, "version"]) + source.with_name("memory.h").read_text(encoding="utf-8")
    return _c(source, f"c-handler-{source.stem}", compiler, edition)


def zig_guest(source: Path) -> Path:
    """A guest in Zig that links the C SDK, built as its first lines say."""
    zig, sdk = c_projects.find(), toolchain.sdk("c")

    def build(target: Path) -> None:
        folder = target.parent / "work"
        folder.mkdir()
        shutil.copy(source, folder)
        wasm = ("-target", "wasm32-freestanding", f"-I{sdk}")
        header = _run([*zig.command, "translate-c", *wasm, "-DKW_DECLARE_ONLY", sdk / "kubewasp.h"])
        (folder / "kubewasp.zig").write_text(header, encoding="utf-8")
        options = ("-O", "ReleaseSmall", "-fno-entry", "-rdynamic", f"-femit-bin={target}")
        _run([*zig.command, "build-exe", source.name, sdk / "kubewasp.c", *wasm, *options], cwd=folder)

    return _built(f"zig-{source.stem}", [zig.version.encode(), source.read_bytes(), *build_cache.contents(sdk)], build)


def assemblyscript_guest(source: Path) -> Path:
    """A guest of the AssemblyScript compiler's default build."""
    compiler = "assemblyscript@0.28.20"

    def build(target: Path) -> None:
        tools = BUILT.parent / "assemblyscript"
        with _npm_tool(tools, compiler):
            asc = tools / "node_modules" / ".bin" / "asc"
            _run([asc, source.name, "-o", target, "--optimize", "--runtime", "minimal"], cwd=source.parent)

    return _built(f"assemblyscript-{source.stem}", [compiler.encode(), source.read_bytes()], build)


@contextmanager
def _npm_tool(tools: Path, package: str) -> Iterator[None]:
    """A package in that folder, installed once, for one process at a time."""
    tools.mkdir(parents=True, exist_ok=True)
    installed = tools / "installed"
    with build_cache.locked(tools / "tests.lock"):
        if not installed.exists() or installed.read_text() != package:
            _run(["npm", "install", "--prefix", tools, "--no-save", "--no-audit", "--no-fund", package])
            installed.write_text(package)
        yield


def rust_handler(folder: Path, name: str) -> Path:
    """A web handler of the examples of a Rust crate."""
    rust_target()
    options = ["--quiet", "--locked", "--release", "--target", rust_projects.TARGET, "--example", name]

    def build(target: Path) -> None:
        with rust_build_folder() as made:
            _run(["cargo", "build", *options], cwd=folder)
            shutil.copyfile(made / rust_projects.TARGET / "release" / "examples" / f"{name}.wasm", target)

    ingredients = [_run(["rustc", "--version"]).encode(), *build_cache.contents(folder)]
    return _built(f"rust-handler-{name}", ingredients, build)


def javascript_example(folder: Path) -> Path:
    """The component in a folder of the examples: app.js, for the world `handler` of its wit."""

    def build(target: Path) -> None:
        componentize = node.tools() / "node_modules" / ".bin" / "componentize-js"
        command: list[str | Path] = [componentize, "app.js", "--wit", "wit", "--world-name", "handler"]
        _run([*command, "--out", target, "--disable", "http", "fetch-event"], cwd=folder)

    ingredients = [node.lock_digest().encode(), *build_cache.contents(folder)]
    return _built(f"javascript-example-{folder.name}", ingredients, build)


def _c(source: Path, name: str, compiler: list[str], compiler_version: str) -> Path:
    def build(target: Path) -> None:
        options = ["-O2", "-Wall", "-Wextra", "-Werror", "-Wl,-s"]
        # The global cache holds wasi-libc, half a minute of compilation, and is the user's, shared by all checkouts.
        cache = {"ZIG_LOCAL_CACHE_DIR": str(BUILT.parent / "zig")}
        _run([*compiler, *options, "-o", target, source], env=os.environ | cache)

    return _built(name, [compiler_version.encode(), source.read_bytes()], build)


def _built(name: str, ingredients: Iterable[bytes], build: Callable[[Path], None]) -> Path:
    return build_cache.built(BUILT, name, ".wasm", ingredients, build)


@functools.cache
def _c_compiler() -> tuple[list[str], str]:
    """A compiler command for wasm32 and what it says its version is: clang with wasm-ld, else the ziglang package."""
    clang = shutil.which("clang")
    if clang and shutil.which("wasm-ld") and "wasm32" in _run([clang, "--print-targets"]):
        return [clang, "--target=wasm32"], _run([clang, "--version"])
    if importlib.util.find_spec("ziglang"):
        zig = [sys.executable, "-m", "ziglang"]
        return [*zig, "cc", "-target", "wasm32-freestanding"], "zig " + _run([*zig, "version"])
    raise RuntimeError("building C guests needs zig (`pip install ziglang`), or clang and wasm-ld on the PATH")


def _run(command: list[str | Path], cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def _all() -> Iterator[tuple[str, Callable[[str], Path], str]]:
    for path in sorted((SOURCES / "wat").glob("*.wat")):
        yield f"wat/{path.stem}", wat, path.stem
    for path in sorted(EXAMPLES.glob("*.wat")):
        yield f"examples/{path.stem}", example, path.stem
    for path in sorted((SOURCES / "c").glob("*.c")):
        yield f"c/{path.stem}", c_guest, path.stem
    for path in sorted((SOURCES / "go").glob("*/go.mod")):
        yield f"go/{path.parent.name}", go_guest, path.parent.name
    for path in sorted((SOURCES / "wasi").glob("*.c")):
        yield f"wasi/{path.name}", lambda name: c_command(SOURCES / "wasi" / f"{name}.c"), path.stem
    for path in sorted((SOURCES / "wasi").glob("*/go.mod")):
        yield f"wasi/{path.parent.name}", go_command, path.parent.name


if __name__ == "__main__":
    for shown, build_one, guest_name in _all():
        start = time.perf_counter()
        size = build_one(guest_name).stat().st_size
        print(f"{shown:28} {size:10,} bytes {(time.perf_counter() - start) * 1e3:8.0f} ms")
