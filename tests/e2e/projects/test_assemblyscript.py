"""A guest of the AssemblyScript compiler's default build, which imports `env.abort`."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kubewasp import Guest
from kubewasp.projects import build_cache
from tests.guests.build import ROOT

SOURCE = ROOT / "tests" / "e2e" / "guests" / "assemblyscript" / "policy.ts"
COMPILER = "assemblyscript@0.28.20"


def ran(*command: str | Path, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def build(target: Path) -> None:
    folder = target.parent / "work"
    folder.mkdir()
    shutil.copy(SOURCE, folder)
    (folder / "package.json").write_text("{}")
    ran("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", COMPILER, cwd=folder)
    asc = folder / "node_modules" / ".bin" / "asc"
    ran(asc, SOURCE.name, "-o", target, "--optimize", "--runtime", "minimal", cwd=folder)


@pytest.fixture(scope="module")
def guest() -> Guest:
    made = build_cache.built(
        build_cache.folder("assemblyscript"), "policy", ".wasm", [COMPILER.encode(), SOURCE.read_bytes()], build
    )
    return Guest.load(made, name="policy")


def evaluated(guest: Guest, *names: str):  # noqa: ANN201
    return guest.evaluate({"metadata": {"name": "web"}}, [{"metadata": {"name": name}} for name in names])


def test_the_default_build_loads_and_runs(guest: Guest) -> None:
    found = evaluated(guest, "node-3", "closed-1", "node-7")
    assert ("env", "abort") in guest.module.imports
    assert found.rejected["closed-1"].reason == "node closed-1 is closed"
    assert found.scores == {"node-3": 3, "node-7": 7}


def test_an_exception_names_message_file_and_line(guest: Guest) -> None:
    found = evaluated(guest, "spare")
    assert "abort: a node without a number: spare at policy.ts:27:" in str(found)
