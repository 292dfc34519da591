"""Commands and Python examples of the pages, run and compared with the shown output; links; tables against the code."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ROOT_PAGES = [ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Without the variables that make rich print colours into a pipe.
PLAIN = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "GITHUB_ACTIONS")} | {"COLUMNS": "80"}
NUMBER = re.compile(r"\d[\d.,]*")
# Pages of docs/ whose commands need each other's results: tests/test_walkthroughs.py.
WALKTHROUGHS = ("distribution.md", "trust.md")


def examples(language: str) -> list[object]:
    found = []
    for page in PAGES:
        if language == "console" and page.name in WALKTHROUGHS:
            continue
        for index, (kind, body) in enumerate(FENCE.findall(page.read_text(encoding="utf-8"))):
            if kind == language:
                found.append(pytest.param(body, id=f"{page.name}-{index}"))
    return found


def commands(body: str) -> list[tuple[str, str]]:
    """Pairs of a command after `$ ` and the output below it."""
    parts = re.split(r"^\$ (.*)$", body, flags=re.MULTILINE)[1:]
    return [(command, shown.strip("\n")) for command, shown in zip(parts[::2], parts[1::2], strict=True)]


def skeleton(text: str) -> list[str]:
    """Lines without figures and blanks, the same on every machine."""
    lines = [" ".join(NUMBER.sub("#", line).split()) for line in text.splitlines()]
    return [re.sub(r"\((from the cache|compiled)\)", "(loaded)", line) for line in lines if line]


def run(command: list[str]) -> list[str]:
    """The skeleton of the command's output."""
    program = Path(sys.executable).parent / "kubewasp"
    ended = subprocess.run([program, *command], cwd=ROOT, env=PLAIN, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return skeleton(ended.stdout)


@pytest.mark.parametrize("body", examples("console"))
def test_a_command_prints_what_the_page_shows(body: str) -> None:
    for command, shown in commands(body):
        words = shlex.split(command, comments=True)
        if words[0] == "make":
            continue  # CI calls these targets; `make test` runs this test
        assert words[0] == "kubewasp"
        wanted = skeleton(shown)
        is_whole = bool(wanted) and wanted[-1] != "…"
        wanted = wanted if is_whole else wanted[:-1]
        # On a busy machine a long time widens its column, or changes its unit: such an output is made again.
        for _ in range(3):
            found = run(words[1:])
            if (found if is_whole else found[: len(wanted)]) == wanted:
                break
        assert (found if is_whole else found[: len(wanted)]) == wanted


@pytest.mark.parametrize("body", examples("python"))
def test_a_python_example_runs(body: str) -> None:
    result = subprocess.run([sys.executable, "-c", body], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "node-" in result.stdout


@pytest.mark.parametrize("page", [*PAGES, *ROOT_PAGES], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_abi_page_lists_every_hook_and_import() -> None:
    from kubewasp.wasm.core.abi import CLASSIC_IMPORTS, EXTENSION_IMPORTS
    from kubewasp.wasm.hooks import HOOKS

    text = (ROOT / "docs" / "abi.md").read_text(encoding="utf-8")
    for name in [*HOOKS, *(item.name for item in CLASSIC_IMPORTS + EXTENSION_IMPORTS)]:
        assert f"`{name}`" in text, name


def test_the_configuration_page_lists_every_limit_with_its_default() -> None:
    from dataclasses import fields

    from kubewasp.k8s import quantity
    from kubewasp.k8s.duration import parse_duration
    from kubewasp.wasm.limits import Limits, config_name

    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    for field in fields(Limits):
        row = re.search(rf"^\| `{config_name(field.name)}` \| (\S+) \|", text, re.MULTILINE)
        assert row, field.name
        default = getattr(Limits(), field.name)
        if isinstance(default, str):
            assert row[1] == default
            continue
        parsed = parse_duration(row[1]) if "timeout" in field.name else quantity.parse(row[1]).value()
        assert parsed == default
