"""Parts of a component: imported modules, and data files that they may read."""

from pathlib import Path

import pytest

from kubewasp.projects import python_checks, python_sources

PLUGIN = (
    "from kubewasp_sdk import Plugin\n\n\nclass Mine(Plugin):\n    def score(self, state, pod, node): return 1\n\n\n"
)
FILES = (
    "README.md",
    "pods.yaml",
    "prices.json",
    "zones/eu.csv",
    "zones/us.csv",
    "unused.py",
    "package/__init__.py",
    "package/table.py",
    "tests/helpers.py",
    "build/old.json",
    ".venv/lib/x.py",
    "env/pyvenv.cfg",
    "env/lib/y.json",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


def parts(project: Path, source: str) -> list[str]:
    (project / "plugin.py").write_text(PLUGIN + source)
    found = python_checks.check(project)
    return list(map(str, python_sources.parts(project, found.own.items())))


@pytest.mark.parametrize(
    ("source", "more"),
    [
        ("", []),
        ("'prices.json'", []),  # a text, but nothing is read
        ("import package", ["package/__init__.py"]),
        ("from package import table", ["package/__init__.py", "package/table.py"]),
        ("def f():\n    import package.table", ["package/__init__.py", "package/table.py"]),
        ("try:\n    import unused\nexcept ImportError: pass", ["unused.py"]),
        ("open('prices.json')", ["prices.json"]),
        ("(Path(__file__).parent / 'zones' / f'{zone}.csv').read_text()", ["zones/eu.csv", "zones/us.csv"]),
        ("open('zones/eu.csv')", ["zones/eu.csv", "zones/us.csv"]),
        ("open(name + '.json')", ["prices.json"]),
        ("Path(__file__).with_name(f'{name}.json').read_bytes()", ["prices.json"]),
        ("sorted(Path('.').glob('*.json'))", ["prices.json"]),
        ("from importlib import resources\nresources.files('package').joinpath('prices.json')", ["prices.json"]),
    ],
)
def test_a_component_has_the_imported_modules_and_the_files_they_name(
    project: Path, source: str, more: list[str]
) -> None:
    expected = {"plugin.py", *more}
    if "'package'" in source:
        expected |= {"package/__init__.py", "package/table.py"}
    assert set(parts(project, source)) == expected


def test_all_submodules_that_a_star_imports_are_there(project: Path) -> None:
    (project / "package" / "__init__.py").write_text("__all__ = ['table']\n")
    assert parts(project, "from package import *") == ["package/__init__.py", "package/table.py", "plugin.py"]


@pytest.mark.parametrize("source", ["list(Path(__file__).parent.iterdir())", "os.listdir('.')", "here.glob(pattern)"])
def test_code_that_lists_folders_sees_all_files_of_the_plugin(project: Path, source: str) -> None:
    found = parts(project, source)
    assert {"README.md", "prices.json", "unused.py"} <= set(found)
    assert not [name for name in found if name.startswith(("tests", "build", ".venv", "env"))]


def test_modules_that_are_imported_by_name_are_there(project: Path) -> None:
    found = parts(project, "import importlib\nTABLE = importlib.import_module('pack' + 'age.table')")
    assert found == ["package/__init__.py", "package/table.py", "plugin.py", "unused.py"]
