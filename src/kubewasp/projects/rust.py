"""Rust toolchain: discovery of Cargo, compilation to a guest, native tests.

The SDK ships with kubewasp and is not published: a project's Cargo.toml has it under `.kubewasp`, a link of this
machine. Cargo downloads the other crates of a project, the first time.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.projects import project_links, rust_tests, toolchain
from kubewasp.projects.toolchain import BuildError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence

    from kubewasp.projects.toolchain import TestResult

OLDEST: Final = (1, 85)
TARGET: Final = "wasm32-wasip1"
_MANIFEST: Final = "Cargo.toml"
_LINK: Final = ".kubewasp/kubewasp-sdk"
_VERSION: Final = re.compile(r"\bcargo (\d+)\.(\d+)")
_ANYTHING: Final = re.compile(r"")
_BUILD: Final = ("build", "--lib", "--release", "--target", TARGET, "--message-format=json-render-diagnostics")
# Builds and tests are independent of the user's flags and targets; the terminal is ours.
_SETTINGS: Final = {
    "CARGO_TERM_COLOR": "never",
    "CARGO_TERM_PROGRESS_WHEN": "never",
    "CARGO_TERM_QUIET": "false",
    **dict.fromkeys(("RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET", "CARGO_ENCODED_RUSTFLAGS")),
}
# Lines of Cargo about its own work, before the words of the compiler.
_CHATTER: Final = re.compile(
    r"^ *(Adding|Blocking|Compiling|Downloaded|Downloading|Finished|Fresh|Locking|Running|Updating|Executable) .*\n?",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Rust:
    """A Cargo command of a supported version, and its compiler."""

    command: str
    compiler: str
    text: str


def name_of(folder: Path) -> str:
    """`package.name` of Cargo.toml."""
    path = folder / _MANIFEST
    try:
        name = tomllib.loads(path.read_text(encoding="utf-8")).get("package", {}).get("name")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, AttributeError) as error:
        raise BuildError(f"{path}: {error}") from None
    if not isinstance(name, str):
        raise BuildError(f"{path}: no package.name")
    return name


def find(project: Path) -> Rust:
    """Cargo of the PATH, else of rustup's folder, with the target of guests. A project may choose its toolchain."""
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo") / "bin" / "cargo"
    command = shutil.which("cargo") or (str(home) if os.access(home, os.X_OK) else None)
    if command is None:
        raise BuildError(
            f"Rust plugins require Rust {_shown(OLDEST)} or newer (found: no cargo on the PATH); install it from "
            f"https://rustup.rs, then `rustup target add {TARGET}`"
        )
    return _probe(command, project)


@functools.cache
def _probe(command: str, project: Path) -> Rust:
    said = _said([command, "--version"], project)
    number = _VERSION.search(said)
    if number is None or (int(number[1]), int(number[2])) < OLDEST:
        raise BuildError(
            f"Rust plugins require Rust {_shown(OLDEST)} or newer, but {command} is {said or 'unknown'}; "
            "run `rustup update`"
        )
    beside = Path(command).with_name("rustc")
    compiler = os.environ.get("RUSTC") or (str(beside) if beside.is_file() else "rustc")
    library = _said([compiler, "--print", "target-libdir", "--target", TARGET], project)
    if not any(Path(library).glob("libcore-*")):
        advice = (
            f"`rustup target add {TARGET}`"
            if shutil.which("rustup")
            else "install Rust from https://rustup.rs, which has it"
        )
        raise BuildError(f"{compiler} lacks the target {TARGET}, required for Rust plugins: {advice}")
    return Rust(command, compiler, f"{said} {_said([compiler, '--version'], project)}")


def _said(command: Sequence[str], folder: Path) -> str:
    found = toolchain.probe(command, _ANYTHING, cwd=folder, env=_SETTINGS)
    if isinstance(found, str):
        raise BuildError(f"{command[0]}: {found}")
    return found.string


