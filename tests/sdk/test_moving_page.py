"""docs/moving.md: the plugin of the page compiles, and all names of the Go SDK exist."""

import re
import subprocess
from pathlib import Path

from kubewasp.projects import go, project, toolchain
from tests.sdk.test_go_core import MOD

TEXT = (Path(__file__).parents[2] / "docs" / "moving.md").read_text(encoding="utf-8")


def documented(package: str) -> str:
    command = [go.find().command, "doc", "-all", package]
    return subprocess.run(command, cwd=toolchain.sdk("go"), capture_output=True, text=True, check=True).stdout


def test_the_plugin_of_the_page_can_be_built(tmp_path: Path) -> None:
    (code,) = re.findall(r"^```go\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    (tmp_path / "go.mod").write_text(MOD)
    (tmp_path / "main.go").write_text(code)
    assert project.build(project.find(tmp_path)).hooks == ("filter",)


def test_every_name_of_the_sdk_exists() -> None:
    said = documented(".")
    names = set(re.findall(r"\bkubewasp\.([A-Z]\w+)", TEXT))
    assert len(names) > 30
    for name in names:
        assert re.search(rf"^\s*(type|func|const|var)?\s*{name}\b", said, re.MULTILINE), name
    for name in set(re.findall(r"\bhandle\.([A-Z]\w+)\(", TEXT)):
        assert re.search(rf"^func \(h \*Handle\) {name}\(", said, re.MULTILINE), name
    for name in set(re.findall(r"\bcore\.([A-Z]\w+)\(", TEXT)):
        assert re.search(rf"^func {name}\(", documented("./core"), re.MULTILINE), name


def test_every_package_is_listed() -> None:
    packages = (
        *("plugin", "enqueue", "prefilter", "prefilterextensions", "filter", "postfilter", "prescore", "score"),
        *("scoreextensions", "reserve", "permit", "prebind", "bind", "postbind"),
    )
    rows = [line.split("|")[1] for line in TEXT.splitlines() if line.startswith("|")]
    for package in packages:
        assert any(f"`{package}`" in row for row in rows), package
    for name in ("handle.", "klog.", "config.", "sharedlister.", "eventrecorder.", "proto.", "api."):
        assert any(f"`{name}" in row for row in rows), name
