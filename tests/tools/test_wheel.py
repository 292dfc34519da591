"""Contents of the wheel and the source distribution."""

import os
import re
import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling.build import build_sdist, build_wheel

ROOT = Path(__file__).parents[2]


@pytest.fixture
def _in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.usefixtures("_in_root")
def test_the_wheel_has_the_package_and_the_sdks_and_no_tools(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / build_wheel(os.fspath(tmp_path))) as wheel:
        names = wheel.namelist()
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"kubewasp", "kubewasp_sdk"}
    assert {
        "kubewasp/_sdk/go/go.mod",
        "kubewasp/_sdk/rust/src/lib.rs",
        "kubewasp/_sdk/wit/plugin.wit",
        "kubewasp_sdk/py.typed",
    } <= set(names)
    assert not [name for name in names if name.startswith("kubewasp/_sdk/python")]
    assert [name for name in names if re.search(r"/(bench|testbed|tools|plots)/|svg\.py", name)] == []


@pytest.mark.usefixtures("_in_root")
def test_the_source_distribution_has_tools_and_tests(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / build_sdist(os.fspath(tmp_path))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {"tools/bench/cli.py", "tools/bench/counts.json", "tools/testbed/servers.py", "tests/conftest.py"}
    assert not any(name.startswith((".build", ".venv")) for name in names)
