"""Commands and the Python example of docs/wasi.md print the output of the page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kubewasp.wasi.command import EXIT_CODES, Ending
from tests.guests.build import ROOT, c_command
from tests.test_docs import FENCE, PLAIN, commands, skeleton

PAGE = (ROOT / "docs" / "wasi.md").read_text(encoding="utf-8")
BUILDS = ("python -m ziglang", "GOOS=wasip1")
NUMBERS_OF_CALLS = re.compile(r"=\d+")


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy of examples/wasi, with its program built."""
    folder = tmp_path / "wasi"
    shutil.copytree(ROOT / "examples" / "wasi", folder)
    shutil.copy(c_command(folder / "count.c"), folder / "count.wasm")
    return folder


def blocks(language: str) -> list[str]:
    return [body for kind, body in FENCE.findall(PAGE) if kind == language]


@pytest.mark.parametrize("body", blocks("sh"))
def test_a_command_prints_what_the_page_shows(body: str, example: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, shown in commands(body):
        if command.startswith(BUILDS):
            continue
        ran = subprocess.run(
            ["bash", "-c", command],
            cwd=example,
            env=PLAIN | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        wanted, printed = (skeleton(NUMBERS_OF_CALLS.sub("=#", text)) for text in (shown, ran.stdout))
        if wanted[-1] == "…":
            wanted, printed = wanted[:-1], printed[: len(wanted) - 1]
        assert printed == wanted


def test_the_python_example_runs(example: Path) -> None:
    (body,) = blocks("py")
    ran = subprocess.run([sys.executable, "-c", body], cwd=example, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "0 /data/words.txt: 3 lines\n []\n"), ran.stderr


def test_the_page_has_the_exit_codes_and_every_option() -> None:
    for ending in Ending:
        if ending in EXIT_CODES:
            assert re.search(rf"^\| {EXIT_CODES[ending]} \|", PAGE, re.MULTILINE)
    shown = subprocess.run(
        [Path(sys.executable).parent / "kubewasp", "wasi", "run", "--help"],
        env=PLAIN,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for option in set(re.findall(r"--[a-z]+", shown)) - {"--help", "--quiet"}:
        assert f"`{option}" in PAGE or f" {option}" in PAGE, option
