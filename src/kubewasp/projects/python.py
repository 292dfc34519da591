"""Python plugins: built with componentize-py into a component, tested with pytest.

The SDK that comes with kubewasp is given to both; a project needs nothing installed besides the two tools.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from kubewasp.projects import python_checks
from kubewasp.projects.results import TestResult
from kubewasp.projects.toolchain import BuildError, run_tool, sdk
from kubewasp.wasm.compilation import CompilationCache
from kubewasp.wasm.compilation import directory as cache_directory

if TYPE_CHECKING:
    from kubewasp.projects.python_checks import Findings

TOOL: Final = "componentize-py"
OLDEST, TOO_NEW = (0, 25), (0, 26)
_WANTED: Final = f'"{TOOL}>={".".join(map(str, OLDEST))},<{".".join(map(str, TOO_NEW))}"'
_APP: Final = "kubewasp_app"
# What is imported here is all that there is once the component is built; see python_checks.
_APP_TEXT: Final = '''"""What the component exports; made by `kubewasp plugin build`."""

import wit_world
from kubewasp_sdk import tracebacks
from kubewasp_sdk.guest import Guest

import plugin
{needed}
{optional}
tracebacks.keep_sources(tracebacks.author_modules())
guest = Guest.of_module(plugin)


class WitWorld(wit_world.WitWorld):
    def start(self, settings: str) -> str:
        return guest.start(settings)

    def call(self, request: str) -> str:
        return guest.call(request)
'''
_OPTIONAL: Final = """
try:
    import {module}
except ImportError:
    pass
"""
_COLLECTED_NOTHING: Final = 5
# The tool wraps what Python said: its own traceback before it, its own causes and backtrace behind it.
_SAID: Final = re.compile(r"^AssertionError: (.*?)(?=^Caused by:|^Stack backtrace:|\Z)", re.DOTALL | re.MULTILINE)
_OUR_FRAME: Final = re.compile(r'^  File "/\d+/kubewasp_(?:app|sdk)\b[^\n]*\n(?:    [^\n]*\n)*', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Tool:
    """componentize-py, as it was found."""

    path: Path
    version: str


def build(project: Path, target: Path) -> None:
    """Builds the plugin in the folder `project` into the file `target`.

    That takes ten seconds or more, and never gives the same bytes twice. So what was built is kept: the same sources
    are the same component again, at once.
    """
    findings = python_checks.check(project)
    tool = _tool()
    cache = CompilationCache(cache_directory())
    with tempfile.TemporaryDirectory(prefix="kubewasp-") as scratch:
        root = Path(scratch)
        app, copy, made = root / "app", root / "project", root / "plugin.wasm"
        app.mkdir()
        (app / f"{_APP}.py").write_text(_app(findings), encoding="utf-8")
        _copy(project, copy)
        key = cache.key(_ingredients(app, copy, sdk("python"), sdk("wit")), f"component {tool.version}")
        component = cache.get(key)
        if component is None:
            paths = [part for folder in (app, copy, sdk("python")) for part in ("-p", folder)]
            command = [tool.path, "-q", "-d", sdk("wit"), "-w", "plugin", "componentize", _APP, *paths, "-o", made]
            try:
                run_tool(command, cwd=root, env=_environment(root), failed="")
            except BuildError as error:
                raise BuildError(f"{project.name} cannot be built:\n{_as_python_said(str(error))}") from None
            component = made.read_bytes()
            cache.put(key, component)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(component)


def _ingredients(*folders: Path) -> bytes:
    """Names and digests of all files that may have a part in the component; tests and pages have none."""
    lines = []
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = path.relative_to(folder)
            if not {"tests", "__pycache__"} & set(name.parts) and path.suffix != ".md":
                lines.append(f"{name.as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}")
        lines.append("")
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def test(project: Path) -> list[TestResult]:
    """Runs the tests of the project with pytest, without WebAssembly."""
    with tempfile.TemporaryDirectory(prefix="kubewasp-") as scratch:
        report = Path(scratch) / "junit.xml"
        paths = os.pathsep.join(map(str, [sdk("python"), project.resolve()]))
        settings = next((name for name in ("pytest.ini", "pyproject.toml") if (project / name).is_file()), os.devnull)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
        done = subprocess.run(
            [*command, "-c", settings, "--rootdir=.", "--confcutdir=.", "."],
            cwd=project,
            env=os.environ | {"PYTHONPATH": paths, "PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode == _COLLECTED_NOTHING:
            return []
        if "No module named pytest" in done.stderr:
            raise BuildError(f"the tests of a Python plugin need pytest: {sys.executable} -m pip install pytest")
        if not report.is_file():
            raise BuildError(f"pytest could not run the tests:\n{(done.stdout + done.stderr).strip()}")
        return _results(report)


def _tool() -> Tool:
    """componentize-py, from beside the running Python or from the PATH, in a version that is known to work."""
    beside = Path(sys.executable).parent / TOOL
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which(TOOL)
    how = f"{sys.executable} -m pip install {_WANTED}"
    if found is None:
        raise BuildError(f"building Python plugins needs {TOOL}, which was not found: {how}")
    said = run_tool([found, "--version"], cwd=Path.cwd(), failed=f"{found} does not run:").strip()
    number = re.search(r"(\d+)\.(\d+)\.\d+", said)
    if number is None or not OLDEST <= (int(number[1]), int(number[2])) < TOO_NEW:
        raise BuildError(f"{found} is {said!r}, which is not known to work: {how}")
    return Tool(Path(found), number[0])


def _environment(scratch: Path) -> dict[str, str]:
    """Without the packages that happen to be installed here: a plugin is what lies in its folder."""
    empty = scratch / "env"
    (empty / "lib" / "python3" / "site-packages").mkdir(parents=True)
    return {"VIRTUAL_ENV": str(empty), "PYTHONPATH": "", "RUST_BACKTRACE": "0"}


def _app(findings: Findings) -> str:
    return _APP_TEXT.format(
        needed="\n".join(f"import {module}" for module in findings.needed),
        optional="".join(_OPTIONAL.format(module=module) for module in findings.optional),
    )


def _copy(project: Path, copy: Path) -> None:
    def ignored(folder: str, names: list[str]) -> list[str]:
        is_environment = (Path(folder) / "pyvenv.cfg").exists()
        return [name for name in names if is_environment or python_checks.is_left_out(name)]

    shutil.copytree(project, copy, ignore=ignored)


def _as_python_said(error: str) -> str:
    found = _SAID.search(error)
    said = _OUR_FRAME.sub("", found[1] if found else error)
    return re.sub(r'File "/\d+/', 'File "', said).strip()


def _results(report: Path) -> list[TestResult]:
    results = []
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314 - pytest has just written it
        name = ".".join(filter(None, (case.get("classname", "").removeprefix("tests."), case.get("name"))))
        problem = next((part for kind in ("failure", "error") if (part := case.find(kind)) is not None), None)
        skip = case.find("skipped")
        results.append(
            TestResult(
                name,
                float(case.get("time") or 0),
                failure="" if problem is None else (problem.text or problem.get("message") or "failed").strip(),
                skipped="" if skip is None else skip.get("message") or "skipped",
            )
        )
    return results
