"""Guests of the example policy nodenumber in every language, and a check of their answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.wasm.guest import Guest
from tests.guests import build
from tools.bench import guests
from tools.bench.forms.form import FormError
from tools.bench.guests import TINYGO, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

_PLUGINS: Final = build.ROOT / "examples" / "plugins"
SOURCES: Final = Path(__file__).parent / "sources"
# Nodes with this number are rejected, with a reason: one in ten.
CONFIG: Final = {"reserved": 4}


@dataclass(frozen=True, slots=True)
class Example:
    """The policy in one language. Source and toolchain are for the table."""

    name: str
    toolchain: str
    wasm: Callable[[], Path]


def _project(language: str) -> Callable[[], Path]:
    return lambda: guests.project(_PLUGINS / f"nodenumber-{language}", language)


def _own(name: str, language: str) -> Callable[[], Path]:
    return lambda: guests.project(SOURCES / name, language)


def _compiled(compiler: Callable[[Path], Path], source: Path) -> Callable[[], Path]:
    """A guest without a project; npm or zig may be missing."""

    def made() -> Path:
        try:
            return compiler(source)
        except (RuntimeError, OSError) as error:
            raise Unavailable(str(error)) from None

    return made


def _tinygo() -> Path:
    given = guests.given_tinygo_guest("nodenumber")
    return given or guests.project(_PLUGINS / "nodenumber-go", TINYGO)


_ASSEMBLYSCRIPT: Final = build.ROOT / "tests" / "e2e" / "guests" / "assemblyscript" / "nodenumber.ts"
EXAMPLES: Final = {
    "go": Example("Go", "Go", _project("go")),
    TINYGO: Example("Go (TinyGo)", "TinyGo", _tinygo),
    "rust": Example("Rust", "Cargo", _project("rust")),
    "rust-tiny": Example("Rust, `no_std`", "Cargo", _own("nodenumber-tiny", "rust")),
    "c": Example("C", "zig cc", _project("c")),
    "zig": Example("Zig", "zig", _compiled(build.zig_guest, build.EXAMPLES / "nodenumber.zig")),
    "assemblyscript": Example("AssemblyScript", "asc", _compiled(build.assemblyscript_guest, _ASSEMBLYSCRIPT)),
    "python": Example("Python", "componentize-py", _project("python")),
    "javascript": Example("JavaScript", "componentize-js", _project("javascript")),
    "typescript": Example("TypeScript", "componentize-js", _own("nodenumber-typescript", "typescript")),
}


def check(language: str, wasm: Path) -> None:
    """FormError where the guest has other answers than the policy: wrong ones may be cheap."""
    guest = Guest.load(wasm, config=json.dumps(CONFIG))
    nodes = [*(f"node-{number}" for number in range(25)), "spare"]
    reserved = str(CONFIG["reserved"])
    rejections = {node: f"node number {reserved} is reserved" for node in nodes if node[-1] == reserved}
    for pod in ("web-3", "web-13", "web-4", "web"):
        found = guest.evaluate({"metadata": {"name": pod}}, [{"metadata": {"name": node}} for node in nodes])
        answers = {node: status.reason for node, status in found.rejected.items()} | found.scores
        scores = {node: 10 if node[-1] == pod[-1] and pod[-1].isdecimal() else 0 for node in nodes}
        if answers != scores | rejections:
            raise FormError(f"nodenumber, {language}, pod {pod}: {answers} instead of {scores | rejections}")
