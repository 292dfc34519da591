"""Containment in granted directories, and protection of read-only ones."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.wasi.running import gopher, probe

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Place:
    granted: Path
    outside: Path

    @property
    def writable(self) -> list[str]:
        return [f"{self.granted}:/in"]

    @property
    def read_only(self) -> list[str]:
        return [f"{self.granted}:/in:ro"]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A granted directory with ways out of it; afterwards the files outside are unchanged."""
    granted, outside = tmp_path / "granted", tmp_path / "outside"
    for folder in (granted, granted / "inner", outside):
        folder.mkdir()
    (granted / "file").write_text("inside")
    (granted / "inner" / "file").write_text("deep inside")
    (outside / "secret").write_text("secret")
    (granted / "by-relative-link").symlink_to("../outside/secret")
    (granted / "by-absolute-link").symlink_to(outside / "secret")
    (granted / "folder-link").symlink_to("../outside")
    (granted / "absolute-folder-link").symlink_to(outside)
    (granted / "dangling").symlink_to("../outside/new")
    (granted / "inner" / "up").symlink_to("../file")
    (granted / "inner" / "up-and-out").symlink_to("../../outside/secret")
    (granted / "loop").symlink_to("loop")
    yield Place(granted, outside)
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("secret", "secret")]


WAYS_OUT = [
    "/in/../outside/secret",
    "/in/inner/../../outside/secret",
    "/in/./inner/./../../outside/secret",
    "/in/by-relative-link",
    "/in/by-absolute-link",
    "/in/folder-link/secret",
    "/in/absolute-folder-link/secret",
    "/in/inner/up-and-out",
    "/in/inner/../by-relative-link",
]


@pytest.mark.parametrize("path", WAYS_OUT)
def test_no_path_leads_out(place: Place, path: str) -> None:
    for dirs in (place.writable, place.read_only):
        ran = probe("read", path, dirs=dirs)
        assert (ran.code, ran.stdout) == (1, "")
        assert len(ran.denied) == 1
        assert f"outside of --dir {dirs[0]} (through .. or a symbolic link)" in ran.denied[0]


@pytest.mark.parametrize("path", WAYS_OUT)
def test_no_path_leads_a_go_program_out(place: Place, path: str) -> None:
    ran = gopher("read", path, dirs=place.writable)
    assert (ran.code, ran.stdout) == (1, "")


@pytest.mark.parametrize("path", ["../outside/secret", "by-absolute-link", "inner/../../outside/secret", "/secret"])
def test_no_path_leads_out_of_a_directory_that_the_program_opened(place: Place, path: str) -> None:
    ran = probe("readfrom", "/in", path, dirs=place.read_only)
    assert (ran.code, ran.stdout) == (1, "")
    ran = probe("readfrom", "/in/inner", "../" + path, dirs=place.read_only)
    assert (ran.code, ran.stdout) == (1, "")


@pytest.mark.parametrize("path", ["/in/inner/../file", "/in/inner/up", "/in/./file"])
def test_links_and_dots_that_stay_inside_work(place: Place, path: str) -> None:
    assert probe("read", path, dirs=place.read_only).stdout == "inside"


def test_a_link_that_leads_to_itself_ends(place: Place) -> None:
    assert probe("read", "/in/loop", dirs=place.read_only).code == 1


@pytest.mark.parametrize(
    "call",
    [
        ("list", "/in/folder-link"),
        ("list", "/in/.."),
        ("stat", "/in/../outside/secret"),
        ("stat", "/in/by-absolute-link"),
        ("overwrite", "/in/by-relative-link"),
        ("truncate", "/in/by-absolute-link"),
        ("create", "/in/dangling"),
        ("create", "/in/folder-link/new"),
        ("create", "/in/../outside/new"),
        ("mkdir", "/in/folder-link/new"),
        ("mkdir", "/in/../outside/new"),
        ("rmdir", "/in/../outside"),
        ("unlink", "/in/folder-link/secret"),
        ("unlink", "/in/../outside/secret"),
        ("rename", "/in/file", "/in/folder-link/file"),
        ("rename", "/in/file", "/in/../outside/file"),
        ("rename", "/in/../outside/secret", "/in/stolen"),
        ("link", "/in/../outside/secret", "/in/stolen"),
        ("link", "/in/folder-link/secret", "/in/stolen"),
        ("link", "/in/file", "/in/../outside/file"),
        ("symlink", "file", "/in/../outside/link"),
        ("symlink", "file", "/in/folder-link/link"),
        ("touch", "/in/by-absolute-link"),
        ("touch", "/in/../outside/secret"),
        ("readlink", "/in/../granted/by-absolute-link"),
    ],
)
def test_no_call_reaches_the_outside(place: Place, call: tuple[str, ...]) -> None:
    before = (place.outside / "secret").stat().st_mtime_ns
    ran = probe(*call, dirs=place.writable)
    assert (ran.code, ran.stdout) == (1, "")
    assert (place.outside / "secret").stat().st_mtime_ns == before
    assert not (place.granted / "stolen").exists()


