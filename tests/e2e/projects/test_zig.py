"""The guest in Zig that links the C SDK, built as its first lines say."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kubewasp import Guest
from kubewasp.projects import build_cache, c, toolchain
from tests.guests.build import EXAMPLES

SOURCE = EXAMPLES / "nodenumber.zig"


def build(target: Path) -> None:
    zig, sdk, folder = c.find().command, toolchain.sdk("c"), target.parent / "work"
    folder.mkdir()
    shutil.copy(SOURCE, folder)
    wasm = ("-target", "wasm32-freestanding", f"-I{sdk}")
    header = subprocess.run(
        [*zig, "translate-c", *wasm, "-DKW_DECLARE_ONLY", sdk / "kubewasp.h"], capture_output=True, text=True
    )
    assert header.returncode == 0, header.stderr
    (folder / "kubewasp.zig").write_text(header.stdout, encoding="utf-8")
    options = ("-O", "ReleaseSmall", "-fno-entry", "-rdynamic", f"-femit-bin={target}")
    built = subprocess.run(
        [*zig, "build-exe", SOURCE.name, sdk / "kubewasp.c", *wasm, *options],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr


@pytest.fixture(scope="module")
def guest() -> Guest:
    sources = [c.find().version.encode(), SOURCE.read_bytes(), *build_cache.contents(toolchain.sdk("c"))]
    return Guest.load(build_cache.built(build_cache.folder("zig-guests"), "nodenumber", ".wasm", sources, build))


def test_zig_reads_pods_and_nodes_and_rejects_with_a_reason(guest: Guest) -> None:
    nodes = [
        {"metadata": {"name": "node-1"}},
        {"metadata": {"name": "node-3"}},
        {"metadata": {"name": "node-4", "labels": {"closed": "yes"}}},
    ]
    found = guest.evaluate({"metadata": {"name": "web-3"}}, nodes)
    assert found.scores == {"node-1": 0, "node-3": 10}
    assert found.rejected["node-4"].reason == "node node-4 is closed"


def test_only_what_is_used_is_in_the_guest(guest: Guest) -> None:
    assert guest.module.size < 10_000
    assert ("kubewasp/v1", "waiting_pods") not in guest.module.imports
