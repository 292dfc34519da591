import os
from pathlib import Path

import pytest

from kubewasp.projects import build_stamp


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "build").mkdir()
    for name in ("plugin.py", "rules.py", "build/p.wasm"):
        (tmp_path / name).write_text(name)
    build_stamp.write(tmp_path, tmp_path / "build" / "p.wasm")
    return tmp_path


def is_current(folder: Path) -> bool:
    return build_stamp.is_current(folder, folder / "build" / "p.wasm")


def test_a_build_of_unchanged_sources_is_current(folder: Path) -> None:
    assert is_current(folder)
    (folder / "build" / "other").touch()
    (folder / ".venv").mkdir()
    (folder / ".venv" / "x.py").touch()
    assert is_current(folder)


def test_a_changed_a_new_and_a_deleted_source_need_a_build(folder: Path) -> None:
    os.utime(folder / "rules.py", ns=(1, 1))
    assert not is_current(folder)
    build_stamp.write(folder, folder / "build" / "p.wasm")
    (folder / "new.py").touch()
    assert not is_current(folder)
    build_stamp.write(folder, folder / "build" / "p.wasm")
    (folder / "rules.py").unlink()
    assert not is_current(folder)


def test_a_wasm_of_another_origin_needs_a_build(folder: Path) -> None:
    (folder / "build" / "p.wasm").write_text("another")
    assert not is_current(folder)
    (folder / "build" / "p.wasm").unlink()
    assert not is_current(folder)


def test_a_project_with_modules_in_other_folders_is_always_built(folder: Path) -> None:
    (folder / "go.mod").write_text("module p\nreplace example.com/lib => ../lib\n")
    build_stamp.write(folder, folder / "build" / "p.wasm")
    assert not is_current(folder)


def test_a_link_in_place_of_the_stamp_is_replaced(folder: Path) -> None:
    stamp, other = folder / "build" / ".p.wasm.sources", folder / "other"
    stamp.unlink()
    stamp.symlink_to(other)
    build_stamp.write(folder, folder / "build" / "p.wasm")
    assert not other.exists()
    assert is_current(folder)


def test_the_build_folder_of_cargo_is_no_source(folder: Path) -> None:
    (folder / "target").mkdir()
    (folder / "target" / "CACHEDIR.TAG").touch()
    (folder / "target" / "p.d").touch()
    assert is_current(folder)


@pytest.mark.parametrize("path", ["../lib", "/opt/lib"])
def test_a_crate_with_sources_in_other_folders_is_always_built(folder: Path, path: str) -> None:
    (folder / "Cargo.toml").write_text('kubewasp-sdk = { path = ".kubewasp/kubewasp-sdk" }\n')
    build_stamp.write(folder, folder / "build" / "p.wasm")
    assert is_current(folder)
    (folder / "Cargo.toml").write_text(f'lib = {{ path = "{path}" }}\n')
    build_stamp.write(folder, folder / "build" / "p.wasm")
    assert not is_current(folder)
