"""Shape of the source tree: sizes of classes and files, names of modules, first lines."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "kubewasp"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "templates" not in path.parts)
TOOLS = sorted(path for path in (ROOT / "tools").rglob("*.py") if "policies" not in path.parts)
PACKAGES = [path.parent for path in MODULES if path.name == "__init__.py"]
MAX_METHODS = 25
MAX_LINES = 400
CLAUSE = re.compile(r"(What|Who|Whoever|Whatever|Tells|Those|One that|Somebody|How|Which|Where) ")


def names(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def large_classes(path: Path) -> Iterator[tuple[str, int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            methods = sum(isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) for item in node.body)
            if methods > MAX_METHODS:
                yield node.name, methods, ast.get_docstring(node) or ""


def test_a_class_of_many_methods_says_why() -> None:
    found = [(path, *item) for path in MODULES for item in large_classes(path)]
    assert [(path.name, name, count) for path, name, count, text in found if str(MAX_METHODS) not in text] == []


def test_a_long_file_says_why() -> None:
    found = [path for path in MODULES if len(path.read_text(encoding="utf-8").splitlines()) > MAX_LINES]
    assert [path.name for path in found if f"More than {MAX_LINES} lines: " not in docstring(path)] == []


def test_no_module_name_stands_twice() -> None:
    places = defaultdict(list)
    for path in MODULES:
        if path.stem not in ("__init__", "errors", "plugin"):
            places[path.stem].append(path.relative_to(PACKAGE).as_posix())
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


@pytest.mark.parametrize("package", names(PACKAGES))
def test_a_package_is_described_and_private_or_public(package: str) -> None:
    text = docstring(ROOT / package / "__init__.py")
    assert text
    assert "Private: not part of the documented API." in text or "ublic" in text


@pytest.mark.parametrize("module", names(MODULES + TOOLS))
def test_the_first_line_of_a_module_names_it(module: str) -> None:
    text = docstring(ROOT / module)
    assert text
    assert not CLAUSE.match(text)


def test_the_core_names_no_plugin() -> None:
    """The table of default plugins and the readers of their args are the only places."""
    plugins = {path.stem for path in (PACKAGE / "plugins").glob("*.py")} - {"__init__", "volume_binder"}
    classes = {"".join(word.capitalize() for word in name.split("_")) for name in plugins}
    named = re.compile(r"[\"'](" + "|".join(sorted(classes)) + r")[\"']")
    core = [path for part in ("framework", "scheduler", "state") for path in sorted((PACKAGE / part).rglob("*.py"))]
    allowed = {"default_plugins.py", "plugin_args.py"}
    found = {path.name for path in core if named.search(path.read_text(encoding="utf-8"))}
    assert found - allowed == set()