def test_a_program_cannot_make_a_link_that_leads_out(place: Place) -> None:
    """A link with an absolute target is refused; one with dots may be made, and is not followed out."""
    assert probe("symlink", str(place.outside / "secret"), "/in/mine", dirs=place.writable).code == 1
    probe("symlink", "../outside/secret", "/in/mine", dirs=place.writable)
    assert probe("read", "/in/mine", dirs=place.writable).code == 1


def test_nothing_is_moved_or_linked_from_one_grant_into_a_read_only_one(place: Place, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine").write_text("mine")
    dirs = [*place.read_only, f"{tmp_path}/other:/out"]
    for call in (
        ("rename", "/out/mine", "/in/mine"),
        ("rename", "/in/file", "/out/file"),
        ("link", "/out/mine", "/in/m"),
    ):
        ran = probe(*call, dirs=dirs)
        assert ran.code == 1
        assert "is read-only; remove :ro" in ran.denied[0]
    # A second name for a file that may only be read would be a way to write it.
    assert probe("link", "/in/file", "/out/file", dirs=dirs).code == 1
    assert not (tmp_path / "other" / "file").exists()
    assert sorted(path.name for path in (tmp_path / "other").iterdir()) == ["mine"]


CHANGES = [
    ("create", "/in/new"),
    ("truncate", "/in/file"),
    ("overwrite", "/in/file"),
    ("append", "/in/file"),
    ("mkdir", "/in/new"),
    ("rmdir", "/in/empty"),
    ("unlink", "/in/file"),
    ("rename", "/in/file", "/in/renamed"),
    ("link", "/in/file", "/in/linked"),
    ("symlink", "file", "/in/linked"),
    ("touch", "/in/file"),
]


@pytest.mark.parametrize("call", CHANGES, ids=lambda call: call[0])
def test_a_read_only_directory_is_not_changed_and_a_writable_one_is(place: Place, call: tuple[str, ...]) -> None:
    (place.granted / "empty").mkdir()
    os.utime(place.granted / "file", ns=(10**18, 10**18))

    def state() -> list[tuple[str, str, int]]:
        paths = sorted(path for path in place.granted.iterdir() if not path.is_symlink())
        return [(path.name, path.read_text() if path.is_file() else "", path.stat().st_mtime_ns) for path in paths]

    names = sorted(path.name for path in place.granted.iterdir())
    before = state()
    ran = probe(*call, dirs=place.read_only)
    assert (ran.code, ran.stderr) == (1, "Operation not permitted\n")
    assert ran.denied == [
        f"denied write access to {call[-1 if call[0] == 'symlink' else 1]}: "
        f"--dir {place.read_only[0]} is read-only; remove :ro to allow it"
    ]
    assert state() == before
    assert sorted(path.name for path in place.granted.iterdir()) == names

    assert probe(*call, dirs=place.writable).code == 0
    assert (state(), sorted(path.name for path in place.granted.iterdir())) != (before, names)


def test_a_file_that_was_opened_for_reading_cannot_be_written(place: Place) -> None:
    assert gopher("write", "/in/file", dirs=place.read_only).code == 1
    assert (place.granted / "file").read_text() == "inside"


@contextmanager
def _not_root() -> Iterator[None]:
    """Temporary user nobody: root may read everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_permissions_of_this_machine_are_told_apart_from_grants() -> None:
    with tempfile.TemporaryDirectory() as folder:  # tmp_path is accessible to its owner only
        granted = Path(folder)
        granted.chmod(0o755)
        (granted / "file").write_text("inside")
        (granted / "file").chmod(0)
        probe("read", "/in/missing", dirs=[f"{granted}:/in"])  # compiled, as the cache is root's
        with _not_root():
            ran = probe("read", "/in/file", dirs=[f"{granted}:/in"])
    assert ran.denied == ["denied read access to /in/file: file permissions of the host"]
