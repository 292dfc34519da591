"""Python toolchain: checks before a build, build failures, and native tests."""

import sys
from pathlib import Path

import pytest

from kubewasp.projects import python, python_checks
from kubewasp.projects.installation import install_command
from kubewasp.projects.toolchain import BuildError, TestResult
from tests.projects.toolchains import fake_tool

PLUGIN = """
from kubewasp_sdk import Plugin


class Mine(Plugin):
    def filter(self, state, pod, node):
        return None
"""
HOOK = "filter = lambda self, state, pod, node: None"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "plugin.py").write_text(PLUGIN)
    return folder


def error(project: Path, source: str | None = None) -> str:
    if source is not None:
        (project / "plugin.py").write_text(source)
    with pytest.raises(BuildError) as raised:
        python_checks.check(project)
    return str(raised.value)


def needed(project: Path, source: str) -> list[str]:
    (project / "plugin.py").write_text(f"{PLUGIN}\n{source}")
    return list(python_checks.check(project).needed)


# ---------------------------------------------------------------------- checks


def test_a_project_needs_a_plugin_file(tmp_path: Path) -> None:
    assert "no plugin.py" in error(tmp_path)


@pytest.mark.parametrize(
    "source",
    [
        PLUGIN,
        f"import kubewasp_sdk\nclass A(kubewasp_sdk.Plugin): {HOOK}",
        f"import kubewasp_sdk as k\nclass A(k.Plugin): {HOOK}",
        f"from kubewasp_sdk import *\nclass A(Plugin): {HOOK}",
        f"from kubewasp_sdk import Plugin as P\nclass A(P): {HOOK}\nclass B(A): pass",
        "from base import Base\nclass A(Base): pass",
        "import base\nclass A(base.Base): pass",
        "from somewhere import Plugin\nclass A(Plugin): pass",
    ],
)
def test_one_class_derives_from_plugin(project: Path, source: str) -> None:
    (project / "base.py").write_text(f"from kubewasp_sdk import Plugin\nclass Base(Plugin): {HOOK}")
    (project / "somewhere.py").write_text("from kubewasp_sdk import Plugin\n")
    (project / "plugin.py").write_text(source)
    python_checks.check(project)


def test_no_plugin_class_is_an_error(project: Path) -> None:
    assert "expected one class that derives from kubewasp_sdk.Plugin, found none" in error(project, "class A: pass")


def test_a_class_without_the_base_is_named(project: Path) -> None:
    source = "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Config: pass\nclass A(object): pass"
    assert error(project, source).endswith("found none; classes without it: Config (line 3), A (line 4)")


def test_other_decorators_may_return_a_plugin(project: Path) -> None:
    (project / "made.py").write_text("def plugin(kind): return kind")
    (project / "plugin.py").write_text("from made import plugin\n@plugin\nclass A: pass")
    python_checks.check(project)


def test_two_plugin_classes_are_an_error_that_names_them(project: Path) -> None:
    source = "from kubewasp_sdk import Plugin\nclass A(Plugin): pass\nclass B(Plugin): pass"
    assert error(project, source).endswith("found 2: A (line 2), B (line 3)")


def test_a_syntax_error_is_shown_as_python_says_it(project: Path) -> None:
    assert error(project, "class A:\n    x = = 1\n") == (
        '  File "plugin.py", line 2\n    x = = 1\n        ^\nSyntaxError: invalid syntax'
    )


def test_a_syntax_error_in_another_module_names_that_module(project: Path) -> None:
    (project / "other.py").write_text("def f(:\n")
    assert 'File "other.py", line 1' in error(project, f"{PLUGIN}\nimport other")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import socket", "import socket: this module does not work in a plugin: plugins have no network"),
        ("import subprocess", "plugins cannot start processes"),
        ("import multiprocessing.pool", "import multiprocessing.pool: this module does not work in a plugin"),
        ("import ctypes", "plugins cannot call native code"),
        ("import ssl", "plugins have no network"),
        ("import asyncio", "write the hooks without async"),
        ("from concurrent.futures import ThreadPoolExecutor", "plugins have no threads"),
        ("from threading import Thread", "plugins have no threads"),
        ("import urllib.request", "plugins have no network"),
        ("from urllib import request", "plugins have no network"),
        ("import sqlite3", "it does not exist in WebAssembly"),
        ("import numpy as np", "import numpy: no such module in the project"),
        ("import yaml", "Pure-Python packages work if they are in the project's folder"),
        ("def f():\n    import socket", "import socket"),
        ("try:\n    pass\nexcept ValueError:\n    import socket", "import socket"),
    ],
)
def test_modules_that_cannot_work_are_named_with_their_line(project: Path, source: str, message: str) -> None:
    line = 9 + source.count("\n")
    found = error(project, f"{PLUGIN}\n{source}\n")
    assert found.startswith(f"plugin.py:{line}: ")
    assert message in found


def test_starting_a_thread_is_an_error_but_a_lock_is_not(project: Path) -> None:
    assert needed(project, "import threading\nlock = threading.Lock()") == ["threading"]
    found = error(project, f"{PLUGIN}\nimport threading\nthreading.Thread(target=print).start()\n")
    assert found.startswith("plugin.py:10: threading.Thread does not work in a plugin")


@pytest.mark.parametrize(
    "source",
    [
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numpy",
        "try:\n    import numpy\nexcept ImportError:\n    numpy = None",
        "import urllib.parse",
        "from __future__ import annotations",
    ],
)
def test_imports_that_need_not_work_are_no_errors(project: Path, source: str) -> None:
    assert "numpy" not in needed(project, source)


