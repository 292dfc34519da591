"""Options and commands that messages, help and pages name: they exist."""

import ast
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.all_commands import BENCH, KUBEWASP, Found
from tests.guests.build import ROOT

SOURCE = ROOT / "src" / "kubewasp"
BY_WORDS = {found.words: found for found in KUBEWASP}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+\b")
NAMED = re.compile(r"`kubewasp ([a-z -]+?)[`\n]|`kubewasp ([a-z]+ ?[a-z]*) ")
# The commands that show the messages of a package or module; all of them, unless named here.
SHOWN_BY: dict[str, list[tuple[str, ...]]] = {
    "wasi": [("wasi", "run")],
    "web": [("http", "serve")],
    "extender": [("extender",), ("extender", "config")],
    "explain": [("explain",)],
    "cli/wasi_run.py": [("wasi", "run")],
    "cli/wasi_image.py": [("wasi", "run")],
    "cli/image_build.py": [("image", "build")],
    "images": [("image", "build")],
    "cli/plugin_sign.py": [("plugin", "sign")],
    "cli/extender_server.py": [("extender",)],
    "cli/extender_config.py": [("extender", "config")],
    "cli/http_serve.py": [("http", "serve")],
    "cli/explain.py": [("explain",), ("simulate",)],  # a note names the simulation of the same pod
}
# Options of other programs.
OTHERS = {
    *("--junitxml", "--rootdir", "--confcutdir", "--only", "--python", "--editable"),
    *("--ignore-daemonsets", "--force", "--delete-emptydir-data"),  # kubectl drain
    *("--for", "--max-log-requests", "--server-side", "--tail"),  # kubectl apply, wait and logs
}
# Options of the compilers that a module calls.
COMPILERS = {
    "projects/c.py": {"--no-entry"},
    "projects/javascript.py": {
        *("--enable-source-maps", "--import", "--pretty", "--project"),
        *("--test", "--test-reporter", "--test-reporter-destination"),
    },
    "projects/node.py": {"--ignore-scripts", "--loglevel", "--no-audit", "--no-fund"},
    "projects/rust.py": {
        *("--lib", "--locked", "--message-format", "--no-fail-fast"),
        *("--print", "--release", "--remap-path-prefix", "--target"),
    },
}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]


def texts(module: Path) -> list[str]:
    """String literals of a module without its docstrings."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings]
    return [node.value for node in found if isinstance(node.value, str)]


def commands_of(module: str) -> list[Found]:
    for place, words in SHOWN_BY.items():
        if module == place or module.startswith(f"{place}/"):
            return [BY_WORDS[each] for each in words]
    return [*KUBEWASP, *BENCH]


@pytest.mark.parametrize("module", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_options_in_messages_are_options_of_the_command_that_shows_them(module: Path) -> None:
    name = module.relative_to(SOURCE).as_posix()
    known = set().union(COMPILERS.get(name, ()), *(found.options for found in commands_of(name)))
    named = {option for text in texts(module) for option in OPTION.findall(text)}
    assert named - known - OTHERS == set()


def shell_lines(page: Path) -> list[list[str]]:
    """Calls of kubewasp in the code blocks of a page."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:sh|console|text)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    found = [re.match(r"(?:\$ )?kubewasp ([a-z-].*?)(?: [|>&;#].*)?$", line) for line in lines]
    return [shlex.split(match[1].split(" -- ")[0]) for match in found if match]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_calls_in_pages_use_commands_and_options_that_exist(page: Path) -> None:
    for words in shell_lines(page):
        found = max((each for each in KUBEWASP if tuple(words[: len(each.words)]) == each.words), key=_length)
        given = {word.partition("=")[0] for word in words if OPTION.match(word)}
        assert given <= found.options, " ".join(words)
        assert found.words or given, " ".join(words)
        assert not found.command.hidden


def _length(found: Found) -> int:
    return len(found.words)


@pytest.mark.parametrize("module", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_commands_in_messages_exist(module: Path) -> None:
    for text in texts(module):
        for match in NAMED.findall(text):
            words = tuple(word for word in " ".join(match).split() if not word.startswith("-"))
            assert words in BY_WORDS, text


def test_the_page_of_the_command_line_has_every_command() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    table = page.partition("## ")[0]
    for found in KUBEWASP:
        if found.words and not found.is_group and not found.command.hidden:
            assert re.search(rf"\b{found.words[-1]}`", table), found.words
