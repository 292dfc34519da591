"""docs/sdk-go.md: a plugin that compiles and passes its test, and a complete reference."""

import re
import subprocess
from pathlib import Path

import pytest

from kubewasp.projects import go, toolchain

PAGE = Path(__file__).parents[2] / "docs" / "sdk-go.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_plugin_of_the_page_passes_the_test_of_the_page(tmp_path: Path) -> None:
    plugin, test = re.findall(r"^```go\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    imports = 'import (\n\t"testing"\n\n\t"kubewasp.dev/sdk/kubewasptest"\n)\n'
    (tmp_path / "go.mod").write_text("module page\n\ngo 1.24\n\nrequire kubewasp.dev/sdk v0.0.0\n")
    (tmp_path / "main.go").write_text(plugin)
    (tmp_path / "main_test.go").write_text(f"package main\n\n{imports}\n{test}")
    assert [(result.name, result.failure) for result in go.test(tmp_path)] == [("TestKeepsPodsOffOtherNodes", "")]


def _documented(pattern: str) -> list[str]:
    found = go.find()
    command = [found.command, "doc", "-all", "."]
    said = subprocess.run(command, cwd=toolchain.sdk("go"), capture_output=True, text=True, check=True).stdout
    return re.findall(pattern, said, re.MULTILINE)


@pytest.mark.parametrize("name", _documented(r"^type (\w+) interface"))
def test_the_page_has_every_extension_point(name: str) -> None:
    assert f"`{name}`" in TEXT


@pytest.mark.parametrize("name", _documented(r"^func \(h \*Handle\) (\w+)"))
def test_the_page_has_what_a_plugin_may_ask(name: str) -> None:
    assert f"`{name}`" in TEXT


@pytest.mark.parametrize("name", _documented(r"^func \(i \*NodeInfo\) (\w+)"))
def test_the_page_has_what_a_node_tells(name: str) -> None:
    assert re.search(rf"`{name}(\(\))?`", TEXT)
