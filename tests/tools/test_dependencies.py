"""Dependencies of the lock files: licences, unused packages, bill of materials."""

import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kubewasp import __version__
from tools import dependencies
from tools.dependencies import is_allowed, licence, locked, problems, required, sbom, unused

HASH = "a" * 64
PROJECT = {
    "project": {"dependencies": ["web>=1"], "license": "Apache-2.0"},
    "dependency-groups": {"build": ["builder"], "dev": [{"include-group": "build"}, "tester"]},
}


class Metadata(dict[str, str]):
    def get_all(self, name: str) -> list[str]:
        return []


def installed(**packages: list[str]) -> Any:
    """Packages of version 1 under MIT, with their requirements."""

    def distribution(name: str) -> Any:
        if name not in packages:
            raise PackageNotFoundError(name)
        metadata = Metadata({"License-Expression": "GPL-3.0-only" if name == "viral" else "MIT"})
        return SimpleNamespace(version="1", requires=packages[name], metadata=metadata)

    return distribution


def lock(*entries: str) -> str:
    return "".join(f"{entry} \\\n    --hash=sha256:{HASH}\n" for entry in entries)


def found(text: str, metadata: Any) -> list[str]:
    return list(problems("requirements.lock", text, PROJECT, metadata))


def test_the_packages_of_other_platforms_are_left_out() -> None:
    text = lock("Web.Kit==1", "colour==2 ; sys_platform == 'win32'", "thing==3 ; python_version >= '3.11'")
    assert {name: (item.version, item.hashes) for name, item in locked(text).items()} == {
        "web-kit": ("1", (HASH,)),
        "thing": ("3", (HASH,)),
    }


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0-only OR MIT", True),
        ("MPL-2.0 AND (Apache-2.0 OR GPL-2.0-only)", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only", False),
        ("", False),
        ("(MIT", False),
        ("MIT MIT", False),
        ("__import__('os')", False),
    ],
)
def test_a_licence_is_allowed_if_one_choice_is(expression: str, expected: bool) -> None:
    assert is_allowed(expression) is expected


@pytest.mark.parametrize(
    ("metadata", "classifiers", "expected"),
    [
        ({"License-Expression": "MIT"}, ["License :: OSI Approved :: BSD License"], "MIT"),
        ({"License": "3-Clause BSD License"}, [], "BSD-3-Clause"),
        ({"License": "long text\nof a licence"}, ["License :: OSI Approved :: MIT License"], "MIT"),
        ({"License": "Ours\nall rights"}, [], "Ours"),
        ({}, ["License :: Other/Proprietary License"], "Other/Proprietary License"),
        ({}, [], ""),
    ],
)
def test_a_licence_is_found_in_old_and_new_metadata(metadata: Any, classifiers: list[str], expected: str) -> None:
    assert licence(metadata, classifiers) == expected


def test_requirements_are_followed_with_their_extras_and_markers() -> None:
    metadata = installed(
        web=["core[fast]>=2", "windows ; sys_platform == 'win32'", "extra ; extra == 'more'"],
        core=["speed ; extra == 'fast'", "slow ; extra == 'other'"],
        speed=[],
    )
    assert required(["web"], metadata) == {"core": ["speed"], "speed": [], "web": ["core"]}


def test_a_lock_file_that_fits_has_no_problem() -> None:
    assert found(lock("web==1", "core==1", "builder==1"), installed(web=["core"], core=[], builder=[])) == []


def test_unused_missing_other_and_viral_packages_are_problems() -> None:
    text = lock("web==1", "builder==2", "unused==1", "viral==1", "absent==1")
    metadata = installed(web=["core", "viral"], core=[], builder=[], unused=[], viral=[])
    assert found(text, metadata) == [
        "requirements.lock: builder 2 is locked, 1 is installed",
        "requirements.lock: viral: the licence 'GPL-3.0-only' is not allowed (tools/dependencies.py)",
        "requirements.lock: absent is not installed; run `make .venv/.dev` (or `make docs`)",
        "requirements.lock: nothing requires absent; run `make lock`",
        "requirements.lock: nothing requires unused; run `make lock`",
        "requirements.lock: core is required but not locked; run `make lock`",
    ]


def test_a_direct_dependency_that_no_module_imports_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("from numpy import array\n")
    project = {"project": {"dependencies": ["numpy>=2", "orjson", "httptools"]}}
    assert list(unused(project, tmp_path)) == ["pyproject.toml: no module imports orjson"]


def test_the_bill_of_materials_has_what_an_installation_has() -> None:
    text = lock("web==1", "core==1", "builder==1")
    metadata = installed(web=["core"], core=[], builder=[])
    document = sbom(text, PROJECT, metadata)
    assert document == sbom(text, PROJECT, metadata), "the same for the same inputs"
    assert (document["bomFormat"], document["specVersion"], document["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", document["serialNumber"])
    assert document["metadata"]["component"]["version"] == __version__
    assert [(item["purl"], item["licenses"]) for item in document["components"]] == [
        ("pkg:pypi/core@1", [{"expression": "MIT"}]),
        ("pkg:pypi/web@1", [{"expression": "MIT"}]),
    ]
    assert document["dependencies"] == [
        {"ref": f"pkg:pypi/kubewasp@{__version__}", "dependsOn": ["pkg:pypi/web@1"]},
        {"ref": "pkg:pypi/core@1", "dependsOn": []},
        {"ref": "pkg:pypi/web@1", "dependsOn": ["pkg:pypi/core@1"]},
    ]


def test_our_lock_files_are_fine(tmp_path: Path) -> None:
    target = tmp_path / "new" / "sbom.json"
    command = [sys.executable, "-m", "tools.dependencies", "--sbom", str(target)]
    ended = subprocess.run(command, cwd=dependencies.ROOT, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    names = [item["name"] for item in json.loads(target.read_text())["components"]]
    assert {"wasmtime", "numpy"} <= set(names)
    assert "hatchling" not in names
