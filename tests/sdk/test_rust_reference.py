"""docs/sdk-rust.md: a complete reference. The names are those of the sources; tests/e2e compiles the page."""

import re
from pathlib import Path

import pytest

from kubewasp.wasm.hooks import HOOKS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "sdk-rust.md").read_text(encoding="utf-8")
SOURCES = ROOT / "sdk" / "rust" / "src"


def source(name: str) -> str:
    return (SOURCES / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", re.findall(r"^pub trait (\w+): Plugin", source("hooks.rs"), re.MULTILINE))
def test_the_page_has_every_extension_point(name: str) -> None:
    assert f"`{name}`" in TEXT


@pytest.mark.parametrize(
    "name",
    [
        name
        for file in ("config.rs", "nodes.rs", "signature.rs", "time.rs")
        for name in re.findall(r"^pub fn (\w+)", source(file), re.MULTILINE)
    ],
)
def test_the_page_has_every_function(name: str) -> None:
    assert f"`{name}(" in TEXT


def test_hooks_have_the_numbers_of_the_host() -> None:
    numbers = re.findall(r"^        (\d+) (\w+) (?:\(\)|i32|i64), \|", source("guest.rs"), re.MULTILINE)
    listed = [name for _, name in sorted((int(number), name) for number, name in numbers)]
    assert listed == re.findall(r'"(\w+)"', source("testing/cycle.rs").split("const HOOKS")[1].split("];")[0])
    assert listed == list(HOOKS)