def build(project: Path, target: Path) -> None:
    """Compiles the project to a guest. Builds are reproducible: same sources, lock and Rust, same bytes anywhere."""
    rust = _prepared(project)
    _check_registered(project)
    environment = {"CARGO_ENCODED_RUSTFLAGS": "\x1f".join(_remapped(project))}
    # Without a lock, or with one that Cargo.toml has outgrown, Cargo writes it.
    locked = (project / "Cargo.lock").is_file()
    done = _cargo(rust, project, [*_BUILD, *(["--locked"] if locked else [])], environment)
    if done.returncode and locked and "--locked" in done.stderr:
        done = _cargo(rust, project, _BUILD, environment)
    if done.returncode:
        raise BuildError(f"Rust compiler errors:\n{_errors(done.stderr)}")
    made = _artifact(done.stdout, project)
    if made is None:
        raise BuildError(f'{project / _MANIFEST}: a plugin needs `crate-type = ["cdylib", "lib"]` under [lib]')
    shutil.copyfile(made, target)


def test(project: Path) -> Sequence[TestResult]:
    """Runs `cargo test` natively. Tests that do not compile are a BuildError."""
    rust = _prepared(project)
    done = _cargo(rust, project, ["test", "--no-fail-fast"], {"RUST_BACKTRACE": "0"})
    results = rust_tests.results(done.stdout, _errors(done.stderr) if done.returncode else "")
    if done.returncode and not results:
        raise BuildError(f"Rust compiler errors:\n{_errors(done.stderr)}")
    return results


def link(project: Path) -> None:
    """Links the SDK into the folder `.kubewasp` of a project whose Cargo.toml has it there."""
    with suppress(OSError, BuildError):
        _link(project)


def _link(project: Path) -> None:
    if _LINK in (project / _MANIFEST).read_text(encoding="utf-8", errors="replace"):
        project_links.point(project / _LINK, toolchain.sdk("rust").resolve())


def _prepared(project: Path) -> Rust:
    if not (project / _MANIFEST).is_file():
        raise BuildError(f"{project} is not a Rust project: no {_MANIFEST}")
    rust = find(project)
    try:
        _link(project)
    except OSError as error:
        raise BuildError(f"{project / _LINK} cannot be written, the SDK of this machine: {error.strerror}") from None
    return rust


def _check_registered(project: Path) -> None:
    """A BuildError for a plugin with the SDK whose type is not registered: its guest would have no hooks."""
    if _LINK not in (project / _MANIFEST).read_text(encoding="utf-8", errors="replace"):
        return
    sources = [path for path in sorted(project.glob("src/**/*.rs")) if path.is_file()]
    if sources and not any("register!" in path.read_text(encoding="utf-8", errors="replace") for path in sources):
        raise BuildError(
            f"{project / 'src'}: no plugin is registered; write `register!(TYPE);` for a type that is a Plugin"
        )


def _cargo(
    rust: Rust, project: Path, arguments: Sequence[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return toolchain.captured([rust.command, *arguments], cwd=project, env={**_SETTINGS, **environment})


def _remapped(project: Path) -> list[str]:
    """Flags that take the folders of this machine out of the guest. The last one that matches counts."""
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    folders = {home: "/cargo", project: "/plugin", toolchain.sdk("rust").resolve(): "/sdk"}
    return [f"--remap-path-prefix={folder}={name}" for folder, name in folders.items()]


def _artifact(messages: str, project: Path) -> Path | None:
    """The wasm of the project among the messages of Cargo."""
    found = None
    for line in messages.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if not isinstance(message, dict) or message.get("reason") != "compiler-artifact":
            continue
        if Path(message.get("manifest_path", "")) == project / _MANIFEST:
            files = [Path(name) for name in message.get("filenames", []) if name.endswith(".wasm")]
            found = files[-1] if files else found
    return found


def _errors(text: str) -> str:
    return _CHATTER.sub("", text).strip() or "exit without a message"


def _shown(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
