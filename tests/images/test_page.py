"""Commands of docs/wasm-in-containers.md print the output of the page; its tables are those of the code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kubewasp.images import wasm_image
from kubewasp.k8s.quantity import format_size
from tests.cli.all_commands import KUBEWASP
from tests.guests.build import ROOT, c_command, go_example, rust_target
from tests.test_docs import FENCE, PLAIN, commands, skeleton

PAGE = (ROOT / "docs" / "wasm-in-containers.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "images"
BUILDS = ("python -m ziglang", "GOOS=wasip1", "rustc")
DIGEST = re.compile(r"sha256:\S+")
MOTTO = "Hello, Ada\nmotto: Grant little\n"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy of examples/images, with its program built."""
    folder = tmp_path / "images"
    shutil.copytree(EXAMPLE, folder)
    shutil.copy(c_command(EXAMPLE / "greet.c"), folder / "greet.wasm")
    return folder


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=PLAIN | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_the_commands_print_what_the_page_shows(example: Path) -> None:
    """In the order of the page: later ones use the image of the first."""
    tried = 0
    for body in (body for kind, body in FENCE.findall(PAGE) if kind == "sh"):
        for command, shown in commands(body):
            if command.startswith(BUILDS):
                continue
            printed = skeleton(DIGEST.sub("sha256:…", run(command, example).stdout))
            # The digest of an image is longer than a line of the terminal.
            printed = [line for line in printed if not re.fullmatch(r"[0-9a-f#]+", line)]
            wanted = skeleton(DIGEST.sub("sha256:…", shown))
            if wanted and wanted[-1] == "…":
                wanted, printed = wanted[:-1], printed[: len(wanted) - 1]
            assert printed == wanted, command
            tried += 1
    assert tried >= 6


@pytest.mark.parametrize("language", ["c", "go", "rust"])
def test_the_program_is_the_same_in_every_language(language: str, example: Path) -> None:
    if language == "go":
        shutil.copy(go_example(EXAMPLE / "go"), example / "greet.wasm")
    if language == "rust":
        compiler = shutil.which("rustc")
        if compiler is None:
            pytest.skip("no rustc on the PATH")
        if shutil.which("rustup"):
            rust_target("wasm32-wasip1")
        options = ["--edition", "2021", "--target", "wasm32-wasip1", "-O", "-o", "greet.wasm", "greet.rs"]
        built = subprocess.run([compiler, *options], cwd=example, capture_output=True, text=True, check=False)
        if built.returncode and "E0463" in built.stderr:  # no standard library for the target
            pytest.skip("rustc without the target wasm32-wasip1: rustup target add wasm32-wasip1")
        assert built.returncode == 0, built.stderr
    assert run("kubewasp image build greet.wasm -t oci:x:v1 --cmd Ada --add data:/data", example).returncode == 0
    assert run("kubewasp wasi run --image-files oci:x:v1", example).stdout == MOTTO
    without = run("kubewasp wasi run -q oci:x:v1", example).stdout
    assert re.fullmatch(r"Hello, Ada\nno motto: .*\n", without)


def test_the_page_has_every_option_of_a_build() -> None:
    (build,) = (found for found in KUBEWASP if found.words == ("image", "build"))
    for option in build.options - {"-h", "--help", "-o", "--output", "--tag"}:
        assert f"`{option}" in PAGE or f" {option} " in PAGE, option


def test_the_page_has_the_limits_of_the_code() -> None:
    packed, unpacked = format_size(wasm_image.MAX_PACKED), format_size(wasm_image.MAX_UNPACKED)
    assert f"| layers | {wasm_image.MAX_LAYERS} |" in PAGE
    assert f"| all layers, packed and unpacked | {packed}, {unpacked} |" in PAGE
    assert f"| files | {wasm_image.MAX_ENTRIES:,}, " in PAGE
