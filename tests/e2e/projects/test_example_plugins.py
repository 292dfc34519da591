"""Projects in examples/plugins: their own tests, and the commands of their READMEs."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from kubewasp import Guest
from kubewasp.projects import project, scaffold, scenario_runner, scenario_tests, suites
from tests.e2e.commands import run
from tests.guests.build import ROOT, project_guest, rust_build_folder, rust_target
from tests.test_docs import FENCE, PLAIN, commands

PLUGINS = ROOT / "examples" / "plugins"
FOLDERS = sorted(path for path in PLUGINS.iterdir() if path.is_dir())
SIGNING = {
    *("business-hours", "cheapest-zone", "shape-match"),
    *("nodenumber-c", "nodenumber-go", "nodenumber-javascript", "nodenumber-python", "nodenumber-rust"),
}
MADE = shutil.ignore_patterns(
    *("build", "target", ".kubewasp", "go.work*", "compile_flags.txt", "__pycache__", ".pytest_cache", "node_modules")
)

pytestmark = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def test_the_native_tests_pass(folder: Path) -> None:
    found = project.find(folder)
    if found.language.name == "rust":
        rust_target()
        with rust_build_folder():
            results = suites.native_suite(found).results
    else:
        results = suites.native_suite(found).results
    assert results
    assert [result for result in results if not result.passed] == []


def test_the_scenarios_pass(folder: Path) -> None:
    found, guest = project.find(folder), project_guest(folder)
    tests = [test for given in scenario_tests.read(folder).values() for test in given]
    assert len(tests) >= 2
    failures = {test.name: scenario_runner.run(test, guest, found.name).failure for test in tests}
    assert {name: told for name, told in failures.items() if told} == {}


def test_only_plugins_that_sign_pods_are_known_as_such(folder: Path) -> None:
    """The SDKs import and export everything about signatures, for all plugins."""
    config = '{"priceLabel": "price"}' if folder.name == "cheapest-zone" else ""
    assert Guest.load(project_guest(folder), config=config).may_sign == (folder.name in SIGNING)


def test_the_project_is_laid_out_as_a_new_one(folder: Path, tmp_path: Path) -> None:
    """More files are fine."""
    found = project.find(folder)
    assert found.name == folder.name
    expected = scaffold.create(tmp_path / folder.name, folder.name, found.language.name)
    assert [str(path) for path in expected if not (folder / path).is_file()] == []


def test_the_page_shows_what_is_printed(folder: Path, tmp_path: Path) -> None:
    """By `simulate` and `explain`; how lines are broken does not matter, nor what follows a line with dots."""
    page = (folder / "README.md").read_text(encoding="utf-8")
    shown = [pair for _, body in FENCE.findall(page) for pair in commands(body)]
    tried = [(command, text) for command, text in shown if command.split()[1] in ("simulate", "explain")]
    assert tried
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy, ignore=MADE)
    (copy / "build").mkdir()
    shutil.copy(project_guest(folder), copy / "build" / f"{folder.name}.wasm")
    for command, text in tried:
        wanted, printed = text.split(), ran(command, copy).split()
        if wanted[-1] == "…":
            wanted.pop()
            del printed[len(wanted) :]
        assert printed == wanted, command


def test_the_page_lists_every_setting(folder: Path) -> None:
    page = (folder / "README.md").read_text(encoding="utf-8")
    files = [path for path in folder.iterdir() if path.suffix in (".go", ".py", ".js", ".ts", ".c")]
    files += folder.glob("src/*.rs")
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted(files))
    go_config = re.search(r"^type Config struct \{\n(.*?)^\}", sources, re.MULTILINE | re.DOTALL)
    c_config = re.search(r"^static const kw_setting settings\[\] = \{\n(.*?)^\};", sources, re.MULTILINE | re.DOTALL)
    python_config = re.search(r"^class Config:\n(.*?)^(?=\S)", sources, re.MULTILINE | re.DOTALL)
    schema = re.search(r"^const Config = schema\.object\(\{\n(.*?)^\}", sources, re.MULTILINE | re.DOTALL)
    rust_config = re.search(r"^struct Config \{\n(.*?)^\}", sources, re.MULTILINE | re.DOTALL)
    if rust_config:
        settings = [camel_case(name) for name in re.findall(r"^    (\w+):", rust_config[1], re.MULTILINE)]
    elif go_config:
        settings = re.findall(r'json:"(\w+)"', go_config[1])
    elif c_config:
        settings = re.findall(r'\{"(\w+)"', c_config[1])
    elif schema:
        settings = re.findall(r"^  (\w+):", schema[1], re.MULTILINE)
    else:
        assert python_config
        settings = [camel_case(name) for name in re.findall(r"^    (\w+):", python_config[1], re.MULTILINE)]
    assert settings
    assert [name for name in settings if f"| `{name}` |" not in page] == []


def camel_case(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def ran(command: str, folder: Path) -> str:
    environment = PLAIN | {"KUBEWASP_CACHE_DIR": str(ROOT / ".build" / "compiled")}
    return run(*shlex.split(command)[1:], env=environment, cwd=folder).output
