"""Hot-path modules name a guard that CI runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "kubewasp"
GUARD = re.compile(r"HOT PATH \(guard: make (\w+)[^)]*\)")


def header(path: Path) -> str:
    """The docstring of a module, or the first comment lines of WebAssembly text."""
    text = path.read_text(encoding="utf-8")
    found = re.match(r'"""(.*?)"""' if path.suffix == ".py" else r"((?:;;[^\n]*\n)*)", text, re.DOTALL)
    return " ".join(found[1].split()) if found else ""


HOT = [
    path.relative_to(SOURCES).as_posix()
    for path in sorted(SOURCES.rglob("*"))
    if path.suffix in (".py", ".wat") and "HOT PATH" in header(path)
]


def ci_targets() -> set[str]:
    return set(re.findall(r"\bmake (\w+)", (ROOT / ".ci" / "run").read_text(encoding="utf-8")))


def test_there_are_hot_paths_in_every_layer_of_a_cycle() -> None:
    assert {module.partition("/")[0] for module in HOT} >= {"k8s", "state", "framework", "plugins", "scheduler", "wasm"}


@pytest.mark.parametrize("module", HOT)
def test_a_hot_path_names_a_guard_that_ci_runs(module: str) -> None:
    found = GUARD.search(header(SOURCES / module))
    assert found, "write `HOT PATH (guard: make counts).` into its first lines"
    assert found[1] in ci_targets()
    assert f"\n{found[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