def test_imports_are_followed_through_the_projects_own_modules(project: Path) -> None:
    package = project / "prices"
    package.mkdir()
    (package / "__init__.py").write_text("from .zones import ZONES\n")
    (package / "zones.py").write_text("from . import table\nZONES = []\n")
    (package / "table.py").write_text("def load():\n    import statistics\n    import ssl\n")
    found = error(project, f"{PLUGIN}\nfrom prices import ZONES\n")
    assert found.startswith("prices/table.py:3: import ssl")
    (package / "table.py").write_text("def load():\n    import statistics\n    import socket\n")
    assert {"prices", "statistics", "socket"} <= set(needed(project, "from prices import ZONES"))


def test_compiled_modules_in_the_project_are_named(project: Path) -> None:
    (project / "speedup.cpython-311-x86_64-linux-gnu.so").write_bytes(b"\x7fELF")
    found = error(project, f"{PLUGIN}\nimport speedup\n")
    assert "speedup.cpython-311-x86_64-linux-gnu.so is native code for this machine" in found


def test_what_python_imports_late_is_imported_early(project: Path) -> None:
    (project / "plugin.py").write_text(f"{PLUGIN}\ndef f():\n    import datetime\n")
    found = python_checks.check(project)
    assert (list(found.needed), list(found.optional)) == (["datetime"], ["_strptime"])


# ---------------------------------------------------------------------- building


def test_a_missing_tool_is_explained(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match="componentize-py not found, required to build Python plugins") as raised:
        python.build(project, tmp_path / "out.wasm")
    assert str(raised.value).endswith(install_command("python"))


@pytest.mark.parametrize("version", ["componentize-py 0.13.0", "componentize-py 0.26.1", "something else"])
def test_a_tool_of_another_version_is_explained(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    fake_tool(tmp_path, "componentize-py", f"echo {version}")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(BuildError, match="is an unsupported version") as raised:
        python.build(project, tmp_path / "out.wasm")
    assert version in str(raised.value)


def test_the_same_sources_are_compiled_once(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    target = tmp_path / "out.wasm"
    script = """
if [ "$1" = --version ]; then echo componentize-py 0.25.1; exit; fi
for last; do :; done
echo run >> "$(dirname "$0")/runs"
echo component > "$last"
"""
    fake_tool(tmp_path, "componentize-py", script)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path / "cache"))

    def runs_after(change: str, content: str) -> int:
        (project / change).parent.mkdir(exist_ok=True)
        (project / change).write_text(content)
        python.build(project, target)
        assert target.read_text() == "component\n"
        return len((tmp_path / "runs").read_text().splitlines())

    assert runs_after("plugin.py", PLUGIN) == 1
    assert runs_after("plugin.py", PLUGIN) == 1
    assert runs_after("tests/test_plugin.py", "") == 1
    assert runs_after("README.md", "") == 1
    assert runs_after("pods.yaml", "kind: Pod") == 1
    assert runs_after("other.py", "") == 1
    assert runs_after("prices.json", "{}") == 1
    assert runs_after("plugin.py", PLUGIN + 'PRICES = open("prices.json").read()\n') == 2
    assert runs_after("prices.json", '{"a": 1}') == 3
    assert runs_after("notes.txt", "") == 3


# ---------------------------------------------------------------------- testing


def outcomes(results: list[TestResult]) -> dict[str, str]:
    return {item.name: "failed" if item.failure else "skipped" if item.skipped else "passed" for item in results}


def test_native_tests_are_run_with_the_sdk(project: Path) -> None:
    tests = project / "tests"
    tests.mkdir()
    (tests / "test_mine.py").write_text(
        """
import pytest
from kubewasp_sdk.testing import make_node, make_pod, run
from plugin import Mine


def test_passes():
    assert run(Mine, make_pod(), [make_node("n")]).node == "n"


def test_fails():
    assert run(Mine, make_pod(), [make_node("n")]).node == "other"


@pytest.mark.skip(reason="not now")
def test_is_skipped():
    pass


@pytest.mark.parametrize("number", [1, 2])
def test_numbers(number):
    assert number
"""
    )
    results = python.test(project)
    assert outcomes(results) == {
        "test_mine.test_passes": "passed",
        "test_mine.test_fails": "failed",
        "test_mine.test_is_skipped": "skipped",
        "test_mine.test_numbers[1]": "passed",
        "test_mine.test_numbers[2]": "passed",
    }
    failed = next(item for item in results if item.failure)
    assert "assert 'n' == 'other'" in failed.failure
    assert next(item.skipped for item in results if item.skipped) == "not now"


def test_a_test_file_that_cannot_be_imported_is_a_failure(project: Path) -> None:
    (project / "test_broken.py").write_text("import nothing_like_that\n")
    (result,) = python.test(project)
    assert "No module named 'nothing_like_that'" in result.failure


def test_a_project_without_tests_has_no_results(project: Path) -> None:
    assert python.test(project) == []


def test_what_lies_around_the_project_does_not_matter(project: Path) -> None:
    (project.parent / "conftest.py").write_text("raise RuntimeError('not yours')\n")
    (project.parent / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (project / "test_mine.py").write_text("def test_passes(): pass\n")
    assert outcomes(python.test(project)) == {"test_mine.test_passes": "passed"}


def test_a_project_may_configure_pytest(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.pytest.ini_options]\npython_functions = ["check_*"]\n')
    (project / "test_mine.py").write_text("def check_this(): pass\n")
    assert outcomes(python.test(project)) == {"test_mine.check_this": "passed"}


def test_settings_that_pytest_does_not_take_are_an_error(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    with pytest.raises(BuildError, match="pytest cannot run the tests") as raised:
        python.test(project)
    assert "--no-such-option" in str(raised.value)
